"""Attributes in the three spellings that exist, of which only the named keys are decoded.

A span's attributes hold whole conversations; what no rule reads stays bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.otel.spans import SpanEvent

_MAX_VALUE = 262_144  # bytes; a longer value is payload, whatever its key
_MAX_DEPTH = 6
_NOTHING: frozenset[str] = frozenset()

_decode_mapping = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class _Event(msgspec.Struct):
    name: Any = None
    attributes: msgspec.Raw = msgspec.Raw(b"")


_decode_events = msgspec.json.Decoder(list[_Event]).decode


class _KeyValue(msgspec.Struct):
    key: str = ""
    value: msgspec.Raw = msgspec.Raw(b"")


_decode_pairs = msgspec.json.Decoder(list[_KeyValue]).decode


def read_attributes(raw: bytes | msgspec.Raw, wanted: frozenset[str]) -> dict[str, Any]:
    """Read `{key: value}` (SDK) or `[{key, value: {stringValue: …}}]` (OTLP)."""
    return _read(raw, wanted, any_value)


def read_tags(raw: bytes | msgspec.Raw, wanted: frozenset[str]) -> dict[str, Any]:
    """Read `[{key, type, value}]` (Jaeger)."""
    return _read(raw, wanted, None)


def read_events(
    raw: bytes | msgspec.Raw, wanted: Mapping[str, frozenset[str]]
) -> tuple[SpanEvent, ...]:
    """Read a span's events (SDK and OTLP): of each, the attributes wanted for its name."""
    if len(raw) < 3:  # absent, or an empty list
        return ()
    try:
        events = _decode_events(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ()
    return tuple(
        SpanEvent(event.name, read_attributes(event.attributes, wanted.get(event.name, _NOTHING)))
        for event in events
        if isinstance(event.name, str)
    )


def _read(
    raw: bytes | msgspec.Raw, wanted: frozenset[str], unwrap: Callable[[Any], Any] | None
) -> dict[str, Any]:
    if not wanted:
        return {}
    head = first_byte(raw)
    pairs: Iterable[tuple[str, msgspec.Raw]] = ()
    try:
        if head == b"{":
            pairs, unwrap = _decode_mapping(raw).items(), None
        elif head == b"[":
            pairs = [(pair.key, pair.value) for pair in _decode_pairs(raw)]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}
    found: dict[str, Any] = {}
    for key, part in pairs:
        if key in wanted and len(part) <= _MAX_VALUE:
            value = value_of(part)
            if unwrap is not None:
                value = unwrap(value)
            if value is not None:
                found[key] = value
    return found


def first_byte(raw: bytes | msgspec.Raw) -> bytes:
    """Return the first byte of an undecoded value without a copy of the rest; none of none."""
    return bytes(memoryview(raw)[:1])


def any_value(value: Any, depth: int = 0) -> Any:
    """Return what an OTLP AnyValue holds; camelCase and snake_case, integers also as digits."""
    if not isinstance(value, dict) or len(value) != 1 or depth > _MAX_DEPTH:
        return None
    name, inner = next(iter(value.items()))
    if name == "stringValue":  # nearly all of them
        return inner
    name = name.replace("_", "").lower()
    if name == "intvalue" and isinstance(inner, str):
        digits = inner.removeprefix("-")
        return int(inner) if digits.isdecimal() and len(digits) < 20 else None
    if name in ("stringvalue", "intvalue", "doublevalue", "boolvalue"):
        return inner
    items = inner.get("values") if isinstance(inner, dict) else None
    if not isinstance(items, list):
        return None
    if name == "arrayvalue":
        return [any_value(item, depth + 1) for item in items]
    if name == "kvlistvalue":
        return {
            str(item.get("key")): any_value(item.get("value"), depth + 1)
            for item in items
            if isinstance(item, dict)
        }
    return None
