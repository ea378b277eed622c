"""An object or array whose end has not arrived: how deep it is, and whether it still can be JSON.

Nothing here recurses and every byte is looked at once, whatever the nesting and the chunking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from lastsignal.core.framing.skips import SAMPLE_BYTES

USED_UP = -1
"""The piece belongs to the value, which goes on after it."""

TORN = -2
"""The line that begins here cannot go on with the value: its writer died, and another began."""

# Bounds what the regex engine remembers of the strings and escapes that one match passes.
_WINDOW = 65536

_OPENING, _CLOSING = b"{[", b"}]"
_QUOTE, _BACKSLASH, _BRACE = b'"\\{'

# What the end of a printed line does to the depth.
_STEPS = {b"{": 1, b"[": 1, b"}": -1, b"},": -1, b"]": -1, b"],": -1, b"{}": 0, b"{},": 0}
_STEPS |= {b"[]": 0, b"[],": 0}


def passer(pattern: bytes) -> Callable[..., re.Match[bytes]]:
    """Compile a pattern that always matches, if only nothing: its match needs no test."""
    return re.compile(pattern, re.DOTALL).match  # type: ignore[return-value]  # always matches


# Up to the next bracket, over whole strings; stops before a string that the window cuts.
_pass_flat = passer(rb'[^"{}\[\]]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"{}\[\]]*)*')
_pass_text = passer(rb'[^"\\]*(?:\\.[^"\\]*)*')
_pass_blank = passer(rb"\s*")


def _may_follow(last: int) -> bytes:
    if last == _BRACE:
        return b'"}'
    if last in b"[,:":  # a comma before a closing bracket is for the decoder to refuse
        return b'"{[]}-0123456789tfnNI'
    return b",]}:"


# By the last byte of a line, outside strings: what the next line may begin with.
_MAY_FOLLOW = tuple(_may_follow(last) for last in range(256))


class OpenValue(msgspec.Struct):
    """Takes the value's bytes as they come, and keeps them while they are few enough.

    A line break inside a string, or a line that JSON does not allow after the one before, shows a
    torn value. Where the torn line ends in `:`, `[` or `,` its successor looks like a part of it:
    the second line is therefore kept in mind, as a line of its own, until the third agrees.
    """

    offset: int
    line: int
    limit: int
    size: int = 0
    """Bytes of the value so far, also those no longer kept."""
    head: bytes = b""
    """The first bytes of a value that has outgrown the limit: the rest is not kept."""
    depth: int = 0
    in_string: bool = False
    escaped: bool = False
    last: int = 0
    at_line_start: bool = False
    kept: bytearray = msgspec.field(default_factory=bytearray)
    lines_begun: int = 1
    second_start: int = -1
    """Where in `kept` a second line that may stand for itself begins; -1 where there is none."""
    second_end: int = -1
    second_depth: int = 0
    second_line_number: int = 0

    @property
    def too_long(self) -> bool:
        """Has the value outgrown the limit, so that only its end is looked for?"""
        return self.size > self.limit

    @property
    def sample(self) -> bytes:
        """The first bytes of the value."""
        return self.head or bytes(self.kept[:SAMPLE_BYTES])

    def take(self, piece: bytes, position: int) -> int:
        """Go on with a piece of one line; return the index after the value's end.

        Returns:
            USED_UP, or TORN: then nothing of the piece was taken.
        """
        if self.at_line_start:
            first = _pass_blank(piece, position).end()
            if first < len(piece):
                if piece[first] not in _MAY_FOLLOW[self.last]:
                    self._keep(piece[position:first])
                    return TORN
                self._begin_line(first - position)
        end = self.find_end(piece, position)
        self._keep(piece[position:] if end < 0 else piece[position:end])
        return end

    @property
    def is_settled(self) -> bool:
        """Does a line begin here, and is it plain that the value is printed over many lines?"""
        is_printed = self.lines_begun == 1 and self.last == _BRACE
        return self.at_line_start and (self.lines_begun > 2 or is_printed)

    def take_lines(self, line: bytes, following: Iterator[bytes]) -> tuple[bytes | None, int, int]:
        """Go on with whole lines while each is flat, or opens or closes one thing at its end.

        This is what nearly all printed lines are, and much cheaper than `take`. Only when settled.

        Returns:
            The line that needs `take` (None: there are no more), how many bytes and how many lines
            were taken before it.
        """
        taken: list[bytes] = []
        last, depth = self.last, self.depth
        rest: bytes | None = line
        while rest is not None and len(rest) < _WINDOW:
            content = rest.strip()
            if content:
                if content[0] not in _MAY_FOLLOW[last]:
                    break
                end = _pass_flat(content).end()
                if end < len(content):
                    step = _STEPS.get(content[end:])
                    if step is None or depth + step <= 0:
                        break
                    depth += step
                last = content[-1]
            taken.append(rest)
            rest = next(following, None)
        if not taken:
            return rest, 0, 0
        self.last, self.depth, self.lines_begun = last, depth, 3
        taken.append(b"")
        data = b"\n".join(taken)
        self._keep(data)
        return rest, len(data), len(taken) - 1

    def end_line(self, line: int) -> bool:
        """Go on over the line break that ends `line`; False if that shows a torn value."""
        if self.in_string:
            return False
        if self.second_start >= 0 and self.second_end < 0:
            if self.depth == self.second_depth:
                self.second_end, self.second_line_number = len(self.kept), line
            else:
                self.second_start = -1
        self._keep(b"\n")
        self.at_line_start = True
        return True

    def second_line(self) -> tuple[bytes, int, int] | None:
        """Return the second line (bytes, offset, line) if it may be one of its own."""
        if self.second_end < 0 or self.too_long:
            return None
        data = bytes(self.kept[self.second_start : self.second_end])
        return data, self.offset + self.second_start, self.second_line_number

    def _begin_line(self, indentation: int) -> None:
        self.at_line_start = False
        self.lines_begun += 1
        if self.lines_begun == 2 and self.last in b"[,:" and not self.head:
            self.second_start, self.second_depth = len(self.kept) + indentation, self.depth
        elif self.lines_begun == 3:
            self.second_start = self.second_end = -1

    def find_end(self, piece: bytes, position: int) -> int:
        """Return the index after the value's end, or USED_UP; keeps nothing of the piece."""
        end = len(piece)
        depth = self.depth
        if self.in_string:
            position = self._leave_string(piece, position)
        while 0 <= position < end:
            position = _pass_flat(piece, position, min(position + _WINDOW, end)).end()
            if position >= end:
                break
            byte = piece[position]
            if byte in _OPENING:
                depth += 1
                position += 1
            elif byte in _CLOSING:
                depth -= 1
                position += 1
                if depth <= 0:
                    self.depth = 0
                    return position
            elif byte == _QUOTE:
                position = self._leave_string(piece, position + 1)
        self.depth = depth
        stripped = piece.rstrip()
        if stripped and not self.in_string:
            self.last = stripped[-1]
        return USED_UP

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

    def _keep(self, data: bytes) -> None:
        self.size += len(data)
        if self.head:
            return
        self.kept += data
        if self.size > self.limit:
            self.head = bytes(self.kept[:SAMPLE_BYTES])
            self.kept = bytearray()
