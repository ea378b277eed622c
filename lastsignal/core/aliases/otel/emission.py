"""Span, Reading and Outcome → Events: the start at its start, the end at its end."""

from __future__ import annotations

from collections.abc import Mapping

from lastsignal.core.aliases.crashes import contradict, is_crash
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.otel.failures import limit_of, limit_value
from lastsignal.core.aliases.otel.readings import Outcome, Reading
from lastsignal.core.aliases.otel.spans import Span
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.error_classes import classify
from lastsignal.core.events import Event, EventType, Metadata, Status

_TYPES: dict[str, tuple[EventType, EventType]] = {
    "agent": ("agent_start", "agent_end"),
    "model": ("model_call", "model_call"),
    "tool": ("tool_call", "tool_result"),
}


def start_event(span: Span, reading: Reading) -> Event | None:
    """Return the start of a call or an agent; None where the span is neither or tells no start."""
    types = _TYPES.get(reading.kind)
    if types is None or (span.start is None and span.end is not None):
        return None
    event = _event(span, reading, types[0], "started", span.start)
    event.arguments_hash = hash_arguments(reading.arguments)
    return event


def call_events(span: Span, reading: Reading, outcome: Outcome) -> list[Event]:
    """Return start and end of a finished call or agent."""
    start = start_event(span, reading)
    ended = span.end
    if ended is not None and span.start is not None:
        ended = max(ended, span.start)  # by clocks that disagree a call may end before it begins
    end = _event(span, reading, _TYPES[reading.kind][1], outcome.status, ended)
    end.duration_seconds = span.duration
    if outcome.status != "completed":
        outcome.error.write(end, outcome.status)
        if outcome.cause_below:
            end.metadata = {**reading.metadata, "cause_below": True}
        if reading.is_contradicted:
            contradict(end)
    if reading.kind == "model":
        end.input_tokens = reading.input_tokens
        end.output_tokens = reading.output_tokens
        end.cost_usd = reading.cost_usd
        end.finish_reason = reading.finish_reason
    return [end] if start is None else [start, end]


def retry_event(span: Span, reading: Reading, attempt: int, error: ErrorFields) -> Event:
    """Return the retry that a new attempt is, at its start, with what made it necessary."""
    event = _event(span, reading, "retry", "started", span.start)
    event.attempt = attempt
    error.write(event, "started")
    return event


def announced_retries(span: Span, reading: Reading, outcome: Outcome) -> list[Event]:
    """Return the retry that a failed call says will follow, at its end."""
    retry = reading.retry
    if retry is None or not retry.after:
        return []
    event = _event(span, reading, "retry", "started", span.end)
    event.call_id = None  # the attempt to come will be a call of its own
    event.attempt = retry.attempt
    event.arguments_hash = hash_arguments(reading.arguments)
    if retry.max_attempts is not None:
        event.metadata = {**reading.metadata, "max_attempts": retry.max_attempts}
    outcome.error.write(event, "started")
    return [event]


def says_what(span: Span, reading: Reading, outcome: Outcome) -> bool:
    """Whether a wrapper's own failure has more to say than that there was one, as its end says."""
    error = outcome.error
    return _is_step(span, reading) or limit_of(error) is not None or is_crash(error)


def own_failure(span: Span, reading: Reading, outcome: Outcome) -> Event:
    """Return the failure of a wrapper itself: a limit that it reached, or a crash inside it.

    A step within a run has failed like a call: whether the run dies of it is for what encloses it
    to say.
    """
    error = outcome.error
    limit = limit_of(error)
    is_step = _is_step(span, reading)
    failed_as: EventType = "audit" if limit else leaf_type(error)
    if is_step and failed_as == "process_error":
        failed_as = "tool_result"
    event = _event(span, reading, failed_as, "failed", span.end)
    event.call_id, event.parent_id = None, span.span_id or None
    error.write(event)
    if failed_as == "tool_result":  # nothing was asked of it that could be wrong
        event.error_class = classify("process_error", error.http_status, error.type, error.message)
    if limit:
        event.operation = limit
        number = limit_value(error.message)
        event.metadata = _metadata(reading) | ({} if number is None else {"limit": number})
    return event


def _is_step(span: Span, reading: Reading) -> bool:
    return reading.kind == "chain" and span.parent_id is not None


def use_event(span: Span, reading: Reading, used: Mapping[str, float]) -> Event:
    """Return what a span used by its own sum, as no call tells it."""
    event = _event(span, reading, "audit", "completed", span.end)
    event.operation, event.call_id = "usage", None
    event.parent_id = span.span_id or None if reading.kind == "agent" else span.parent_id or None
    for name, amount in used.items():
        setattr(event, name, amount)
    return event


def audit_event(span: Span, reading: Reading, outcome: Outcome) -> Event:
    """Return a policy's decision, as the policy itself reports it."""
    status = reading.status or outcome.status
    event = _event(span, reading, "audit", status, span.end)
    outcome.error.write(event, status)
    return event


def _event(
    span: Span, reading: Reading, event_type: EventType, status: Status, time: float | None
) -> Event:
    return Event(
        timestamp=span.untimed if time is None else time,
        trace_id=reading.trace_id or span.trace_id,
        event_type=event_type,
        operation=reading.operation or None,
        status=status,
        metadata=_metadata(reading),
        agent=reading.agent or None,
        call_id=span.span_id or None,
        parent_id=span.parent_id or None,
        model=reading.model,
        framework=reading.framework,
        offset=span.offset,
    )


def _metadata(reading: Reading) -> Metadata:
    return dict(reading.metadata)
