"""How the things that stand in a trace begin: what a line's first bytes tell.

Every pattern is linear in what it reads, whatever the bytes.
"""

from __future__ import annotations

import re

import msgspec

from lastsignal.core.framing.nesting import passer

BRACE, BRACE_END, BRACKET, BRACKET_END = b"{}[]"

is_utf16 = re.compile(rb"\xff\xfe|\xfe\xff|[{\[]\0[^\0]\0|\0[{\[]\0[^\0]").match
"""A source's first bytes: a byte order mark, or a JSON text without one."""

pass_between_values = passer(rb"[\s\0,\]\x1e]*")
"""Also over the commas and the closing bracket of an array that was taken for lines, and over what
parts the texts of a JSON sequence (RFC 7464)."""
pass_between_elements = passer(rb"[\s,]*")

is_object = re.compile(rb'\{\s*(?:["}]|\Z)').match
find_object = re.compile(rb'\{\s*(?:"|\Z)').search
"""Behind a log prefix, where `{}` is more often a part of the text."""

is_document = re.compile(rb"\[\s{0,64}[{\[]").match
"""An array whose elements are the records; told within 66 bytes, so that it can be streamed."""
is_document_line = re.compile(rb"\[\s*\Z").match
is_array = re.compile(rb'\[\s*(?:"|(?:-?\d[\d.eE+-]*|true|false|null)\s*,)').match
"""An array that is one record: its first element is a scalar."""
is_bracketed_text = re.compile(rb'\[[^\[\]{}"]*\]').match
"""A log prefix such as `[2026-01-01 12:00:00]`, or an array without any object."""

# Tabs and line ends are text, and escape begins a colour.
_CONTROL = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r\x1b"))


def is_json(text: bytes) -> bool:
    """Is it a number, a string, a word or an array of those, perhaps out of a longer array?"""
    try:
        msgspec.json.decode(text.rstrip(b" \t\r\f\v,"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def is_binary(text: bytes) -> bool:
    """Does it hold NULs, or so many control characters that it is no text?"""
    return b"\0" in text or len(text) > 1.1 * len(text.translate(None, _CONTROL))
