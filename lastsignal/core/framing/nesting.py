"""How deep in a JSON value the bytes stand, and whether what comes next can belong to it.

Nothing here recurses and every byte is looked at once, whatever the nesting and the chunking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

USED_UP = -1
"""The value goes on after the piece."""

# Bounds what the regex engine remembers of the strings and escapes that one match passes.
_WINDOW = 65536

# The levels known to be object or array: hardly a printed trace is deeper, and memory is bounded.
_KNOWN_LEVELS = 64

_OPENING, _CLOSING = b"{[", b"}]"
_QUOTE, _BACKSLASH, _BRACE, _COMMA = b'"\\{,'
_COMMA_OF_OBJECT = 0  # stands for a comma at a line's end where a name must follow

# What the end of a printed line does to the depth.
_STEPS = {b"}": -1, b"},": -1, b"]": -1, b"],": -1, b"{}": 0, b"{},": 0, b"[]": 0, b"[],": 0}


def passer(pattern: bytes) -> Callable[..., re.Match[bytes]]:
    """Compile a pattern that always matches, if only nothing: its match needs no test."""
    return re.compile(pattern, re.DOTALL).match  # type: ignore[return-value]  # always matches


# Up to the next bracket, over whole strings; stops before a string that the window cuts.
_pass_flat = passer(rb'[^"{}\[\]]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"{}\[\]]*)*')
_pass_text = passer(rb'[^"\\]*(?:\\.[^"\\]*)*')


def _may_follow(last: int) -> bytes:
    if last in (_BRACE, _COMMA_OF_OBJECT):  # `,}` is for the decoder to refuse
        return b'"}'
    if last in b"[,:":
        return b'"{[]}-0123456789tfnNI'
    return b",]}:"


_MAY_FOLLOW = tuple(_may_follow(last) for last in range(256))


class Nesting(msgspec.Struct):
    """Where in a value the bytes so far end."""

    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    last: int = 0
    """The last byte that is not white space, while outside strings."""
    levels: bytearray = msgspec.field(default_factory=lambda: bytearray(_KNOWN_LEVELS))
    """The bracket that opened each level, as far as levels are known."""

    def may_go_on_with(self, first: int) -> bool:
        """Does JSON allow a line that begins with this byte after the line before?"""
        return first in _MAY_FOLLOW[self.last]

    @property
    def may_go_on_with_a_value(self) -> bool:
        """Does JSON allow a line that begins a value, as a record's own line does?"""
        return _BRACE in _MAY_FOLLOW[self.last]

    def find_end(self, piece: bytes, position: int) -> int:
        """Return the index after the value's end, or USED_UP."""
        end = len(piece)
        if self.in_string:
            position = self._leave_string(piece, position)
        while 0 <= position < end:
            position = _pass_flat(piece, position, min(position + _WINDOW, end)).end()
            if position >= end:
                break
            byte = piece[position]
            if byte in _OPENING:
                self._enter(byte)
                position += 1
            elif byte in _CLOSING:
                self.depth -= 1
                position += 1
                if self.depth <= 0:
                    return position
            elif byte == _QUOTE:
                position = self._leave_string(piece, position + 1)
        if not self.in_string:
            self._note_last(piece.rstrip())
        return USED_UP

    def pass_lines(
        self, line: bytes, following: Iterator[bytes]
    ) -> tuple[bytes | None, list[bytes]]:
        """Pass whole lines while each is flat, or opens or closes one thing at its end.

        Nearly all printed lines are like this, and cost much less here than by `find_end`.

        Returns:
            The line that needs `find_end` (None: there are no more), and those before it.
        """
        taken: list[bytes] = []
        rest: bytes | None = line
        while rest is not None and len(rest) < _WINDOW:
            content = rest.strip()
            if content:
                if content[0] not in _MAY_FOLLOW[self.last] or not self._pass_line(content):
                    break
                self._note_last(content)
            taken.append(rest)
            rest = next(following, None)
        return rest, taken

    def _pass_line(self, content: bytes) -> bool:
        end = _pass_flat(content).end()
        if end == len(content):
            return True
        if end == len(content) - 1 and content[end] in _OPENING:
            self._enter(content[end])
            return True
        step = _STEPS.get(content[end:])
        if step is None or self.depth + step <= 0:
            return False
        self.depth += step
        return True

    def _enter(self, bracket: int) -> None:
        self.depth += 1
        if self.depth < _KNOWN_LEVELS:
            self.levels[self.depth] = bracket

    def _note_last(self, content: bytes) -> None:
        if content:
            self.last = content[-1]
            if self.last == _COMMA and self.depth < _KNOWN_LEVELS:
                if self.levels[self.depth] == _BRACE:
                    self.last = _COMMA_OF_OBJECT

    def _leave_string(self, piece: bytes, position: int) -> int:
        """Return the index after the string's closing quote, or USED_UP."""
        end = len(piece)
        if self.escaped and position < end:
            position += 1
            self.escaped = False
        while position < end:
            position = _pass_text(piece, position, min(position + _WINDOW, end)).end()
            if position >= end:
                break
            if piece[position] == _QUOTE:
                self.in_string = False
                return position + 1
            if piece[position] == _BACKSLASH:  # the window or the piece parts it from its letter
                position += 2
                self.escaped = position > end
        self.in_string = True
        return USED_UP
