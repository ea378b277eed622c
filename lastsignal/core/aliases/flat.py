"""Flat records of custom loops: the native schema with every alias that is in use.

A record is taken when it names what happened: an event type that is known by some name. The alias tables are
data; a configuration may add to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import http_status_of, unwrap_error
from lastsignal.core.aliases.fields import at, count_of, number_of, status_of, text_of
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import UNTIMED, Event, EventType, Status
from lastsignal.core.timestamps import parse_timestamp

# What a field is called; dotted names walk into objects, the first that is there wins.
ALIASES: dict[str, tuple[str, ...]] = {
    "event_type": ("event_type", "type", "event", "kind", "eventType", "event_name", "action"),
    "timestamp": (
        "timestamp", "ts", "time", "created_at", "createdAt", "@timestamp", "start_time", "startTime",
        "started_at", "processed_at", "datetime", "date", "current_time", "extra.timestamp",
    ),
    "trace_id": (
        "trace_id", "traceId", "traceID", "session_id", "sessionId", "sessionID", "sessionKey", "run_id",
        "runId", "thread_id", "conversation_id", "context.trace_id", "invocationId", "instance_id",
    ),
    "operation": (
        "operation", "tool", "tool_name", "toolName", "function", "function_name", "tool.name", "op",
        "name", "step", "node",
    ),
    "model": ("model", "model_name", "modelName", "metadata.model", "request.model", "llm.model_name"),
    "status": ("status", "state", "outcome", "result_status", "level_status"),
    "error_message": (
        "error_message", "error", "err", "errorMessage", "error_str", "err_str", "exception", "failure",
        "exception_str", "metadata.error", "statusMessage",
    ),
    "attempt": ("attempt", "attempt_number", "retryAttempt", "retry_count", "run_attempts", "metadata.attempt"),
    "agent": ("agent", "agent_id", "agentId", "agent_name", "agent.name", "agent_role", "metadata.agent"),
    "call_id": (
        "call_id", "callId", "callID", "tool_call_id", "toolCallId", "tool_use_id", "span_id", "spanId",
        "action_id", "metadata.call_id",
    ),
    "parent_id": ("parent_id", "parentId", "parent_span_id", "parentSpanId", "parent_call_id", "parent_run_id"),
    "http_status": (
        "http_status", "status_code", "statusCode", "error_code", "errorCode", "error_status",
        "metadata.status_code", "metadata.http_status", "error.status", "error.status_code", "error.code",
    ),
    "error_type": ("error_type", "errorType", "exception_type", "error_class_name", "error.type", "metadata.error_type"),
    "input_tokens": (
        "input_tokens", "prompt_tokens", "usage.input_tokens", "usage.prompt_tokens", "tokens.input",
        "metadata.input_tokens", "metadata.prompt_tokens", "metadata.usage.input_tokens",
        "metadata.usage.prompt_tokens", "metadata.tokens.input",
    ),
    "output_tokens": (
        "output_tokens", "completion_tokens", "usage.output_tokens", "usage.completion_tokens",
        "tokens.output", "metadata.output_tokens", "metadata.completion_tokens",
        "metadata.usage.output_tokens", "metadata.usage.completion_tokens", "metadata.tokens.output",
    ),
    "cost_usd": ("cost_usd", "cost", "total_cost_usd", "response_cost", "metadata.cost_usd", "metadata.cost"),
    "duration_seconds": ("duration_seconds", "duration_s", "elapsed_seconds", "response_time", "metadata.duration_seconds"),
    "duration_ms": ("duration_ms", "durationMs", "latency_ms", "elapsed_ms", "metadata.duration_ms", "metadata.latency_ms"),
    "finish_reason": ("finish_reason", "stop_reason", "stopReason", "finishReason", "metadata.finish_reason"),
    "arguments": (
        "arguments", "args", "tool_input", "toolInput", "tool_args", "input_args", "parameters", "params",
        "metadata.arguments", "metadata.args", "metadata.input", "metadata.parameters",
    ),
    "output": ("output", "result", "tool_output", "response", "metadata.output", "metadata.result"),
}  # fmt: skip

# What an event type is called: (ours, the status that the word itself means).
EVENT_WORDS: dict[str, tuple[EventType, Status | None]] = {
    word: (event_type, status)
    for words, event_type, status in (
        ("agent_start agent_started run_start run_started session_start session_started execution_start "
         "task_start task_started workflow_start workflow_started chain_start conversation_start", "agent_start", "started"),
        ("agent_end agent_finish agent_finished run_end run_finished session_end session_ended execution_end task_end "
         "task_finished workflow_end workflow_finished chain_end conversation_end agent_complete", "agent_end", None),
        ("run_completed agent_completed task_completed workflow_completed session_completed", "agent_end", "completed"),
        ("run_failed agent_failed task_failed workflow_failed session_failed agent_error", "agent_end", "failed"),
        ("run_aborted run_cancelled agent_cancelled task_cancelled", "agent_end", "aborted"),
        ("model_call llm_call llm model_request llm_request chat_completion completion generation", "model_call", None),
        ("model_start llm_start llm_call_start llm_started model_call_started llm_call_started chat_model_start", "model_call", "started"),
        ("model_end llm_end llm_call_end model_result model_response llm_response llm_result llm_call_completed "
         "model_call_completed chat_model_end", "model_call", None),
        ("model_error llm_error llm_call_failed model_call_failed llm_failed", "model_call", "failed"),
        ("tool_call tool_use tool_start tool_started tool_call_start tool_call_started function_call tool_invocation "
         "tool_call_request action", "tool_call", "started"),
        ("tool_result tool_end tool_finished tool_call_end tool_call_finished tool_output function_result "
         "function_call_output tool_response observation tool_call_result", "tool_result", None),
        ("tool_completed tool_call_completed", "tool_result", "completed"),
        ("tool_error tool_failed tool_call_error tool_call_failed", "tool_result", "failed"),
        ("retry retrying retry_attempt", "retry", "started"),
        ("process_error fatal fatal_error crash crashed uncaught_exception unhandled_exception panic exception "
         "process_exit_error", "process_error", "failed"),
        ("audit budget_gate budget_gate_triggered guardrail guardrail_triggered policy_decision policy_violation", "audit", None),
    )
    for word in words.split()
}  # type: ignore[assignment]  # the literals above are EventType and Status words  # fmt: skip

_decode = msgspec.json.Decoder().decode
_MAPPED = frozenset(name for names in ALIASES.values() for name in names)


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Which names mean what; the built-in table plus what a configuration adds."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: ALIASES)
    event_words: Mapping[str, tuple[EventType, Status | None]] = field(
        default_factory=lambda: EVENT_WORDS
    )

    def find(self, record: Mapping[str, Any], name: str) -> Any:
        """Return the first non-empty value among the names of a field."""
        for alias in self.fields[name]:
            value = record.get(alias)
            if value is None and "." in alias:
                value = at(record, *alias.split("."))
            if value is not None and value != "":
                return value
        return None

    def event_type(self, record: Mapping[str, Any]) -> tuple[EventType, Status | None] | None:
        """Return what happened, None where no alias names a known event type."""
        for alias in self.fields["event_type"]:
            value = record.get(alias)
            if isinstance(value, str):
                known = self.event_words.get(
                    value.strip().lower().replace(".", "_").replace("-", "_").replace(" ", "_")
                )
                if known is not None:
                    return known
        return None


DEFAULT_TABLE = AliasTable()


def recognise(value: Any) -> bool:
    """A JSON object that names an event type by any alias, and that has something more to say."""
    return (
        isinstance(value, dict) and len(value) > 1 and DEFAULT_TABLE.event_type(value) is not None
    )


class FlatDecoder:
    """Decodes one flat record into one event."""

    state = None

    def __init__(self, source: str, table: AliasTable = DEFAULT_TABLE) -> None:
        self._table = table

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        value = _decode(record)
        if not isinstance(value, dict):
            raise NotThisDialect
        named = self._table.event_type(value)
        if named is None:
            if isinstance(value.get("event_type"), str):
                return Drop("unknown_event_type")
            raise NotThisDialect
        return [self._event(value, *named)]

    def _event(
        self, record: dict[str, Any], event_type: EventType, implied: Status | None
    ) -> Event:
        find = self._table.find
        error = unwrap_error(find(record, "error_message"))
        timestamp = parse_timestamp(find(record, "timestamp"))
        event = Event(
            timestamp=UNTIMED if timestamp is None else timestamp,
            trace_id=text_of(find(record, "trace_id")) or "",
            event_type=event_type,
            operation=text_of(find(record, "operation")),
            error_message=error.message,
            attempt=count_of(find(record, "attempt")),
            metadata=self._metadata(record),
            agent=text_of(find(record, "agent")),
            call_id=text_of(find(record, "call_id")),
            parent_id=text_of(find(record, "parent_id")),
            http_status=http_status_of(find(record, "http_status")) or error.http_status,
            error_type=text_of(find(record, "error_type")) or error.type,
            model=text_of(find(record, "model")),
            input_tokens=count_of(find(record, "input_tokens")),
            output_tokens=count_of(find(record, "output_tokens")),
            cost_usd=number_of(find(record, "cost_usd")),
            duration_seconds=self._duration(record),
            finish_reason=text_of(find(record, "finish_reason")),
            arguments_hash=hash_arguments(find(record, "arguments")),
        )
        self._judge(event, record, implied)
        return event

    def _judge(self, event: Event, record: Mapping[str, Any], implied: Status | None) -> None:
        """Settle status and error: a status word, then the event's own word, then what the output says."""
        status = status_of(self._table.find(record, "status"))
        if status is None and event.http_status is None:
            event.http_status = http_status_of(record.get("status"))
        if (
            event.event_type == "tool_result"
            and status in (None, "completed")
            and not event.error_message
        ):
            hidden = failure_in_output(self._table.find(record, "output"))
            if hidden is not None:
                status = "failed"
                event.error_message = hidden.message
                event.http_status = event.http_status or hidden.http_status
                event.error_type = event.error_type or hidden.type
        if status is None:
            status = "failed" if event.error_message else implied
        elif status == "completed" and implied == "failed":
            status = implied
        event.status = status
        if event.event_type == "model_call":
            event.operation = event.operation or event.model
        if status == "completed":
            event.error_message = None

    def _duration(self, record: Mapping[str, Any]) -> float | None:
        seconds = number_of(self._table.find(record, "duration_seconds"))
        if seconds is None:
            milliseconds = number_of(self._table.find(record, "duration_ms"))
            seconds = None if milliseconds is None else milliseconds / 1000.0
        return seconds if seconds is None or seconds >= 0 else None

    @staticmethod
    def _metadata(record: Mapping[str, Any]) -> dict[str, Any]:
        """Everything without a field of its own: kept, so that a rule of the user's can read it."""
        metadata = record.get("metadata")
        rest = {
            key: value for key, value in record.items() if key not in _MAPPED and key != "metadata"
        }
        return {**rest, **metadata} if isinstance(metadata, dict) else rest


DIALECT = Dialect(
    name="flat",
    framework="custom",
    recognise=recognise,
    decoder=FlatDecoder,
    description="One flat object a line that names an event type by any known alias",
)
