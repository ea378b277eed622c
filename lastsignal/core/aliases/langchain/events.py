"""LangChain's `astream_events`, versions 1 and 2, dumped one event a line.

There is no time: run ids are UUIDv7 in newer versions, so the id tells when the run began. Only
tools have an error event. When anything else raises, the stream just stops, and the root's
agent_start without its end is all that tells it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.langchain.messages import (
    attempt_in,
    call_facts,
    judge_error,
    model_facts,
    own_failure,
    tool_failure,
)
from lastsignal.core.aliases.leaf_errors import ToldFailures
from lastsignal.core.aliases.session_runs import remember, replace
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import UNTIMED, Event, EventType
from lastsignal.core.timestamps import parse_timestamp

_EVENT = re.compile(r"on_([a-z_]+)_(start|stream|end|error)")
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-", re.IGNORECASE)
_START: dict[str, EventType] = {
    "chat_model": "model_call",
    "llm": "model_call",
    "tool": "tool_call",
    "retriever": "tool_call",
}
_ABSENT = msgspec.Raw(b"")


class _Data(msgspec.Struct, gc=False):
    input: msgspec.Raw = _ABSENT
    output: msgspec.Raw = _ABSENT
    error: Any = None


class _Line(msgspec.Struct, gc=False):
    event: str
    run_id: str
    name: Any = None
    parent_ids: Any = None
    tags: Any = None
    metadata: Any = None
    data: msgspec.Raw = _ABSENT


class EventsState(msgspec.Struct):
    """What later events of a stream depend on."""

    roots: dict[str, str] = {}
    """Root chains that have no end yet → their names."""
    names: dict[str, str] = {}
    """Trace → the root's name."""
    calls: dict[str, bool] = {}
    """Runs that have an event of their own: what a parent id may point to."""
    has_parents: bool = False
    """Version 1 leaves parent ids empty; then the open root is everybody's parent."""
    told: ToldFailures = msgspec.field(default_factory=ToldFailures)


class _Place(msgspec.Struct, gc=False):
    trace_id: str
    parents: list[str]

    @property
    def is_root(self) -> bool:
        return not self.parents


_decode = msgspec.json.Decoder(_Line).decode
_decode_data = msgspec.json.Decoder(_Data).decode


def recognise(value: Any) -> bool:
    """An event of `astream_events`: `on_…`, with a run id and the runnable's name."""
    if not isinstance(value, dict):
        return False
    event = value.get("event")
    return (
        isinstance(event, str)
        and event.startswith("on_")
        and isinstance(value.get("run_id"), str)
        and ("parent_ids" in value or ("data" in value and "name" in value))
    )


def time_of_run(run_id: str) -> float | None:
    """Return when a UUIDv7 was made, None for any other id."""
    found = _UUID7.match(run_id)
    return parse_timestamp(int(found[1] + found[2], 16)) if found else None


