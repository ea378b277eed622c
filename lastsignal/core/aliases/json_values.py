"""JSON as real programs write it: strict first, then with the forgivable faults mended."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode

_AROUND = b" \t\r\n\0"

# What a strict decoder refuses outside strings; and every string, since these words stand in texts.
_TOKEN = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"?'  # one without an end too: else each quote in it is tried
    rb"|//[^\n]*"
    rb"|NaN|-?Infinity"
    rb"|-?\d+(?:\.\d+)?[eE][+-]?\d+"
    rb"|-?\d{300,}(?:\.\d+)?",
    re.DOTALL,
)
_ESCAPE = re.compile(
    rb"(\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})"  # a whole pair
    rb"|\\u[dD][89a-fA-F][\da-fA-F]{2}"
    rb"|(\\.)",
    re.DOTALL,
)


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

    Mended, with everything left in its place: invalid UTF-8 and halves of surrogate pairs, which a
    text that is cut in the middle of an emoji leaves (replaced), NaN and Infinity (Python's own
    `json.dumps` writes them) and numbers beyond a double: no rule may compare with these; comments.

    Raises:
        ValueError: its text is the reason to count: `invalid_json`, `nested_too_deeply`, `blank`.
    """
    try:
        return _decode(data), data
    except RecursionError:
        raise ValueError("nested_too_deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    if not data.strip(_AROUND):
        raise ValueError("blank")
    mended = _mend(data)
    try:
        return _decode(mended), mended
    except RecursionError:
        raise ValueError("nested_too_deeply") from None
    except msgspec.MsgspecError:
        raise ValueError("invalid_json") from None


def fault_in(data: bytes) -> str:
    """Return what had to be mended in a record: the reason to count."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "invalid_utf8"
    return "nonstandard_json"


def _mend(data: bytes) -> bytes:
    """Replace what a strict decoder refuses by as many bytes that it takes."""
    try:
        data.decode()
        text = data
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape").encode("utf-8", "replace")  # ? for each byte
    body = text.lstrip(_AROUND)
    text = body.rjust(len(text)).rstrip(_AROUND).ljust(len(text))
    return _TOKEN.sub(_mended_token, text)


def _mended_token(found: re.Match[bytes]) -> bytes:
    token = found[0]
    if token[:1] == b'"':
        return _ESCAPE.sub(_mended_escape, token) if b"\\u" in token else token
    if token[:1] == b"/":  # a comment: people annotate what they paste
        return b" " * len(token)
    if token == b"NaN":
        return b'"" '
    if token[-1:] == b"y" or len(token) >= 300 or abs(float(token)) == float("inf"):
        return b"null".ljust(len(token))
    return token


def _mended_escape(found: re.Match[bytes]) -> bytes:
    return found[0] if found[1] or found[2] else b"\\ufffd"
