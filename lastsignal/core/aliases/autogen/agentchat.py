"""AgentChat's messages, dumped one a line or as a `TaskResult`.

A run that fails leaves no message at all: after a 429 there is only the user's task. So a turn
opens with the task, or with the first message after an answer, and an agent's answer closes it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.autogen.messages import (
    ABSENT,
    Message,
    MessageState,
    Place,
    decode_message,
    message_event,
    message_events,
)
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect, holds
from lastsignal.core.aliases.elements import locate
from lastsignal.core.aliases.error_text import unwrap_error
from lastsignal.core.aliases.fields import limit_of, list_of, mapping_of, text_of
from lastsignal.core.events import Event
from lastsignal.core.timestamps import parse_timestamp

_MAX_REASON = 200
_LIMITS = (
    (re.compile(r"Maximum number of (?:messages|turns) (\d{1,9}) reached"), "turn_limit", True),
    (re.compile(r"Token usage limit reached()"), "token_limit", False),
    (re.compile(r"Timeout of (\d{1,9}(?:\.\d{1,9})?) seconds reached"), "time_limit", False),
)


class _TaskResult(msgspec.Struct, gc=False):
    messages: list[msgspec.Raw]
    stop_reason: Any = msgspec.UNSET


class _Line(msgspec.Struct, gc=False):
    messages: msgspec.Raw = ABSENT
    models_usage: Any = msgspec.UNSET
    source: Any = None


class ChatState(msgspec.Struct):
    """What later messages depend on."""

    runs: int = 0
    turns: int = 0
    turn: str | None = None
    """The turn that is open."""
    ended: str | None = None
    """The turn that ended last, of which the result has not said yet why."""
    agent: str | None = None
    at: float | None = None
    """Who said the latest message of a turn, and when."""
    awaits_user: bool = False
    """An agent has asked the user something: what the user says next is no new task."""
    messages: MessageState = msgspec.field(default_factory=MessageState)


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_result = msgspec.json.Decoder(_TaskResult).decode


def recognise(value: Any) -> bool:
    """A message with its usage, or the result of a task."""
    if not isinstance(value, dict):
        return False
    messages = value.get("messages")
    if isinstance(messages, list) and "stop_reason" in value:
        return not messages or recognise(messages[0])
    return "models_usage" in value and isinstance(value.get("source"), str)


class AgentChatDecoder:
    """Decodes the messages of one team after another."""

    def __init__(self, source: str) -> None:
        self.state = ChatState()
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return what the messages tell for the first time; see `contract.Decoder`."""
        try:
            line = _decode_line(record)
            if not bytes(line.messages):
                if line.models_usage is msgspec.UNSET or not isinstance(line.source, str):
                    raise NotThisDialect
                return self._message(decode_message(record))
            result = _decode_result(record)
            if result.stop_reason is msgspec.UNSET:
                raise NotThisDialect
        except msgspec.ValidationError:
            raise NotThisDialect from None
        return self._result(record, result)

    def _result(self, record: bytes, result: _TaskResult) -> Decoded:
        events: list[Event] = []
        reason = "repeated_message"
        for offset, data in locate(record, result.messages):
            decoded = self._message(decode_message(data))
            if isinstance(decoded, Drop):
                reason = decoded.reason
                continue
            for event in decoded:
                event.offset = offset
            events += decoded
        stop_reason = text_of(result.stop_reason)
        if stop_reason:
            events = self._stopped(events, stop_reason)
        return events or Drop(reason)

    def _stopped(self, events: list[Event], stop_reason: str) -> list[Event]:
        """Return the events with why it ended: of messages that may have been told before."""
        state = self.state
        if not events or events[-1].event_type != "agent_end":
            is_told, turn = state.turn is None, state.turn or state.ended
            if turn is None:
                return events
            end = self._end_of(turn)
        else:
            is_told, end = False, events.pop()
        state.turn = state.ended = None
        end.finish_reason = stop_reason[:_MAX_REASON]
        return [*events, *_limit(end, stop_reason), *([] if is_told else [end])]

    def _end_of(self, turn: str) -> Event:
        end = Event(event_type="agent_end", operation="turn", status="completed", call_id=turn)
        end.trace_id, end.agent = self._place().trace_id, self.state.agent
        if self.state.at is not None:
            end.timestamp = self.state.at
        return end

    def _message(self, message: Message | None) -> Decoded:
        state = self.state
        if message is None:
            return Drop("malformed_record")
        if not state.messages.is_new(message):
            return Drop("repeated_message")
        if message.kind == "UserInputRequestedEvent":
            state.awaits_user = True
            return Drop("user_input")
        if message.is_task and not state.awaits_user:
            state.runs, state.turn = state.runs + 1, None
            return [self._open(message)]
        state.awaits_user = False
        state.at, state.agent = parse_timestamp(message.created_at), message.agent
        events = [] if state.turn else [self._open(message)]
        told = message_events(message, self._place(), state.messages)
        if not isinstance(told, Drop):
            events += told
        if message.is_answer and message.agent != "user":
            events.append(self._close(message))
        return events or told

    def _open(self, message: Message) -> Event:
        state = self.state
        state.turns += 1
        state.turn, state.ended = f"turn-{state.turns}", None
        start = message_event(
            message, Place(self._place().trace_id), event_type="agent_start", status="started"
        )
        start.call_id, start.operation = state.turn, "turn"
        start.agent = None if message.is_task else message.agent
        return start

    def _close(self, message: Message) -> Event:
        end = message_event(
            message, Place(self._place().trace_id), event_type="agent_end", status="completed"
        )
        if message.hands_on_failures:
            said = mapping_of(list_of(message.results)[-1]).get("content")
            unwrap_error(said or "the turn's tools failed").write(end)
        end.operation = "turn"
        end.call_id = self.state.ended = self.state.turn
        self.state.turn = None
        return end

    def _place(self) -> Place:
        runs = self.state.runs
        return Place(f"{self._source}#{runs}" if runs > 1 else "", self.state.turn)


def _limit(end: Event, stop_reason: str) -> list[Event]:
    """Return the limit that ended the team, as its termination condition says it.

    A count of messages or turns is how many teams are meant to end; tokens and time are not.
    """
    for pattern, operation, ends_well in _LIMITS:
        found = pattern.match(stop_reason)
        if found is None:
            continue
        audit = msgspec.structs.replace(
            end, event_type="audit", operation=operation, call_id=None, parent_id=end.call_id
        )
        audit.finish_reason = None
        audit.metadata = {"limit": limit_of(found[1])} if found[1] else None
        error = unwrap_error(stop_reason[:_MAX_REASON])
        if ends_well:
            audit.status = "completed"
            return [audit]
        error.write(audit)
        error.write(end)
        return [audit]
    return []


DIALECT = Dialect(
    name="autogen_agentchat",
    framework="autogen",
    recognise=recognise,
    decoder=AgentChatDecoder,
    is_unique=True,
    is_named=holds(b'"created_at"'),  # versions before name no message
    description="AutoGen AgentChat messages or TaskResult: source, models_usage, type",
    written_by=(
        "programs that write the messages of `run_stream`, or its result, by `model_dump_json()`"
    ),
)
