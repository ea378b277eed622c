"""A stable hash of a call's arguments, so that equal calls can be told from different ones."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


def hash_arguments(arguments: object) -> str | None:
    """Return 16 hex digits for the arguments, None where there are none to compare.

    `arguments` may be any JSON value, `msgspec.Raw`, or the JSON text that many frameworks nest in
    a string; key order and white space make no difference.
    """
    if isinstance(arguments, dict):
        return _digest_value(arguments)
    if arguments is None:
        return None
    if isinstance(arguments, str | bytes | msgspec.Raw):
        text = arguments.encode() if isinstance(arguments, str) else bytes(arguments)
        if not text.strip():
            return None
        try:
            arguments = _decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return _digest(text)
    if isinstance(arguments, str):
        return hash_arguments(arguments) if arguments[:1] in "{[" else _digest(arguments.encode())
    return _digest_value(arguments)


def _digest_value(arguments: object) -> str:
    try:
        return _digest(_encode(arguments))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return _digest(repr(arguments).encode())


_EMPTY = blake2b(digest_size=8)


def _digest(data: bytes) -> str:
    digest = _EMPTY.copy()  # cheaper than a new one with the same parameters
    digest.update(data)
    return digest.hexdigest()