class EventsDecoder:
    """Decodes the events of one stream after another."""

    def __init__(self, source: str) -> None:
        self.state = EventsState()

    def decode(self, record: bytes) -> Decoded:
        """Return the event of a run's start or end; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if not line.event.startswith("on_"):
            raise NotThisDialect
        if line.event == "on_custom_event":
            return Drop("custom_event")
        found = _EVENT.fullmatch(line.event)
        if found is None:
            return Drop("unknown_event")
        kind, phase = found[1], found[2]
        if phase == "stream":
            return Drop("stream_chunk")
        place = self._place(line, kind)
        if kind not in _START and not (kind == "chain" and place.is_root):
            return self._inner_step(line, place, phase)
        events = (
            self._started(line, kind, place)
            if phase == "start"
            else self._ended(line, kind, phase, place)
        )
        return events

    def _place(self, line: _Line, kind: str) -> _Place:
        state = self.state
        parents = [
            parent for parent in list_of(line.parent_ids) if isinstance(parent, str) and parent
        ]
        if parents:
            state.has_parents = True
            return _Place(parents[0], parents)
        open_root = next(reversed(state.roots), None)
        if (
            open_root is None
            or state.has_parents
            or line.run_id in state.roots
            or (kind == "chain" and line.name == state.roots[open_root])
        ):
            return _Place(line.run_id, [])
        return _Place(open_root, [open_root])

    def _inner_step(self, line: _Line, place: _Place, phase: str) -> Decoded:
        attempt = attempt_in(line.tags) if phase == "start" else None
        if attempt is None:
            return Drop("structural_span")
        return [self._retry(line, place, attempt, text_of(line.name))]

    def _retry(self, line: _Line, place: _Place, attempt: int, operation: str | None) -> Event:
        event = self._event(line, place, event_type="retry", status="started")
        event.operation, event.attempt = operation, attempt - 1
        event.error_message = self.state.told.inside_step(place.parents)
        return event

    def _started(self, line: _Line, kind: str, place: _Place) -> list[Event]:
        state = self.state
        events: list[Event] = []
        name = text_of(line.name) or kind
        if kind == "chain":
            replace(state.roots, line.run_id, name)
            replace(state.names, line.run_id, name)
            start = self._event(line, place, event_type="agent_start", status="started")
            start.operation = name
        else:
            start = self._event(line, place, event_type=_START[kind], status="started")
            start.operation = _operation(line, kind)
            start.attempt = attempt_in(line.tags)
            if start.attempt is not None:
                events.append(self._retry(line, place, start.attempt, start.operation))
            if start.event_type == "tool_call":
                for event in (*events, start):
                    event.arguments_hash = hash_arguments(_data(line).input)
        remember(state.calls, line.run_id, True)
        return [*events, start]

    def _ended(self, line: _Line, kind: str, phase: str, place: _Place) -> list[Event]:
        data = _data(line)
        end = self._event(line, place, event_type="agent_end", status="completed")
        end.timestamp = UNTIMED  # the id tells only when the run began
        end.attempt = attempt_in(line.tags)
        if phase == "error":
            status, error = judge_error(data.error)
            error.write(end, status)
        if kind == "chain":
            self.state.roots.pop(line.run_id, None)
            end.operation = text_of(line.name)
            return [*self._own_failure(end, data.error), end]
        end.event_type = "model_call" if _START[kind] == "model_call" else "tool_result"
        end.operation = _operation(line, kind)
        if phase == "end" and end.event_type == "model_call":
            model_facts(value_of(data.output)).write(end)
        elif phase == "end":
            failure = tool_failure(value_of(data.output))
            if failure is not None:
                status, error = failure
                error.write(end, status)
        if end.status == "failed":
            self.state.told.tell(end.error_message, place.parents)
        return [end]

    def _own_failure(self, end: Event, error: object) -> list[Event]:
        """Only JavaScript's streams have an error event of the root; Python's just stop."""
        if end.status != "failed" or not end.error_message:
            return []
        passed_on = self.state.told.is_passed_on(end.call_id or "", end.error_message, ())
        return [] if passed_on else [own_failure(end, error)]

    def _event(self, line: _Line, place: _Place, **fields: Any) -> Event:
        metadata = mapping_of(line.metadata)
        known = (parent for parent in reversed(place.parents) if parent in self.state.calls)
        timestamp = time_of_run(line.run_id)
        return Event(
            timestamp=UNTIMED if timestamp is None else timestamp,
            trace_id=place.trace_id,
            call_id=line.run_id or None,
            parent_id=None if place.is_root else next(known, place.trace_id) or None,
            agent=text_of(metadata.get("lc_agent_name")) or self.state.names.get(place.trace_id),
            model=text_of(metadata.get("ls_model_name")),
            metadata=call_facts(metadata) or None,
            **fields,
        )


def _operation(line: _Line, kind: str) -> str:
    model = (
        text_of(mapping_of(line.metadata).get("ls_model_name"))
        if _START[kind] == "model_call"
        else None
    )
    return model or text_of(line.name) or kind


def _data(line: _Line) -> _Data:
    try:
        return _decode_data(line.data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return _Data()


DIALECT = Dialect(
    name="langchain_events",
    framework="langchain",
    recognise=recognise,
    decoder=EventsDecoder,
    is_unique=True,
    description="LangChain astream_events, one event a line: event on_…, run_id, parent_ids",
    written_by="programs that write each event of `astream_events`, one a line",
)
