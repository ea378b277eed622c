"""LangGraph's `stream_mode="debug"`: the graph's tasks, their results, its checkpoints.

The stream ends without a word, whether the graph is done, has raised or hit its recursion limit.
So a node is the unit that begins and ends, and calls are read from the messages that nodes return.
A node that has asked for a tool ends when the graph goes on: a stream that stops before is no end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.langchain.messages import (
    judge_error,
    model_facts,
    own_failure,
    plain,
    tool_failure,
)
from lastsignal.core.aliases.session_runs import remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import UNTIMED, Event
from lastsignal.core.timestamps import parse_timestamp

_TYPES = frozenset({"task", "task_result", "checkpoint"})
_ABSENT = msgspec.Raw(b"")
_MAX_STEP = 2**31


class _Payload(msgspec.Struct, gc=False):
    id: Any = None
    name: Any = None
    error: Any = None
    result: msgspec.Raw = _ABSENT
    interrupts: Any = None
    metadata: Any = None


class _Line(msgspec.Struct, gc=False):
    step: Any
    type: str
    payload: _Payload
    timestamp: Any = None


class GraphState(msgspec.Struct):
    """What later records depend on."""

    step: int | None = None
    runs: int = 0
    """Runs seen in this source: the stream names none, but its steps begin anew."""
    messages: dict[str, bool] = {}
    """Messages told already: a node may return the whole conversation."""
    waiting: dict[str, str] = {}
    """Nodes that have asked for tools, by id: their names."""


_decode = msgspec.json.Decoder(_Line).decode


def recognise(value: Any) -> bool:
    """A debug record: a step, a time, a type and its payload."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _TYPES
        and isinstance(value.get("step"), int)
        and "timestamp" in value
        and isinstance(value.get("payload"), dict)
    )


class GraphDebugDecoder:
    """Decodes the debug stream of one run after another."""

    def __init__(self, source: str) -> None:
        self.state = GraphState()
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return what a node's start or end tells; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if line.type not in _TYPES or not isinstance(line.step, int):
            raise NotThisDialect
        self._follow_runs(line)
        if line.type == "checkpoint":
            return Drop("checkpoint")
        if line.type == "task":
            start = self._event(line, event_type="agent_start", status="started")
            start.metadata = {"step": self.state.step}
            return [*self._ends_of_waiting(line), start]
        told = list(self._node_end(line))
        calls = list(self._requested_calls(line))
        if calls and told[-1].status == "completed":
            end = told.pop()
            remember(self.state.waiting, end.call_id or "", end.operation or "")
        return told + calls

    def _follow_runs(self, line: _Line) -> None:
        state = self.state
        step = int(min(max(line.step, -1), _MAX_STEP))  # -1 is the input's own checkpoint
        is_input = mapping_of(line.payload.metadata).get("source") == "input"
        if state.step is None or step < state.step or (is_input and step != state.step):
            state.runs += 1
            state.waiting.clear()  # what their run asked for has never come
        state.step = step

    def _node_end(self, line: _Line) -> Iterator[Event]:
        yield from self._calls(line)
        end = self._event(line, event_type="agent_end", status="completed")
        if line.payload.error:
            status, error = judge_error(line.payload.error)
            error.write(end, status)
            if end.status == "failed":
                failure = own_failure(end)
                if failure.event_type == "process_error":
                    failure.event_type = "tool_result"  # an action of the graph, not its process
                yield failure
        elif list_of(line.payload.interrupts):
            end.status, end.finish_reason = "aborted", "interrupt"
        yield end

    def _ends_of_waiting(self, line: _Line) -> Iterator[Event]:
        for node_id, name in self.state.waiting.items():
            end = self._event(line, event_type="agent_end", status="completed")
            end.operation = end.agent = name or None
            end.call_id = node_id or None
            yield end
        self.state.waiting.clear()

    def _calls(self, line: _Line) -> Iterator[Event]:
        """What a node's messages say of calls that have ended."""
        for message in _messages(line):
            if not self._is_new(message, ":told"):
                continue
            if message.get("type") == "tool":
                yield self._tool_result(line, message)
            elif message.get("type") == "ai" and (
                message.get("usage_metadata") or message.get("response_metadata")
            ):
                event = self._inner(line, event_type="model_call", status="completed")
                model_facts(message).write(event)
                event.operation = event.model or text_of(line.payload.name)
                event.call_id = text_of(message.get("id"))
                yield event

    def _tool_result(self, line: _Line, message: Any) -> Event:
        event = self._inner(line, event_type="tool_result", status="completed")
        event.operation = text_of(message.get("name"))
        event.call_id = text_of(message.get("tool_call_id"))
        failure = tool_failure(message)
        if failure is not None:
            event.status, error = failure
            event.error_message, event.http_status, event.error_type = (
                error.message,
                error.http_status,
                error.type,
            )
        return event

    def _requested_calls(self, line: _Line) -> Iterator[Event]:
        """Tool calls that the model asks for begin when its node has returned."""
        for message in _messages(line):
            if message.get("type") != "ai" or not self._is_new(message, ":asked"):
                continue
            for call in list_of(message.get("tool_calls")):
                if not isinstance(call, dict):
                    continue
                event = self._inner(line, event_type="tool_call", status="started")
                event.operation, event.call_id = text_of(call.get("name")), text_of(call.get("id"))
                event.arguments_hash = hash_arguments(call.get("args"))
                yield event

    def _is_new(self, message: Any, suffix: str) -> bool:
        message_id = text_of(message.get("id"))
        return message_id is None or remember(self.state.messages, message_id + suffix, True)

    def _inner(self, line: _Line, **fields: Any) -> Event:
        event = self._event(line, **fields)
        event.parent_id, event.call_id = event.call_id, None
        return event

    def _event(self, line: _Line, **fields: Any) -> Event:
        timestamp = parse_timestamp(line.timestamp)
        name = text_of(line.payload.name)
        return Event(
            timestamp=UNTIMED if timestamp is None else timestamp,
            trace_id=f"{self._source}#{self.state.runs}" if self.state.runs > 1 else "",
            operation=name,
            agent=name,
            call_id=text_of(line.payload.id),
            **fields,
        )


def _messages(line: _Line) -> list[Any]:
    """Return a result's messages: a mapping in newer versions, (channel, value) pairs in older."""
    result = value_of(line.payload.result)
    if isinstance(result, list):
        pairs = (pair for pair in result if isinstance(pair, list) and len(pair) == 2)
        result = {pair[0]: pair[1] for pair in pairs if isinstance(pair[0], str)}
    messages = mapping_of(result).get("messages")
    found = messages if isinstance(messages, list) else [messages]
    return [plain(message) for message in found if isinstance(message, dict)]


DIALECT = Dialect(
    name="langgraph_debug",
    framework="langgraph",
    recognise=recognise,
    decoder=GraphDebugDecoder,
    description='LangGraph stream_mode="debug": step, type task or task_result, payload',
)
