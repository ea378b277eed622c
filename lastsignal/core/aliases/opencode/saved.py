"""OpenCode's saved sessions, as `opencode export` writes them: one document, its messages in order.

They are the messages and parts that its bus tells of, as they were in the end. Each of the user's
messages begins a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.fields import at, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.opencode.bus import BusDecoder
from lastsignal.core.events import Event

_ABSENT = msgspec.Raw(b"")


class _Document(msgspec.Struct, gc=False):
    info: msgspec.Raw = _ABSENT
    messages: msgspec.Raw = _ABSENT


class _Message(msgspec.Struct, gc=False):
    info: msgspec.Raw = _ABSENT
    parts: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Document).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_encode = msgspec.json.Encoder().encode


def recognise(value: Any) -> bool:
    """A session's facts under `info`, with its messages."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("messages"), list)
        and _is_session(value.get("info"))
    )


def _is_session(info: object) -> bool:
    identity = at(info, "id")
    return isinstance(identity, str) and identity.startswith("ses_") and "time" in mapping_of(info)


class SavedDecoder:
    """Decodes whole sessions."""

    state = None

    def __init__(self, source: str) -> None:
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the session's events; see `contract.Decoder`."""
        try:
            document = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        info = mapping_of(value_of(document.info))
        if bytes(document.messages)[:1] != b"[" or not _is_session(info):
            raise NotThisDialect
        session = _Session(self._source, text_of(info.get("id")) or "")
        for offset, data in elements_of(record, document.messages):
            session.tell(data, offset)
        return session.events() or Drop("session_without_calls")


class _Session:
    """Tells a session's messages in their order, as its bus would."""

    def __init__(self, source: str, session: str) -> None:
        self._bus = BusDecoder(source)
        self._session = session
        self._events: list[Event] = []
        self._has_ended = False

    def tell(self, data: bytes, offset: int) -> None:
        """Tell of one message and its parts."""
        try:
            message = _decode_message(data)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return
        info = mapping_of(value_of(message.info))
        if info.get("role") == "user":
            self._idle()
            self._add(offset, "message.updated", info=message.info)
            self._add(offset, "session.status", status={"type": "busy"})
            return
        if info.get("role") != "assistant":
            return
        begun = {key: value for key, value in info.items() if key not in ("error", "finish")}
        begun["time"] = {"created": at(info, "time", "created")}
        self._add(offset, "message.updated", info=begun)  # names the model and the agent
        self._add(offset, "session.status", status={"type": "busy"})
        for place, part in elements_of(data, message.parts):
            self._add(offset + place, "message.part.updated", part=msgspec.Raw(part))
        self._add(offset, "message.updated", info=message.info)
        self._has_ended = bool(at(info, "time", "completed") or info.get("error"))

    def events(self) -> list[Event]:
        """Return the session's events; one whose last answer has no end goes on, or was killed."""
        self._idle()
        return sorted(self._events, key=_in_time)

    def _idle(self) -> None:
        if self._has_ended and self._events:
            self._add(self._events[-1].offset, "session.idle")
        self._has_ended = False

    def _add(self, offset: int, kind: str, **properties: Any) -> None:
        for event in self._told(kind, properties):
            event.offset = offset
            self._events.append(event)

    def _told(self, kind: str, properties: Mapping[str, Any]) -> list[Event]:
        named = {"sessionID": self._session, **properties}
        told = self._bus.decode(_encode({"type": kind, "properties": named}))
        return [] if isinstance(told, Drop) else told


def _in_time(event: Event) -> float:
    return event.timestamp if event.timestamp == event.timestamp else 0.0


DIALECT = Dialect(
    name="opencode_saved",
    framework="opencode",
    recognise=recognise,
    decoder=SavedDecoder,
    is_unique=True,
    description="OpenCode's saved sessions: info (id ses_…), and messages with parts",
    written_by="`opencode export SESSION > FILE`",
)
