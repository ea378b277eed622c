"""MessagePack of what is kept: of whatever a record may have held, also of numbers that only JSON
can write."""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.msgpack.Encoder().encode
_LEAST, _MOST = -(2**63), 2**64 - 1


def pack(value: object) -> bytes:
    """Return a value as MessagePack; integers that do not fit in it become the nearest that do."""
    try:
        return _encode(value)
    except OverflowError:
        return _encode(_fitting(msgspec.to_builtins(value, builtin_types=(bytes,))))


def _fitting(value: Any) -> Any:
    if isinstance(value, dict):
        return {_fitting(key): _fitting(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_fitting(inner) for inner in value]
    return min(max(value, _LEAST), _MOST) if type(value) is int else value
