"""What each log record of the telemetry outfile tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields, http_status_of
from lastsignal.core.aliases.fields import amount_of, at, attempt_of, count_of, list_of, text_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status
from lastsignal.core.timestamps import parse_timestamp

_LIMITS = {"MAX_TURNS": "turn_limit", "TIMEOUT": "time_limit"}
_REFUSED = frozenset({"execution_denied", "cancelled", "operation_cancelled", "permission_denied"})


@dataclass(frozen=True, slots=True)
class Moment:
    """The attributes of one log record, with what all of its events share."""

    attributes: Mapping[str, Any]
    trace_id: str
    framework: str
    at: float

    def get(self, name: str) -> Any:
        """Return an attribute."""
        return self.attributes.get(name)

    @property
    def operation(self) -> str:
        """The model, which is what an API call or its retry is told by."""
        return text_of(self.get("model")) or self.framework

    def event(self, **fields: Any) -> Event:
        """Make an event of this record."""
        return Event(
            timestamp=self.at,
            trace_id=self.trace_id,
            framework=self.framework,
            agent=text_of(self.get("agent_name")) or self.framework,
            **fields,
        )

    def model_event(self, status: Status, **fields: Any) -> Event:
        """Make an event of an API call."""
        return self.event(
            event_type="model_call",
            status=status,
            operation=self.operation,
            model=text_of(self.get("model")),
            **fields,
        )

    def seconds(self, name: str) -> float | None:
        """Return a duration in milliseconds as seconds."""
        milliseconds = amount_of(self.get(name))
        return None if milliseconds is None else milliseconds / 1000.0


def _api_request(moment: Moment) -> list[Event]:
    return [moment.model_event("started")]


def _api_response(moment: Moment) -> list[Event]:
    error = text_of(moment.get("error"))
    thoughts = count_of(moment.get("thoughts_token_count")) or 0
    output = count_of(moment.get("output_token_count"))
    facts = {
        "cache_read_tokens": count_of(moment.get("cached_content_token_count")),
        "thinking_tokens": thoughts,
    }
    event = moment.model_event(
        "completed",
        input_tokens=count_of(moment.get("input_token_count")),
        output_tokens=None if output is None else output + thoughts,
        duration_seconds=moment.seconds("duration_ms"),
        finish_reason=text_of(at(list_of(moment.get("finish_reasons")), 0)),
        metadata={name: count for name, count in facts.items() if count} or None,
    )
    if error:
        provider_error(error).write(event)
    return [event]


def _error_of(moment: Moment) -> ErrorFields:
    found = provider_error(text_of(moment.get("error.message")) or text_of(moment.get("error")))
    status = http_status_of(moment.get("status_code"))
    if status is None:
        status = http_status_of(moment.get("http.status_code"))
    kind = text_of(moment.get("error.type")) or text_of(moment.get("error_type"))
    return ErrorFields(found.message or kind, status or found.http_status, kind or found.type)


def _api_error(moment: Moment) -> list[Event]:
    event = moment.model_event("failed", duration_seconds=moment.seconds("duration_ms"))
    _error_of(moment).write(event)
    return [event]


def _retry(moment: Moment) -> list[Event]:
    """A request is sent again: for the network's sake, or because the answer was unusable.

    Of these the client numbers unusable answers from 0.
    """
    number = attempt_of(moment.get("attempt"))
    before = count_of(moment.get("attempt_number"))
    if number is None and before is not None:
        number = before + 1
    delay = moment.seconds("delay_ms")
    facts = {
        "delay_seconds": delay if delay is not None else moment.seconds("retry_delay_ms"),
        "max_attempts": count_of(moment.get("max_attempts")),
    }
    event = moment.event(
        event_type="retry",
        operation=moment.operation,
        model=text_of(moment.get("model")),
        attempt=number,
        metadata={name: value for name, value in facts.items() if value is not None} or None,
    )
    _error_of(moment).write(event, "started")
    return [event]


def _content_retry_failure(moment: Moment) -> list[Event]:
    kind = text_of(moment.get("final_error_type"))
    message = f"no usable answer after {count_of(moment.get('total_attempts')) or 'all'} attempts"
    event = moment.model_event("failed", error_class="schema")
    ErrorFields(f"{kind}: {message}" if kind else message, None, kind).write(event)
    event.metadata = {"total_attempts": count_of(moment.get("total_attempts"))}
    return [event]


def _tool_call(moment: Moment) -> list[Event]:
    """One record at the call's end is both its start and its end."""
    name = text_of(moment.get("function_name"))
    seconds = moment.seconds("duration_ms")
    ended = parse_timestamp(moment.get("end_time")) or moment.at
    started = parse_timestamp(moment.get("start_time"))
    if started is None or not started <= ended:
        started = ended - (seconds or 0.0)
    start = moment.event(
        event_type="tool_call",
        status="started",
        operation=name,
        arguments_hash=hash_arguments(moment.get("function_args")),
    )
    end = moment.event(event_type="tool_result", status="completed", operation=name)
    start.timestamp, end.timestamp, end.duration_seconds = started, ended, seconds
    start.call_id = end.call_id = text_of(moment.get("call_id")) or text_of(
        moment.get("tool_call_id")
    )
    error = _error_of(moment)
    if moment.get("decision") == "reject" or (error.type or "").lower() in _REFUSED:
        error.write(end, "aborted")
    elif moment.get("success") is False or moment.get("success") == "false":
        error.write(end)
    return [start, end]


