"""The records of a managed agent's session: the SDK's calls, and the session's events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import NotThisDialect
from lastsignal.core.aliases.json_values import value_of

_ABSENT = msgspec.Raw(b"")
_CALL = "client.beta.sessions."
_EVENT_ID = "sevt_"


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A recorded call of the SDK that is no event: what was sent or returned."""

    creates: bool
    value: Any


class SessionEvent(msgspec.Struct, gc=False):
    """An event of a session; contents stay undecoded."""

    id: Any = None
    type: Any = None
    processed_at: Any = None
    agent_name: Any = None
    name: Any = None
    input: msgspec.Raw = _ABSENT
    content: msgspec.Raw = _ABSENT
    evaluated_permission: Any = None
    tool_use_id: Any = None
    mcp_tool_use_id: Any = None
    custom_tool_use_id: Any = None
    model_request_start_id: Any = None
    model_usage: Any = None
    is_error: Any = None
    result: Any = None
    stop_reason: Any = None
    error: Any = None


_decode_event = msgspec.json.Decoder(SessionEvent).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


def recognise(value: Any) -> bool:
    """A recorded call of the SDK with what it returned, or a bare event."""
    if isinstance(value, list):
        return len(value) > 1 and isinstance(value[0], str) and value[0].startswith(_CALL)
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return isinstance(value.get("id"), str) and value["id"].startswith(_EVENT_ID)


def read_record(record: bytes) -> ClientCall | SessionEvent:
    """Return what a record holds.

    Raises:
        NotThisDialect: it is of another layout.
    """
    try:
        if record.lstrip()[:1] != b"[":
            event = _decode_event(record)
            if not _is_event(event):
                raise NotThisDialect
            return event
        items = _decode_array(record)
        name = value_of(items[0]) if len(items) > 1 else None
        if not isinstance(name, str) or not name.startswith(_CALL):
            raise NotThisDialect
        if name.startswith(_CALL + "events") and bytes(items[1])[:1] == b"{":
            event = _decode_event(items[1])
            if _is_event(event):
                return event
        return ClientCall(name == _CALL + "create", value_of(items[1]))
    except (msgspec.ValidationError, RecursionError, UnicodeError):
        raise NotThisDialect from None


def _is_event(event: SessionEvent) -> bool:
    return isinstance(event.id, str) and event.id.startswith(_EVENT_ID)
