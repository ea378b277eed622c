"""JSON as real programs write it: strict first, then with the forgivable faults mended."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def value_of(raw: bytes | msgspec.Raw) -> Any:
    """Return what an undecoded field holds; None for one that is absent or damaged."""
    if not bytes(raw):
        return None
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def decode_leniently(data: bytes) -> tuple[Any, bytes]:
    """Return a record's value, and bytes that a strict decoder takes.

    Mended: invalid UTF-8 (replaced), NaN and Infinity (Python's own `json.dumps` writes them) and
    numbers beyond a double: these become null, for no rule may compare with them.

    Raises:
        ValueError: its text is the reason to count: `invalid_json`, `nested_too_deeply`, `blank`.
    """
    try:
        return _decode(data), data
    except RecursionError:
        raise ValueError("nested_too_deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    if not data.strip(b" \t\r\n\0"):
        raise ValueError("blank")
    try:
        value = json.loads(
            data.strip(b"\0 \t\r\n").decode("utf-8", "replace"),
            parse_constant=lambda _: None,
            parse_float=_finite,
        )
        return value, _encode(value)
    except RecursionError:
        raise ValueError("nested_too_deeply") from None
    except (ValueError, msgspec.MsgspecError, OverflowError):
        raise ValueError("invalid_json") from None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if abs(value) != float("inf") else None
