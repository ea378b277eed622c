"""MessagePack of what is kept: of whatever a record may have held, also of numbers that only JSON
can write."""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.msgpack.Encoder().encode
_LEAST, _MOST = -(2**63), 2**64 - 1
_UNTYPED = "metadata"
"""The key of what is nobody's but a record's: what it says is told apart, and never counted."""


def pack(value: object) -> bytes:
    """Return a value as MessagePack; integers that do not fit in it become the nearest that do,
    in an event's metadata their digits."""
    try:
        return _encode(value)
    except OverflowError:
        return _encode(_fitting(msgspec.to_builtins(value, builtin_types=(bytes,))))


def keepable(value: Any) -> Any:
    """Return a value of a record as it can be kept: integers that do not fit become their digits.

    What a rule tells groups and things apart by must be the same before and after a restart.
    """
    if type(value) is int:
        return value if _LEAST <= value <= _MOST else str(value)
    if isinstance(value, dict):
        return {key: keepable(inner) for key, inner in value.items()}
    return [keepable(inner) for inner in value] if isinstance(value, list) else value


def _fitting(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            _fitting(key): keepable(inner) if key == _UNTYPED else _fitting(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_fitting(inner) for inner in value]
    return min(max(value, _LEAST), _MOST) if type(value) is int else value
