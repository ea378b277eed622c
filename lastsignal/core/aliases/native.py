"""The published trace schema, decoded straight into Events: the fast path.

A record with exact names and types needs one pass of the decoder. Whatever is not exact (aliases, ISO
times, numbers in strings, unknown words) is left to `flat`, which knows every alias.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases import flat
from lastsignal.core.aliases.contract import Decoded, Dialect
from lastsignal.core.events import EVENT_TYPES, Event
from lastsignal.core.timestamps import parse_timestamp

_EMPTY = msgspec.Raw(b"")
_NEEDS_OPERATION = frozenset({"tool_call", "tool_result", "retry"})


class _Record(Event, kw_only=True, gc=False, rename=None):
    metadata: msgspec.Raw = _EMPTY  # type: ignore[assignment]  # parsed only when a rule asks


_decode = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A JSON object whose event_type is one of ours."""
    return isinstance(value, dict) and value.get("event_type") in EVENT_TYPES


class NativeDecoder:
    """Decodes native records; asks `flat` for the inexact ones."""

    state = None

    def __init__(self, source: str) -> None:
        self._flat = flat.FlatDecoder(source)

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        try:
            event: Event = _decode(record)
        except (msgspec.ValidationError, UnicodeDecodeError):
            return self._flat.decode(record)
        timestamp = event.timestamp
        if not 631152000.0 <= timestamp <= 4102444800.0:
            parsed = parse_timestamp(timestamp)
            if parsed is None:
                return self._flat.decode(record)
            event.timestamp = parsed
        if event.operation is None and event.event_type in _NEEDS_OPERATION:
            return self._flat.decode(record)
        if event.status is None or (event.status == "failed" and event.error_message is None):
            return self._flat.decode(record)
        return [event]


DIALECT = Dialect(
    name="native",
    framework="native",
    recognise=recognise,
    decoder=NativeDecoder,
    description="Last Signal's own trace schema: one object a line with event_type and trace_id",
)
