"""Values → JSON text that is the same on every run, and safe wherever it is shown or split."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.edges.report.visible import encodable

_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029]")


def encode(value: Any) -> str:
    """Return JSON on one line, in which nothing ends a line or drives a terminal."""
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a file name that is no UTF-8, rare enough to go over all again
        text = msgspec.json.encode(_encodable(msgspec.to_builtins(value))).decode()
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def indented(text: str) -> str:
    """Return JSON over lines, as a person reads it."""
    return msgspec.json.format(text, indent=2) + "\n"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(name): _encodable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    return value
