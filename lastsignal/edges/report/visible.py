"""Text out of traces, made safe to show: no control character survives, nothing grows unbounded.

Traces are written by programs that repeat what strangers say. What one format treats as special
(pipes, angle brackets) is that format's own care; this is what none should ever let through.
"""

from __future__ import annotations

import json
import re

from rich.cells import cell_len

ELLIPSIS = "…"
_BEGINNING = 40  # characters by which a long text is known

# Controls (C0, DEL, C1), invisible characters that reorder or hide text, and what is no character.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return the text on one line, with every control character written out: `\\x1b`, `\\u202e`."""
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    """Return the text with its spaces as they are: for paths, which are there to be copied."""
    return _HIDDEN.sub(_escape, text)


def shorten(text: str, cells: int, tail_share: float = 0.3) -> str:
    """Return the text within so many terminal cells, shortened in the middle.

    Args:
        text: on one line.
        cells: what there is room for.
        tail_share: how much of the room the end gets; prose says most at its beginning.
    """
    if len(text) <= cells // 2 or cell_len(text) <= cells:
        return text
    if cells < 3:
        return ELLIPSIS[:cells]
    tail = int((cells - 1) * tail_share)
    return _head(text, cells - 1 - tail) + ELLIPSIS + _head(text[::-1], tail)[::-1]


def focused(text: str, cells: int, focus: str) -> str:
    """Return the text within so many cells, cut so that the part that matters stays in view."""
    at = _place(text, focus)
    if at < 0 or cells < 12 or cell_len(text) <= cells:
        return shorten(text, cells, tail_share=0.5)
    before = max(0, cells - 2 - cell_len(focus)) * 2 // 3
    start = text[:at][::-1]
    lead = start if cell_len(start) <= before else _head(start, before) + ELLIPSIS
    shown = lead[::-1]
    rest = cells - cell_len(shown)
    if cell_len(text[at:]) <= rest:  # room is left at the end: use it at the beginning
        return ELLIPSIS + _head(text[::-1], cells - 1)[::-1]
    return shown + _head(text[at:], rest - 1) + ELLIPSIS


def _place(text: str, focus: str) -> int:
    """Return where the focus, as it is or as JSON writes it, stands in the text; -1 if nowhere.

    The text may itself have been cut within a long one: its beginning is enough.
    """
    for written in (focus, json.dumps(focus)[1:-1], json.dumps(focus, ensure_ascii=False)[1:-1]):
        at = text.find(written[:_BEGINNING]) if written else -1
        if at >= 0:
            return at
    return -1


def encodable(text: str) -> str:
    """Return the text with what UTF-8 cannot hold (bytes of odd file names) written as `\\xff`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _head(text: str, cells: int) -> str:
    if text.isascii():
        return text[:cells]
    used = 0
    for index, character in enumerate(text):
        used += cell_len(character)
        if used > cells:
            return text[:index]
    return text
