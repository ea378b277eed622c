"""LangGraph's `stream_mode="debug"`: the graph's tasks, their results, its checkpoints.

The stream ends without a word, whether the graph is done, has raised or hit its recursion limit.
So a node is the unit that begins and ends, and calls are read from the messages that nodes return.
A node that has asked for a tool ends when the graph goes on, and then the tool's call begins: a
stream that stops before is no end. Where checkpoints say what comes next, that holds for any node:
one with nothing to come ends the run, one with more is the last record of a planned pause and of a
reached recursion limit alike. It is no pause before nodes that were entered without a stop, and it
is one where the graph has stopped before and gone on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.fields import at, list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.langchain.messages import (
    failed_step,
    judge_error,
    model_facts,
    own_failure,
    plain,
    tool_failure,
)
from lastsignal.core.aliases.session_runs import remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_TYPES = frozenset({"task", "task_result", "checkpoint"})
_NO_ID = "\0"
_EITHER = "a planned pause (interrupt_before, interrupt_after) and the recursion limit look alike"
_NO_PAUSE = (
    "it has gone on from there before, so this is no planned pause but its recursion limit, or a"
    " process that is gone"
)
_ABSENT = msgspec.Raw(b"")
_MAX_STEP = 2**31


class _Payload(msgspec.Struct, gc=False):
    id: Any = None
    name: Any = None
    error: Any = None
    result: msgspec.Raw = _ABSENT
    interrupts: Any = None
    metadata: Any = None
    next: Any = None


class _Line(msgspec.Struct, gc=False):
    step: Any
    type: str
    payload: _Payload
    timestamp: Any = None


class Asked(msgspec.Struct, array_like=True):
    """A tool's call that a model has asked for, and that has not begun."""

    operation: str | None
    arguments_hash: str | None
    agent: str | None


class Ended(msgspec.Struct, array_like=True):
    """A node that has returned, in a run of which nothing says yet whether it goes on."""

    name: str | None
    timestamp: float