def _flash_fallback(moment: Moment) -> list[Event]:
    facts = {"fallback_model": text_of(moment.get("fallback_model"))}
    return [
        moment.event(
            event_type="audit", operation="model_fallback", status="completed", metadata=facts
        )
    ]


def _loop_detected(moment: Moment) -> list[Event]:
    kind = text_of(moment.get("loop_type"))
    facts = {"loop_type": kind, "count": count_of(moment.get("count"))}
    return [
        moment.event(
            event_type="audit",
            operation="loop",
            status="failed",
            error_message=f"loop detected: {kind}" if kind else "loop detected",
            metadata={name: value for name, value in facts.items() if value is not None},
        )
    ]


def _agent_finish(moment: Moment) -> list[Event]:
    reason = text_of(moment.get("terminate_reason")) or ""
    limit = _LIMITS.get(reason)
    if limit is None:
        return []
    facts = {"limit_kind": reason, "used": count_of(moment.get("turn_count"))}
    return [
        moment.event(
            event_type="audit",
            operation=limit,
            status="failed",
            error_message=f"agent terminated: {reason}",
            error_type=reason,
            metadata={name: value for name, value in facts.items() if value is not None},
        )
    ]


def _compression(moment: Moment) -> list[Event]:
    facts = {
        "tokens_before": count_of(moment.get("tokens_before")),
        "tokens_after": count_of(moment.get("tokens_after")),
    }
    return [
        moment.event(event_type="audit", operation="compaction", status="completed", metadata=facts)
    ]


def _malformed_response(moment: Moment) -> list[Event]:
    return [
        moment.event(
            event_type="audit",
            operation="malformed_response",
            status="failed",
            error_class="schema",
            error_message="the model's answer is not the JSON that was asked for",
            model=text_of(moment.get("model")),
        )
    ]


READERS: dict[str, Callable[[Moment], list[Event]]] = {
    "api_request": _api_request,
    "api_response": _api_response,
    "api_error": _api_error,
    "network_retry_attempt": _retry,
    "retry_attempt": _retry,
    "chat.content_retry": _retry,
    "chat.content_retry_failure": _content_retry_failure,
    "tool_call": _tool_call,
    "flash_fallback": _flash_fallback,
    "loop_detected": _loop_detected,
    "agent.finish": _agent_finish,
    "chat_compression": _compression,
    "malformed_json_response": _malformed_response,
}
