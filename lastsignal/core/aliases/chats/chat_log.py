"""Chats kept as they were sent to the model: one `{role, content}` a record.

Such a log has no beginning and no end of a run; what ended it can only be seen in its last call.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.chats.speakers import tell_turn
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import text_of
from lastsignal.core.aliases.frameworks.strands_session import has_blocks
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.trajectories import Trajectory

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_TELLING = ("content", "tool_calls", "function_call", "tool")
_NAMES_OF_EVENTS = ("action", "event", "event_name", "event_type", "eventType", "kind")
"""A record with one of these names what happened: it is an event's, whoever spoke."""
_BLOCKS = re.compile(rb'"content"\s*:\s*\[')
_ABSENT = msgspec.Raw(b"")
_MAX_RECORD = 4_000_000  # bytes; a message that is longer is a document


class _Message(msgspec.Struct):
    role: str
    content: msgspec.Raw = _ABSENT
    tool_calls: msgspec.Raw = _ABSENT
    function_call: msgspec.Raw = _ABSENT
    tool: msgspec.Raw = _ABSENT
    type: Any = "message"
    action: msgspec.Raw = _ABSENT
    event: msgspec.Raw = _ABSENT
    event_name: msgspec.Raw = _ABSENT
    event_type: msgspec.Raw = _ABSENT
    eventType: msgspec.Raw = _ABSENT
    kind: msgspec.Raw = _ABSENT
    name: Any = None
    tool_call_id: Any = None
    task_id: Any = None
    timestamp: Any = None
    error: Any = None
    status: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_Message).decode


def recognise(value: Any) -> bool:
    """A chat message: a provider's role, and something said, asked for or answered."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and value["role"] in _ROLES
        and any(name in value for name in _TELLING)
        and value.get("type", "message") == "message"
        and not any(name in value for name in _NAMES_OF_EVENTS)
    )


class ChatLogDecoder:
    """Decodes one message after another."""

    state = None

    def __init__(self, source: str) -> None:
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the calls that a message tells of; see `contract.Decoder`."""
        try:
            message = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        is_telling = any(bytes(getattr(message, name)) for name in _TELLING)
        is_event = any(bytes(getattr(message, name)) for name in _NAMES_OF_EVENTS)
        if message.role not in _ROLES or not is_telling or is_event or message.type != "message":
            raise NotThisDialect
        if len(record) > _MAX_RECORD:
            return Drop("record_too_large")
        task = text_of(message.task_id)
        run = Trajectory("assistant", f"{self._source}#{task}" if task else "")
        run.seek(0, message.timestamp)
        fields = {
            name: value_of(value) if isinstance(value, msgspec.Raw) else value
            for name, value in msgspec.structs.asdict(message).items()
        }
        reason = tell_turn(run, fields)
        for event in run.events:
            event.parent_id = None  # the run's own beginning is not in the log
        return run.events or Drop(reason or "message")

    def again(self, record: bytes) -> Decoded:
        """Return what `decode` does; content in Bedrock's blocks is a new kind of message; see
        `contract.General`."""
        if _BLOCKS.search(record) and has_blocks(value_of(_decode(record).content)):
            raise NotThisDialect
        return self.decode(record)


DIALECT = Dialect(
    name="chat_log",
    framework="chat",
    recognise=recognise,
    decoder=ChatLogDecoder,
    description="Chat messages, one a record: role, content, tool_calls",
    written_by="programs that keep their messages as chat APIs take them",
)
