"""An object or array whose end has not arrived."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from lastsignal.core.framing.nesting import USED_UP, Nesting, passer
from lastsignal.core.framing.skips import SAMPLE_BYTES

TORN = -2
"""The line that begins here cannot go on with the value: its writer died, and another began."""

_pass_blank = passer(rb"\s*")
_SLASH = ord("/")


class OpenValue(msgspec.Struct):
    """Takes the value's bytes as they come, and keeps them while they are few enough.

    A line break inside a string, or a line that JSON does not allow after the one before, shows a
    torn value. Where the torn line ends in `:`, `[` or an array's `,` its successor looks like a
    part of it: the second line is therefore kept in mind as one of its own, until the third agrees.
    """

    offset: int
    line: int
    limit: int
    nesting: Nesting = msgspec.field(default_factory=Nesting)
    size: int = 0
    """Bytes of the value so far, also those no longer kept."""
    kept: bytearray = msgspec.field(default_factory=bytearray)
    head: bytes = b""
    """The first bytes of a value that has outgrown the limit: the rest is not kept."""
    at_line_start: bool = False
    in_comment: bool = False
    """In a line that begins with a slash, as no JSON does: people annotate what they print."""
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

    @property
    def is_settled(self) -> bool:
        """Does a line begin here, and is it plain that the value is printed over many lines?"""
        return self.at_line_start and (
            self.lines_begun > 2
            or (self.lines_begun == 1 and not self.nesting.may_go_on_with_a_value)
        )

    def take(self, piece: bytes, position: int) -> int:
        """Go on with a piece of one line; return the index after the value's end.

        Returns:
            USED_UP, or TORN: then nothing of the piece was taken but its indentation.
        """
        if self.at_line_start:
            first = _pass_blank(piece, position).end()
            if first < len(piece):
                if piece[first] == _SLASH:
                    self.at_line_start, self.in_comment = False, True
                elif not self.nesting.may_go_on_with(piece[first]):
                    self._keep(piece[position:first])
                    return TORN
                else:
                    self._begin_line(first - position)
        if self.in_comment:
            self._keep(piece[position:])
            return USED_UP
        end = self.nesting.find_end(piece, position)
        self._keep(piece[position:] if end < 0 else piece[position:end])
        return end

    def take_lines(self, line: bytes, following: Iterator[bytes]) -> tuple[bytes | None, int, int]:
        """Go on with whole lines, as far as that is cheap; only when settled.

        Returns:
            The line that needs `take` (None: there are no more), how many bytes and how many lines
            were taken before it.
        """
        rest, taken = self.nesting.pass_lines(line, following)
        if not taken:
            return rest, 0, 0
        self.lines_begun = 3
        taken.append(b"")
        data = b"\n".join(taken)
        self._keep(data)
        return rest, len(data), len(taken) - 1

    def end_line(self, line: int) -> bool:
        """Go on over the line break that ends `line`; False if that shows a torn value."""
        if self.nesting.in_string:
            return False
        if self.second_start >= 0 and self.second_end < 0:
            if self.nesting.depth == self.second_depth:
                self.second_end, self.second_line_number = len(self.kept), line
            else:
                self.second_start = -1
        self._keep(b"\n")
        self.at_line_start, self.in_comment = True, False
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
        if self.lines_begun == 2 and self.nesting.may_go_on_with_a_value and not self.head:
            self.second_start = len(self.kept) + indentation
            self.second_depth = self.nesting.depth
        elif self.lines_begun == 3:
            self.second_start = self.second_end = -1

    def _keep(self, data: bytes) -> None:
        self.size += len(data)
        if self.head:
            return
        self.kept += data
        if self.size > self.limit:
            self.head = bytes(self.kept[:SAMPLE_BYTES])
            self.kept = bytearray()
