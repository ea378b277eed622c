"""AG2's event log: the events of one stream, each with the path of its class and its fields.

The log is written when a turn is over. A model's answer holds its calls, which come once more as
events of their own; results come alone and then together. The user's request opens a turn, an
answer that asks for no tool ends it, and what a provider refuses leaves no event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.autogen.ag2_values import output_in, plain, usage_of
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import at, list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, remember, replace
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_OWN = re.compile(r"(?:ag2|autogen\.beta)\.events\.(?:\w+\.)*([A-Z]\w*)")
_ANY = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*\.([A-Z]\w*)")
_STREAM = re.compile(r"(?:^|/)([^/]+?)(?:\.dropped-\d+)?\.jsonl")

_CALLS = frozenset(
    "ToolCallEvent BuiltinToolCallEvent ClientToolCallEvent ToolCall ClientToolCall".split()
)
_RESULTS = frozenset("ToolResultEvent BuiltinToolResultEvent ToolResult".split())
_ERRORS = frozenset("ToolErrorEvent ToolNotFoundEvent ToolError ToolNotFound".split())
_OF_A_TASK = frozenset("TaskStarted TaskCompleted TaskFailed TaskExpired TaskCancelled".split())
_DROPPED = {
    "HumanInputRequest": "user_input",
    "ToolApprovalRequest": "user_input",
    "HumanMessage": "user_input",
    "ModelMessage": "message",
    "ModelMessageChunk": "stream_chunk",
    "ModelReasoning": "stream_chunk",
    "ObserverAlert": "observer_alert",
    "TaskProgress": "progress",
}


class _Record(msgspec.Struct, gc=False):
    type: str
    data: msgspec.Raw


_decode = msgspec.json.Decoder(_Record).decode


class Ag2State(msgspec.Struct):
    """What later events of the stream depend on."""

    open: dict[str, float] = {}
    calls: dict[str, bool] = {}
    """Ids of calls: whether they are over."""
    answers: int = 0
    """Answers whose usage has been told, and not yet by an event of its own."""
    spent: dict[str, int] = {}
    """Usage that an event of its own has told of an answer that is yet to come."""
    halted: str | None = None
    """Why the framework has stopped the turn."""


def recognise(value: Any) -> bool:
    """A record of the path of one of AG2's classes, and its fields."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and isinstance(value.get("data"), dict)
        and _OWN.fullmatch(value["type"]) is not None
    )