class GraphState(msgspec.Struct):
    """What later records depend on."""

    step: int | None = None
    runs: int = 0
    """Runs seen in this source: the stream names none, but its steps begin anew."""
    messages: dict[str, bool] = {}
    """Messages told already: a node may return the whole conversation."""
    waiting: dict[str, Ended] = {}
    """Nodes that have returned, by id, until it is told that the run goes on or ends."""
    tells_next: bool = False
    """Whether checkpoints say what comes next."""
    stands_at: str | None = None
    """The checkpoint that was the latest record."""
    pauses: dict[str, bool] = {}
    """Nodes before which the graph has paused, and from which it has gone on."""
    passed: dict[str, bool] = {}
    """Nodes that it has entered without a stop."""
    asked: dict[str, Asked] = {}
    """Calls of tools by id, until the graph goes on."""


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
            return list(self._checkpoint(line)) or Drop("checkpoint")
        place, self.state.stands_at = self.state.stands_at, None
        if line.type == "task":
            if place is not None and self.state.waiting:
                remember(self.state.passed, place.partition(": ")[2], True)
            start = self._event(line, event_type="agent_start", status="started")
            start.metadata = {"step": self.state.step}
            ends, calls = list(self._ends_of_waiting(line)), list(self._asked_calls(line))
            return [*ends, start, *calls]
        told = list(self._node_end(line))
        asks = told[-1].status == "completed" and self._ask(line)
        if asks or (told[-1].status == "completed" and self.state.tells_next):
            end = told.pop()
            remember(self.state.waiting, end.call_id or "", Ended(end.operation, end.timestamp))
        return told or Drop("asks_for_tools" if asks else "node_returned")

    def _follow_runs(self, line: _Line) -> None:
        state = self.state
        step = int(min(max(line.step, -1), _MAX_STEP))  # -1 is the input's own checkpoint
        is_input = mapping_of(line.payload.metadata).get("source") == "input"
        if state.step is None or step < state.step or (is_input and step != state.step):
            state.runs += 1
            state.waiting.clear()  # what their run asked for has never come
            state.asked.clear()
            state.passed.clear()
        state.step = step

    def _checkpoint(self, line: _Line) -> Iterator[Event]:
        state, following = self.state, line.payload.next
        state.tells_next = state.tells_next or isinstance(following, list)
        names = ", ".join(name for name in list_of(following) if isinstance(name, str))
        place = f"{state.step}: {names}"
        goes_on, state.stands_at = state.stands_at == place, place
        if goes_on and names:
            remember(state.pauses, names, True)
        if following == []:
            yield from self._ends_of_waiting(line)
        elif names in state.pauses and not goes_on:
            for end in self._ends_of_waiting(line):
                end.status, end.finish_reason = "aborted", "interrupt"
                end.error_message = f"it is paused before {names}"
                yield end
        elif names and state.waiting:
            reading = _NO_PAUSE if names in state.passed else _EITHER
            stop = self._event(line, event_type="audit", status="completed")
            stop.operation, stop.metadata = "checkpoint", {"next": names, "reading": reading}
            yield stop

    def _node_end(self, line: _Line) -> Iterator[Event]:
        yield from self._calls(line)
        end = self._event(line, event_type="agent_end", status="completed")
        if line.payload.error:
            status, error = judge_error(line.payload.error)
            error.write(end, status)
            if end.status == "failed" and _is_contradicted(line.payload):
                contradict(end)
            elif end.status == "failed":
                yield failed_step(own_failure(end, line.payload.error))
        elif list_of(line.payload.interrupts):
            end.status, end.finish_reason = "aborted", "interrupt"
            end.error_message = "it waits for an answer to its interrupt"
        yield end

    def _ends_of_waiting(self, line: _Line) -> Iterator[Event]:
        for node_id, ended in self.state.waiting.items():
            end = self._event(line, event_type="agent_end", status="completed")
            end.timestamp = ended.timestamp
            end.operation = end.agent = ended.name
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

    def _ask(self, line: _Line) -> bool:
        """Note the tool calls that the model asks for, and that its node has not made itself."""
        messages = _messages(line)
        made = {text_of(one.get("tool_call_id")) for one in messages if one.get("type") == "tool"}
        asks = False
        for message in messages:
            if message.get("type") != "ai" or not self._is_new(message, ":asked"):
                continue
            for number, call in enumerate(list_of(message.get("tool_calls"))):
                call_id = text_of(at(call, "id"))
                if not isinstance(call, dict) or (call_id is not None and call_id in made):
                    continue
                asked = Asked(
                    text_of(call.get("name")),
                    hash_arguments(call.get("args")),
                    text_of(line.payload.name),
                )
                remember(self.state.asked, call_id or f"{_NO_ID}{number}", asked)
                asks = True
        return asks

    def _asked_calls(self, line: _Line) -> Iterator[Event]:
        """Tools that were asked for begin as the graph goes on."""
        for call_id, asked in self.state.asked.items():
            event = self._inner(line, event_type="tool_call", status="started")
            event.call_id = None if call_id.startswith(_NO_ID) else call_id
            event.operation, event.agent = asked.operation, asked.agent
            event.arguments_hash = asked.arguments_hash
            yield event
        self.state.asked.clear()

    def _is_new(self, message: Any, suffix: str) -> bool:
        message_id = text_of(message.get("id"))
        return message_id is None or remember(self.state.messages, message_id + suffix, True)

    def _inner(self, line: _Line, **fields: Any) -> Event:
        event = self._event(line, **fields)
        event.parent_id, event.call_id = event.call_id, None
        return event

    def _event(self, line: _Line, **fields: Any) -> Event:
        timestamp = time_of(line.timestamp)
        name = text_of(line.payload.name)
        return Event(
            timestamp=timestamp,
            trace_id=f"{self._source}#{self.state.runs}" if self.state.runs > 1 else "",
            operation=name,
            agent=name,
            call_id=text_of(line.payload.id),
            **fields,
        )


def _is_contradicted(payload: _Payload) -> bool:
    """Whether beside an error stands what a node has written, or no node that it is the error of:
    one that raises writes nothing."""
    return bool(value_of(payload.result)) or text_of(payload.name) is None


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
    is_unique=True,
    description='LangGraph stream_mode="debug": step, type task or task_result, payload',
    written_by='programs that write what `graph.stream(…, stream_mode="debug")` gives, one a line',
)
