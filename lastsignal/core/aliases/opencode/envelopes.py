"""The wrappings of an event of OpenCode's bus."""

from __future__ import annotations

from typing import Any, TypeGuard

import msgspec

from lastsignal.core.aliases.contract import Drop, NotThisDialect
from lastsignal.core.aliases.fields import at
from lastsignal.core.aliases.json_values import value_of

_ABSENT = msgspec.Raw(b"")
_SUBJECTS = frozenset(
    "session message permission server file todo lsp installation question command storage ide "
    "project tui pty vcs mcp global worktree workspace".split()
)
_HOOKS = frozenset(
    "chat.message chat.params chat.headers permission.ask command.execute.before shell.env "
    "tool.execute.before tool.execute.after tool.definition config auth".split()
)


class BusEvent(msgspec.Struct, gc=False):
    """An event: its type, and properties that stay undecoded until the type is known."""

    type: Any = None
    properties: msgspec.Raw = _ABSENT


class _Envelope(msgspec.Struct, gc=False):
    event: BusEvent | None = None


class _Global(BusEvent):
    payload: BusEvent | None = None


_decode_event = msgspec.json.Decoder(_Global).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


def recognise(value: Any) -> bool:
    """An array of hook and payload, or a bare event whose type names one of the bus's subjects."""
    if isinstance(value, list):
        if len(value) < 2 or not isinstance(value[0], str):
            return False
        if value[0] == "event":
            return isinstance(at(value, 1, "event", "type"), str)
        return (value[0] in _HOOKS or value[0].startswith("experimental.")) and isinstance(
            value[1], dict
        )
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("payload"), dict) and "directory" in value:
        value = value["payload"]
    return is_bus_type(value.get("type")) and isinstance(value.get("properties"), dict)


def is_bus_type(kind: object) -> TypeGuard[str]:
    """Does an event type name one of the bus's subjects?"""
    if not isinstance(kind, str):
        return False
    subject, dot, _ = kind.partition(".")
    return bool(dot) and subject in _SUBJECTS


def event_in(record: bytes) -> BusEvent | Drop:
    """Return the event of a record in any of its wrappings.

    Raises:
        NotThisDialect: there is none.
    """
    try:
        if record.lstrip()[:1] == b"[":
            items = _decode_array(record)
            name = value_of(items[0]) if len(items) > 1 else None
            if not isinstance(name, str) or bytes(items[1])[:1] != b"{":
                raise NotThisDialect
            if name != "event":
                if name in _HOOKS or name.startswith("experimental."):
                    return Drop("hook")
                raise NotThisDialect
            event = _decode_envelope(items[1]).event
        else:
            bare = _decode_event(record)
            event = bare if bare.payload is None else bare.payload
    except (msgspec.ValidationError, RecursionError, UnicodeError):
        raise NotThisDialect from None
    if event is None:
        raise NotThisDialect
    return event
