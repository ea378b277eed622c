"""CrewAI's event bus, dumped one event a line with `event.to_json()`.

Handlers run in threads, so a call's error may be written before its start: `emission_sequence` is
the order. One failure is told by the tool or the model, by the agent, by the task and by the crew.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crewai.records import (
    DROPPED,
    ENDS,
    SIDE_FAILURES,
    SIGNALS,
    STARTS,
    TOOL_FAILURES,
    Record,
)
from lastsignal.core.aliases.crewai.scopes import Scope, ScopeState
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, EventType
from lastsignal.core.timestamps import time_of

_RUNS: dict[str, tuple[EventType, EventType]] = {
    "crew": ("agent_start", "agent_end"),
    "flow": ("agent_start", "agent_end"),
    "agent": ("agent_start", "agent_end"),
    "model": ("model_call", "model_call"),
    "tool": ("tool_call", "tool_result"),
}

_decode = msgspec.json.Decoder(Record).decode


def recognise(value: Any) -> bool:
    """An event with the bus's own ids, or the fingerprint fields of the versions before them."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if "event_id" in value:
        return "emission_sequence" in value or "parent_event_id" in value
    return "source_fingerprint" in value and "timestamp" in value


class EventBusDecoder:
    """Decodes the events of one bus."""

    def __init__(self, source: str) -> None:
        self.state = ScopeState()
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return what the event adds to what was told before; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if not line.is_of_bus:
            raise NotThisDialect
        kind = line.type
        if kind in STARTS:
            return self._start(line, STARTS[kind])
        if kind in ENDS:
            return self._end(line, *ENDS[kind])
        if kind in TOOL_FAILURES:
            return self._tool_failure(line)
        return self._beside(line)

    def _start(self, line: Record, what: str) -> Decoded:
        scope = self.state.open(line, what, self._source)
        self.state.models_speak |= what == "model"
        if what == "tool" and scope.is_nested_tool:
            return Drop("nested_call")
        if what not in _RUNS or (what == "flow" and scope.parents):
            return Drop("structural_span")
        start = self._event(line, scope, _RUNS[what][0])
        start.status = "started"
        start.call_id, start.parent_id = scope.call_id, self.state.enclosing(scope)
        answers: str | None = None
        if what == "tool":
            start.arguments_hash = hash_arguments(line.tool_args)
            start.attempt = count_of(line.run_attempts) or None
            if not scope.is_ended:  # else its own failure stands before it in the file
                answers = self.state.forget_failure(scope.operation, start.arguments_hash)
        elif what == "agent":
            start.attempt = self.state.attempt_of(scope)
            answers = self.state.last_error_of(scope)
        if start.attempt is None or start.attempt < 2:
            return [start]
        retry = msgspec.structs.replace(start, event_type="retry", attempt=start.attempt - 1)
        retry.error_message = answers
        return [retry, start]

    def _end(self, line: Record, what: str, has_failed: bool) -> Decoded:
        scope = self.state.close(line, what, self._source)
        if scope.is_nested_tool:
            return Drop("nested_call")
        if scope.is_ended:
            return Drop("repeated_end")
        scope.is_ended = True
        error = _error_of(line) if has_failed else ErrorFields()
        if what in ("tool", "model"):
            return [self._call_end(line, scope, what, has_failed, error)]
        events: list[Event] = []
        is_said = has_failed and line.error is not None  # if only as "": else no more is known
        if is_said and not self.state.told.is_passed_on(scope.call_id, error.message, ()):
            events += self._own_failure(line, scope, what, error)
        if what in _RUNS and not (what == "flow" and scope.parents):
            end = self._event(line, scope, "agent_end")
            end.call_id, end.parent_id = scope.call_id or None, self.state.enclosing(scope)
            error.write(end, "failed" if has_failed else "completed")
            tokens = count_of(line.total_tokens)
            end.metadata = {"total_tokens": tokens} if tokens else None
            events.append(end)
        if what == "agent":
            self.state.note_outcome(scope, error.message if has_failed else None)
        return events or Drop("structural_span")

    def _call_end(
        self, line: Record, scope: Scope, what: str, has_failed: bool, error: ErrorFields
    ) -> Event:
        end = self._event(line, scope, _RUNS[what][1])
        end.call_id, end.parent_id = scope.call_id or None, self.state.enclosing(scope)
        end.status = "completed"
        if what == "model":
            usage = mapping_of(line.usage)
            end.input_tokens = count_of(usage.get("prompt_tokens", usage.get("input_tokens")))
            end.output_tokens = count_of(usage.get("completion_tokens", usage.get("output_tokens")))
            end.finish_reason = text_of(line.finish_reason)
        else:
            end.attempt = count_of(line.run_attempts) or None
            if not has_failed:
                hidden = _reported_failure(line) or failure_in_output(value_of(line.output))
                has_failed, error = hidden is not None, hidden or error
        if has_failed:
            error.write(end)
            self.state.told.tell(error.message, scope.parents)
            if what == "tool":
                arguments_hash = hash_arguments(line.tool_args)
                self.state.note_failure(scope.operation, arguments_hash, error.message)
        return end

    def _own_failure(
        self, line: Record, scope: Scope, what: str, error: ErrorFields
    ) -> list[Event]:
        """The event of a wrapper that nothing inside has told a failure of."""
        inside_agent = what == "agent" or self.state.agent_around(scope) is not None
        if what == "task" or (inside_agent and what not in ("agent", "flow")):
            return []  # told by what encloses it
        failure = self._event(line, scope, leaf_type(error, line.error))
        if inside_agent and not self.state.models_speak:
            # Tools have events of their own, so an agent that fails by itself failed in its model.
            failure.event_type = "model_call"
            name = scope.operation if what == "agent" else self.state.agent_around(scope)
            failure.operation = failure.agent = name
        elif what == "method":
            failure.event_type = "tool_result"
        failure.parent_id = self.state.nearest(scope)
        error.write(failure)
        self.state.told.tell(error.message, [scope.call_id, *scope.parents])
        return [failure]

    def _tool_failure(self, line: Record) -> Decoded:
        arguments_hash = hash_arguments(line.tool_args)
        operation = text_of(line.tool_name)
        if self.state.has_failure(operation, arguments_hash):
            return Drop("repeated_error")
        scope = self.state.outside(line, self._source)
        failure = self._event(line, scope, "tool_result")
        failure.operation, failure.arguments_hash = operation, arguments_hash
        failure.parent_id = self.state.enclosing(scope)
        error = _reported_failure(line) or _error_of(line)
        error.write(failure)
        self.state.told.tell(error.message, scope.parents)
        self.state.note_failure(operation, arguments_hash, error.message)
        return [failure]

    def _beside(self, line: Record) -> Decoded:
        """Events that belong to no call: guardrails, signals, loops, failures on the side."""
        kind = line.type
        scope = self.state.outside(line, self._source)
        event = self._event(line, scope, "audit")
        event.parent_id = self.state.enclosing(scope)
        event.status = "failed"
        if kind in SIDE_FAILURES:
            event.event_type = "tool_result"
            event.operation = ":".join(
                filter(None, (SIDE_FAILURES[kind], text_of(line.server_name)))
            )
            _error_of(line).write(event)
        elif kind.upper() in SIGNALS:
            event.event_type, event.operation = "process_error", kind.upper()
            event.error_message = text_of(line.reason) or f"{kind.upper()} received"
            if kind.upper() == "SIGINT":
                self._interrupt(event)
        elif kind == "loop_detected":
            event.operation = "loop"
            event.error_message = "repeated tool call: " + (
                text_of(line.repeated_tool) or "unknown"
            )
            event.metadata = {"iteration": count_of(line.iteration)}
        elif (
            kind == "llm_guardrail_completed" and line.success is False
        ) or kind == "llm_guardrail_failed":
            event.operation = "guardrail"
            _error_of(line).write(event)
            event.metadata = {"retry_count": count_of(line.retry_count)}
            self.state.told.tell(event.error_message, scope.parents)
        elif kind == "llm_guardrail_started" and (count_of(line.retry_count) or 0) > 0:
            event.event_type, event.status = "retry", "started"
            event.operation = text_of(line.task_name) or "task"
            event.attempt = count_of(line.retry_count)
        else:
            return Drop(DROPPED.get(kind, "structural_event"))
        return [event]

    def _interrupt(self, event: Event) -> None:
        """Make an event the end of the run that somebody has stopped by hand."""
        event.event_type, event.status, event.parent_id = "agent_end", "aborted", None
        root = self.state.scopes.get(self.state.root)
        if root is not None:
            event.operation, event.call_id, root.is_ended = root.operation, root.call_id, True

    def _event(self, line: Record, scope: Scope, event_type: EventType) -> Event:
        timestamp = time_of(line.timestamp)
        return Event(
            timestamp=timestamp,
            trace_id=scope.trace_id,
            event_type=event_type,
            operation=scope.operation,
            agent=line.role
            or self.state.agent_around(scope)
            or (scope.operation if scope.what == "crew" else None),
            model=text_of(line.model),
            sequence=count_of(line.emission_sequence),
        )


def _error_of(line: Record) -> ErrorFields:
    fields = unwrap_error(line.error)
    provider = provider_error(fields.message)
    named = text_of(line.error_type)
    return ErrorFields(
        message=provider.message or fields.message or line.type,
        http_status=fields.http_status or provider.http_status,
        type=fields.type or provider.type or (named if named and named[0] != "<" else None),
    )


def _reported_failure(line: Record) -> ErrorFields | None:
    """A tool that returned, but says in its result that it did not do the work."""
    failure = mapping_of(line.failure)
    if not failure:
        return None
    return ErrorFields(
        message=unwrap_error(failure.get("message")).message or "tool failed",
        type=text_of(failure.get("code")) or text_of(failure.get("reason")),
    )


DIALECT = Dialect(
    name="crewai_event_bus",
    framework="crewai",
    recognise=recognise,
    decoder=EventBusDecoder,
    disorder_seconds=1.0,  # handlers run in threads
    is_unique=True,
    description="CrewAI event bus, one event.to_json() a line: type, event_id, emission_sequence",
    written_by="a listener on CrewAI's event bus that writes `event.to_json()`, one a line",
)