class Ag2Decoder:
    """Decodes one event after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state = Ag2State()
        stream = _STREAM.search(source.replace("\\", "/"))
        self._stream = stream[1] if stream else ""

    def decode(self, record: bytes) -> Decoded:
        """Return what an event tells; see `contract.Decoder`."""
        try:
            found = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        named = _ANY.fullmatch(found.type)
        data = value_of(found.data)
        if named is None or not isinstance(data, dict):
            raise NotThisDialect
        if _OWN.fullmatch(found.type) is None:
            return Drop("event_of_the_program")
        return self._read(named[1], {name: plain(value) for name, value in data.items()})

    def _read(self, name: str, data: Mapping[str, Any]) -> Decoded:
        run = Run(self._stream, "turn", None, "agent", time_of(data.get("created_at")))
        if name == "ModelRequest":
            return run.open(self.state.open) or Drop("user_input")
        if name == "ModelResponse":
            return self._answer(run, data)
        if name == "UsageEvent":
            return self._usage(run, data)
        if name == "ToolCallsEvent":
            return self._calls(run, data) or Drop("repeated_call")
        if name in _CALLS:
            return self._call(run, data) or Drop("repeated_call")
        if name == "ToolResultsEvent":
            results = [mapping_of(one) for one in list_of(data.get("results"))]
            events = [event for one in results for event in self._result(run, one)]
            return events or Drop("repeated_result")
        if name in _RESULTS or name in _ERRORS:
            return self._result(run, data) or Drop("repeated_result")
        if name in _OF_A_TASK:
            return _task(run, name, data)
        if name == "HaltEvent":
            return self._halt(run, data)
        if name == "ObserverAlert" and _is_of_loops(data):
            return [_audit(run, "loop", text_of(data.get("message")))]
        return Drop(_DROPPED.get(name, "agent_event"))

    def _answer(self, run: Run, data: Mapping[str, Any]) -> list[Event]:
        model = text_of(data.get("model"))
        told, spent = usage_of(data.get("usage")), self.state.spent
        self.state.answers += bool(told) and not spent
        self.state.spent = {}
        call = run.event(
            event_type="model_call",
            status="completed",
            operation=model or "model",
            model=model,
            finish_reason=text_of(data.get("finish_reason")),
            **(told or spent),
        )
        asked = self._calls(run, data.get("tool_calls"))
        is_last = not list_of(at(data, "tool_calls", "calls"))
        return [*run.open(self.state.open), call, *(self._end(run) if is_last else asked)]

    def _end(self, run: Run) -> list[Event]:
        reason, self.state.halted = self.state.halted, None
        if reason is None:
            return run.close(self.state.open)
        return run.close(self.state.open, "failed", ErrorFields(reason))

    def _usage(self, run: Run, data: Mapping[str, Any]) -> Decoded:
        """Usage is told by the answer, too; a sub-agent's is told by its own stream."""
        told = usage_of(data.get("usage"))
        kind = text_of(data.get("kind")) or "model_call"
        if kind == "subtask" or not told:
            return Drop("usage_sum")
        if kind == "model_call" and (self.state.answers or not self.state.spent):
            self.state.spent = {} if self.state.answers else told
            self.state.answers = max(0, self.state.answers - 1)
            return Drop("repeated_usage")
        model = text_of(data.get("model"))
        return [
            run.event(
                event_type="model_call",
                status="completed",
                operation=model or kind,
                model=model,
                **told,
            )
        ]

    def _calls(self, run: Run, data: object) -> list[Event]:
        calls = [mapping_of(call) for call in list_of(at(data, "calls"))]
        return [event for call in calls for event in self._call(run, call)]

    def _call(self, run: Run, data: Mapping[str, Any]) -> list[Event]:
        call_id = text_of(data.get("id")) or text_of(data.get("parent_id"))
        if call_id and not remember(self.state.calls, call_id, False):
            return []
        call = run.event(
            event_type="tool_call",
            status="started",
            operation=text_of(data.get("name")),
            call_id=call_id,
            arguments_hash=hash_arguments(data.get("arguments")),
        )
        return [*run.open(self.state.open), call]

    def _result(self, run: Run, data: Mapping[str, Any]) -> list[Event]:
        call_id = text_of(data.get("parent_id")) or text_of(data.get("id"))
        if call_id and self.state.calls.get(call_id):
            return []
        if call_id:
            replace(self.state.calls, call_id, True)
        end = run.event(
            event_type="tool_result", operation=text_of(data.get("name")), call_id=call_id
        )
        error = data.get("error")
        failure = error if isinstance(error, ErrorFields) else failure_in_output(output_in(data))
        (failure or NO_ERROR).write(end, "failed" if failure else "completed")
        return [end]

    def _halt(self, run: Run, data: Mapping[str, Any]) -> Decoded:
        """An observer's fatal alert stops the turn; the answer that follows is the framework's."""
        self.state.halted = text_of(data.get("reason")) or "halted"
        if _is_of_loops(data):
            return Drop("repeated_alert")
        audit = _audit(run, "guardrail", self.state.halted)
        audit.metadata = {"guardrail": text_of(data.get("source"))}
        return [audit]


def _is_of_loops(alert: Mapping[str, Any]) -> bool:
    return "loop" in (text_of(alert.get("source")) or "").lower()


def _audit(run: Run, operation: str, reason: str | None) -> Event:
    audit = run.event(event_type="audit", operation=operation)
    ErrorFields(reason or operation).write(audit)
    return audit


def _task(run: Run, name: str, data: Mapping[str, Any]) -> list[Event]:
    """A task is a run of another agent, inside the turn."""
    agent = text_of(data.get("agent_name")) or "agent"
    task = Run(run.trace_id, text_of(data.get("task_id")) or agent, run.run_id, agent, run.at)
    if name == "TaskStarted":
        return [task.boundary(event_type="agent_start", status="started")]
    end = task.boundary(event_type="agent_end", status="completed")
    error = data.get("error")
    if name == "TaskFailed":
        (error if isinstance(error, ErrorFields) else ErrorFields("task failed")).write(end)
    elif name == "TaskExpired":
        ErrorFields("the task's time has run out").write(end)
        end.error_class = "timeout"
    elif name == "TaskCancelled":
        ErrorFields(text_of(data.get("reason"))).write(end, "aborted")
    return [end]


DIALECT = Dialect(
    name="ag2_events",
    framework="ag2",
    recognise=recognise,
    decoder=Ag2Decoder,
    description="AG2's event log: the path of an event's class under type, its fields under data",
    written_by="AG2 agents with a knowledge store on disk, as log/STREAM.jsonl",
    is_unique=True,
)
