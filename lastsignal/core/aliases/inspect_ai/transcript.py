"""A sample's transcript, event by event: model calls with their attempts, tools, limits.

An event is written when it begins and changed when it ends, so one record holds both times. Logs
of before 2026 keep the final attempt in the place of the first: it begins before those that failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import write_usage
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import (
    amount_of,
    at,
    attempt_of,
    count_of,
    limit_of,
    mapping_of,
    text_of,
)
from lastsignal.core.aliases.leaf_errors import same_failure
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status
from lastsignal.core.timestamps import parse_timestamp

_LIMITS = {
    "token": "token_limit",
    "time": "time_limit",
    "working": "time_limit",
    "message": "turn_limit",
    "turn": "turn_limit",
    "cost": "budget",
    "operator": "interrupt",
}
_REFUSED = frozenset({"approval", "cancelled"})
_REFUSALS = ("reject", "terminate")


class _Event(msgspec.Struct):
    event: Any = None
    timestamp: Any = None
    completed: Any = None
    uuid: Any = None
    id: Any = None
    span_id: Any = None
    parent_id: Any = None
    type: Any = None
    name: Any = None
    model: Any = None
    error: Any = None
    pending: Any = None
    retries: Any = None
    attempt: Any = None
    call_id: Any = None
    output: Any = None
    function: Any = None
    arguments: msgspec.Raw = msgspec.Raw(b"")
    result: Any = None
    failed: Any = None
    message: Any = None
    limit: Any = None
    decision: Any = None
    explanation: Any = None
    working_time: Any = None


_decode = msgspec.json.Decoder(_Event).decode


def add_error(run: Trajectory, what: str, error: ErrorFields, raised: object) -> None:
    """Add what a sample or an eval died of; `raised` is the error as it was noted."""
    fields = mapping_of(raised)
    kind = leaf_type(error, fields.get("message", raised), fields.get("traceback"))
    run.add(kind, "failed", error, operation=what)


class Transcript:
    """Tells a transcript's events to a run, in the transcript's order."""

    def __init__(self, run: Trajectory) -> None:
        self.limit: ErrorFields = NO_ERROR
        """The limit that ended the sample."""
        self.is_interrupted = False
        self.last_offset = 0
        self._run = run
        self._failures: list[str] = []
        self._attempts: dict[str, list[Event]] = {}
        self._begun: set[str] = set()
        """Calls under way, by their event's id: it comes again when they have ended."""
        self._agents: dict[str, str] = {}

    def has_told(self, message: str) -> bool:
        """Whether an error is that of a call or of an event that was told."""
        return any(same_failure(told, message) for told in self._failures)

    def tell(self, data: bytes, offset: int) -> None:
        """Tell of one event."""
        try:
            event = _decode(data)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return
        self.last_offset = offset
        self._run.seek(offset, event.timestamp)
        kind = event.event
        if kind == "model":
            self._tell_model(event)
        elif kind == "tool":
            self._tell_tool(event)
        elif kind in ("span_begin", "span_end"):
            self._tell_span(event)
        elif kind == "error":
            self._tell_error(event)
        elif kind == "sample_limit" and (event.limit is not None or text_of(event.message)):
            self.tell_limit({"type": event.type, "limit": event.limit, "message": event.message})
        elif kind == "interrupt":
            self.is_interrupted = True
        elif kind == "approval" and event.decision in _REFUSALS:
            said = unwrap_error(event.explanation or f"approval: {event.decision}")
            self._run.add("audit", "aborted", said, operation="permission")

    def tell_limit(self, limit: Mapping[str, Any]) -> None:
        """Tell of the limit at which the sample was stopped."""
        kind = text_of(limit.get("type")) or "custom"
        number = limit_of(limit.get("limit"))
        message = text_of(limit.get("message")) or f"{kind} limit reached"
        self.limit = ErrorFields(unwrap_error(message).message, None, f"{kind}_limit")
        self.is_interrupted = self.is_interrupted or kind == "operator"
        self._run.add(
            "audit",
            "aborted" if kind == "operator" else "failed",
            self.limit,
            operation=_LIMITS.get(kind, "step_limit"),
            metadata=None if number is None else {"limit": number},
        )

    def _tell_model(self, event: _Event) -> None:
        model = text_of(event.model)
        call_id = text_of(event.uuid) or text_of(event.call_id)
        request = f"{text_of(event.call_id) or text_of(event.span_id) or ''}/{model or ''}"
        earlier = self._attempts.setdefault(request, [])
        fields = {"operation": model or "model", "model": model, "call_id": call_id}
        starts = self._starts_at(event, earlier)
        attempt = (attempt_of(event.attempt) or len(earlier) + 1) - 1
        has_begun = self._has_begun(event)
        if attempt > 0 and earlier and not has_begun:
            retry = self._add("retry", "started", starts, **fields)
            retry.attempt = attempt
            last = earlier[-1]
            retry.error_message, retry.error_type = last.error_message, last.error_type
            retry.http_status = last.http_status
        if (event.completed is not None or event.pending is True) and not has_begun:
            self._add("model_call", "started", starts, **fields)
        if event.pending is True:
            return
        error = unwrap_error(event.error)
        if not error.message and not earlier and count_of(event.retries):
            retry = self._add("retry", "started", starts, **fields)
            retry.attempt = count_of(event.retries)
        end = self._end("model_call", "failed" if error.message else "completed", event, **fields)
        if error.message:
            error.write(end)
            earlier.append(end)
            self._failures.append(error.message)
            return
        earlier.clear()
        write_usage(end, at(event.output, "usage"))
        end.finish_reason = text_of(at(event.output, "choices", 0, "stop_reason"))

    def _has_begun(self, event: _Event) -> bool:
        """Whether the start of this call is told, by an earlier form of its event."""
        own_id = text_of(event.uuid) or text_of(event.id) or ""
        has_begun = own_id in self._begun
        if event.pending is not True:
            self._begun.discard(own_id)
        elif own_id:
            self._begun.add(own_id)
        return has_begun

    @staticmethod
    def _starts_at(event: _Event, earlier: list[Event]) -> float | None:
        """When this attempt began: not before the one that failed before it."""
        started = parse_timestamp(event.timestamp)
        if not earlier or started is None:
            return started
        return max(started, earlier[-1].timestamp)

    def _tell_tool(self, event: _Event) -> None:
        fields = {
            "operation": text_of(event.function) or "tool",
            "call_id": text_of(event.id) or text_of(event.uuid),
        }
        if not self._has_begun(event):
            start = self._add("tool_call", "started", None, **fields)
            start.arguments_hash = hash_arguments(event.arguments)
        if event.pending is True:
            return
        status: Status = "completed"
        error = unwrap_error(event.error)
        if error.message or error.type:
            status = "aborted" if error.type in _REFUSED else "failed"
        elif event.failed is True:
            status, error = "failed", unwrap_error(event.result)
        else:
            hidden = failure_in_output(event.result, is_said_ok=event.failed is False)
            if hidden is not None:
                status, error = "failed", hidden
        end = self._end("tool_result", status, event, **fields)
        error.write(end, status)
        if status == "failed" and error.message:
            self._failures.append(error.message)

    def _tell_span(self, event: _Event) -> None:
        """Spans of agents are runs inside the run; those of solvers and scorers only group."""
        span = text_of(event.id) or text_of(event.span_id) or ""
        if event.event == "span_begin":
            if event.type == "agent":
                self._agents[span] = text_of(event.name) or "agent"
                self._add_agent(span, "started")
        elif span in self._agents:
            self._add_agent(span, "completed")
            del self._agents[span]

    def _add_agent(self, span: str, status: Status) -> None:
        name = self._agents[span]
        kind: Any = "agent_start" if status == "started" else "agent_end"
        self._run.add(kind, status, operation=name, call_id=span or None).agent = name

    def _tell_error(self, event: _Event) -> None:
        error = unwrap_error(event.error)
        message = error.message or "error"
        if not self.has_told(message):
            add_error(self._run, "sample", error, event.error)
        self._failures.append(message)

    def _add(self, kind: Any, status: Status, at_time: float | None, **fields: Any) -> Event:
        event = self._run.add(kind, status, **fields)
        if at_time is not None:
            event.timestamp = at_time
        return event

    def _end(self, kind: Any, status: Status, event: _Event, **fields: Any) -> Event:
        started, ended = parse_timestamp(event.timestamp), parse_timestamp(event.completed)
        end = self._add(kind, status, ended, **fields)
        if started is not None and ended is not None and ended >= started:
            end.duration_seconds = ended - started
        else:
            end.duration_seconds = amount_of(event.working_time) or amount_of(
                mapping_of(event.output).get("time")
            )
        return end
