"""SpanDecoder: spans, each after those below it → Events, each cause counted once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lastsignal.core.aliases.contract import Decoded, Drop, Extents
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.otel import emission, semantics
from lastsignal.core.aliases.otel.ordering import children_first, name_outer_calls, timed_order
from lastsignal.core.aliases.otel.outcomes import outcome_of
from lastsignal.core.aliases.otel.readings import Outcome, Reading
from lastsignal.core.aliases.otel.spans import Span
from lastsignal.core.aliases.otel.surroundings import Below, Surroundings
from lastsignal.core.events import Event

_AGAIN = "duplicate_span"
_REMOTE = frozenset({"SERVER", "CLIENT", "PRODUCER", "CONSUMER"})


class SpanDecoder:
    """Decodes the records of one source.

    Args:
        read: turns a record into spans.
        interpret: tells what a span was, where an encoding has names of its own for it.
    """

    def __init__(
        self,
        read: Callable[[bytes], list[Span] | Drop],
        interpret: Callable[[Span], Reading] = semantics.read,
    ) -> None:
        self._read = read
        self._interpret = interpret
        self.state: Surroundings = Surroundings()

    def decode(self, record: bytes) -> Decoded:
        """Return the events of a record's spans; see `contract.Decoder`."""
        spans = self._read(record)
        if isinstance(spans, Drop):
            return spans
        decoded_spans: list[list[Event]] = []
        reason = "structural_span"
        for span in children_first(spans):
            decoded = self._open(span) if span.is_open else self._ended(span)
            if isinstance(decoded, Drop):
                reason = decoded.reason
            else:
                decoded_spans.append(decoded)
        if not decoded_spans:
            return Drop(reason)
        events = timed_order(decoded_spans)
        if len(spans) > 1:
            name_outer_calls(events, spans)
        return events

    def extents(self) -> Extents:
        """Return how much of which trace has come; see `contract.Enclosing`."""
        waited_for = frozenset(note.trace for note in self.state.below.values())
        return Extents(frozenset(self.state.whole), waited_for)

    def _open(self, span: Span) -> list[Event] | Drop:
        reading = self._interpret(span)
        start = emission.start_event(span, reading)
        if start is None:
            return Drop("structural_span")
        return [start] if self.state.is_first_start(_identity(span, reading)) else Drop(_AGAIN)

    def _ended(self, span: Span) -> list[Event] | Drop:
        state = self.state
        reading = semantics.with_use(self._interpret(span), span.attributes)
        trace = reading.trace_id or span.trace_id
        identity = _identity(span, reading)
        if not state.is_new(identity):
            return Drop(_AGAIN)
        below = state.take(f"{span.trace_id}/{span.span_id}")
        above, parent = Below(), f"{span.trace_id}/{span.parent_id}"
        if span.parent_id:
            above = state.for_parent(parent, trace)
        if span.is_outermost:
            state.note_outermost(trace)
        reading = _in_its_place(span, reading, below)
        outcome = outcome_of(
            span, reading, below, lambda message: state.is_known_cause(trace, message)
        )
        events = _events(span, reading, outcome, above)
        if events and outcome.is_own_failure and not _names_nothing(reading):
            state.add_cause(trace, outcome.error.message)
        used = below.own_use(reading)
        if used and not state.is_told_elsewhere(trace, parent):
            events.insert(max(0, len(events) - 1), emission.use_event(span, reading, used))
        above.add(reading, outcome, below, span)
        if state.has_started(identity):
            events = [one for one in events if one.event_type == "retry" or one.status != "started"]
        return events or Drop("structural_span")


def _identity(span: Span, reading: Reading) -> str:
    return f"{reading.trace_id or span.trace_id}/{reading.identity or span.span_id}"


def _names_nothing(reading: Reading) -> bool:
    return reading.names_no_failure or reading.is_contradicted


def _in_its_place(span: Span, reading: Reading, below: Below) -> Reading:
    """Return the reading that holds among the spans around: one call is often told twice."""
    told_below = (reading.kind == "model" and below.models) or (
        reading.kind == "tool" and reading.operation in below.tools
    )
    if told_below:
        if span.status != "error" or below.failed:
            if reading.kind == "model" and below.tools and not span.parent_id:
                # asked until it needed no more tools: the run itself
                name = span.name or reading.operation
                return msgspec.structs.replace(reading, kind="agent", operation=name)
            return msgspec.structs.replace(reading, kind="chain")
        # It failed around a call that went well: its own failure, but not its tokens.
        return msgspec.structs.replace(
            reading, input_tokens=None, output_tokens=None, cost_usd=None
        )
    if reading.kind not in ("chain", "other") or span.parent_id or not below.calls:
        return reading
    if reading.kind == "other" and below.agents and span.kind in _REMOTE:
        return reading  # a server's request around an agent
    return msgspec.structs.replace(  # the outermost span around calls is the run
        reading, kind="agent", operation=reading.operation or span.name
    )


def _events(span: Span, reading: Reading, outcome: Outcome, above: Below) -> list[Event]:
    if reading.kind == "audit":
        if reading.status is None:
            return []
        return [emission.audit_event(span, reading, outcome)]
    own = outcome.is_own_failure and not _names_nothing(reading)
    own = own and emission.says_what(span, reading, outcome)
    if reading.kind in ("chain", "other"):
        return (
            [emission.own_failure(span, reading, outcome)]
            if own and reading.kind == "chain"
            else []
        )
    events = emission.call_events(span, reading, outcome)
    if reading.kind == "agent":
        return (
            [*events[:-1], emission.own_failure(span, reading, outcome), events[-1]]
            if own
            else events
        )
    if reading.kind == "model":
        return [*_retries(span, reading, above), *events]
    return [*events, *emission.announced_retries(span, reading, outcome)]


def _retries(span: Span, reading: Reading, above: Below) -> list[Event]:
    """Return the retry that this model call is, by its own count or by the attempts beside it."""
    error = above.error if above.failed_models else ErrorFields()
    if reading.retry is not None:
        return [emission.retry_event(span, reading, reading.retry.attempt, error)]
    follows = span.start is not None and span.start >= above.failed_at
    if reading.repeats and above.failed_models and follows:
        return [emission.retry_event(span, reading, above.failed_models, error)]
    return []
