"""The lines of one source → records: what each begins, goes on with, ends or leaves torn."""

from __future__ import annotations

import copy
from collections.abc import Callable

from lastsignal.core.framing.checkpoint import Checkpoint, Overlong
from lastsignal.core.framing.grammar import (
    BRACE,
    BRACE_END,
    BRACKET,
    BRACKET_END,
    find_object,
    is_array,
    is_binary,
    is_bracketed_text,
    is_document,
    is_document_line,
    is_json,
    is_object,
    pass_between_elements,
    pass_between_values,
)
from lastsignal.core.framing.nesting import USED_UP
from lastsignal.core.framing.records import Record
from lastsignal.core.framing.skips import SAMPLE_BYTES, Skips
from lastsignal.core.framing.value import TORN, OpenValue


class Cutter:
    """Cuts slices, none longer than the limit, so that a line within a slice needs no measuring.

    Between two slices it holds one of these: the tail of a line (of which nothing is decided), an
    open value, an array between two elements, or a line that is too long.
    """

    def __init__(self, limit: int, resume: Checkpoint, skips: Skips | None = None) -> None:
        self.records: list[Record] = []
        self.skips = Skips() if skips is None else skips
        self.position = resume.offset
        self._limit = limit
        self._line = resume.line
        self._nul_line = resume.nul_line
        self._in_array = resume.in_array
        self._value = copy.deepcopy(resume.value)
        self._overlong = resume.overlong
        self._tail = bytearray()  # of a line that has not ended, from its first byte that counts
        self._tail_offset = 0
        self._line_end = -1  # of the line at hand, without white space; -1 while not looked for
        self._ended = False

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the rest of their record."""
        open_value = len(self._value.kept) if self._value else 0
        return len(self._tail) + open_value

    @property
    def held(self) -> bytes:
        """What waits for its end, from `held_from` on; nothing of what is too long."""
        return bytes(self._value.kept) if self._value else bytes(self._tail)

    @property
    def held_from(self) -> int:
        """Where what waits for its end begins."""
        begun = self._overlong or self._value
        if begun is not None:
            return begun.offset
        return self._tail_offset if self._tail else self.position

    @property
    def is_between_lines(self) -> bool:
        """Whether nothing goes on from one line to the next."""
        return not (self._tail or self._in_array or self._value or self._overlong)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is held that a later line could go on with."""
        return self.is_between_lines

    @property
    def innermost(self) -> bytes:
        """What waits for its end, as whoever wrote it first has written it."""
        return self.held

    def manner(self) -> Checkpoint:
        """Return how its lines are wrapped, as far as that was found; no place."""
        return Checkpoint()

    def checkpoint(self) -> Checkpoint:
        """Return where another cutter can go on: before the bytes that wait for their end."""
        offset, line, value = self.position, self._line, self._value
        if self._tail:
            offset = self._tail_offset
        elif value is not None and not value.too_long:
            offset, line, value = value.offset, value.line, None
        return Checkpoint(
            offset=offset,
            line=line,
            in_array=self._in_array,
            nul_line=self._nul_line,
            overlong=self._overlong,
            value=copy.deepcopy(value),
        )

    def finish(self) -> None:
        """Use what waits for its end: none will come."""
        self._ended = True
        if self._overlong:
            self._end_overlong(self._overlong)
        if self._tail:
            self._take(self._drain_tail(), self._tail_offset, True)
        while (value := self._value) is not None:
            if not value.at_line_start:
                value.end_line(self._line)
            self._tear(value)

    def take_whole_tail(self) -> None:
        """Use the line that waits for its end if it is one whole object: nothing can belong to it.

        What still comes of the line counts as its rest, so that offsets and lines go on.
        """
        tail = self._tail
        if tail and not self._overlong and tail[0] == BRACE and is_json(bytes(tail)):
            self._emit(self._drain_tail().rstrip(), self._tail_offset, self._line)

    def cut(self, data: bytes) -> None:
        """Use a slice: the common record, one line with one object, costs no call."""
        pieces = data.split(b"\n")
        last = pieces.pop()
        position, line = self.position, self._line
        emit = self._taker_of_objects()
        plain = self.is_between_lines
        lines = iter(pieces)
        for piece in lines:
            if plain and piece and piece[0] == BRACE and piece[-1] == BRACE_END:
                emit((piece, position, line))
            elif plain and piece.startswith(b"{") and piece.endswith(b"}\r"):
                emit((piece[:-1], position, line))
            elif plain and piece and self._is_taken_as_dated(piece, position, line):
                pass
            else:
                if self._value is not None and self._value.is_settled:
                    untaken, taken, count = self._value.take_lines(piece, lines)
                    position += taken
                    line += count
                    if untaken is None:
                        break
                    piece = untaken
                self._line = line
                self._take(piece, position, True)
                plain = self.is_between_lines
            position += len(piece) + 1
            line += 1
        self._line = line
        if last:
            self._take(last, position, False)
        self.position = position + len(last)

    def _taker_of_objects(self) -> Callable[[Record], None]:
        """Return what takes an object that is a line of its own."""
        return self.records.append

    def _take(self, piece: bytes, base: int, complete: bool) -> None:
        """Use one line, or as much of it as has arrived."""
        if self._tail:
            piece, base = self._join_tail(piece, complete)
        if self._overlong:
            piece = b""
        position = 0
        self._line_end = -1
        while 0 <= position < len(piece):
            if self._value is not None:
                position = self._go_on_with(self._value, piece, position)
            elif self._in_array:
                position = self._between_elements(piece, position, base)
            elif complete:
                position = self._between_values(piece, position, base)
            else:
                position = self._keep_tail(piece, position, base)
        if complete:
            self._end_line()

    def _end_line(self) -> None:
        if self._overlong:
            self._end_overlong(self._overlong)
        elif self._value is not None and not self._value.end_line(self._line):
            self._tear(self._value)
        self._line += 1

    def _end_overlong(self, line: Overlong) -> None:
        self.skips.add("record_too_long", line.line, line.offset, line.head)
        self._overlong = None

    def _join_tail(self, piece: bytes, complete: bool) -> tuple[bytes, int]:
        """Return the line so far and its offset; nothing while it is to wait for its end."""
        self._tail += piece
        offset = self._tail_offset
        if self._tail[0] == BRACKET and is_document(self._tail):
            return self._drain_tail(), offset
        if len(self._tail) > self._limit:
            self._overlong = Overlong(offset, self._line, bytes(self._tail[:SAMPLE_BYTES]))
            self._tail = bytearray()
        return (self._drain_tail() if complete else b""), offset

    def _drain_tail(self) -> bytes:
        data, self._tail = bytes(self._tail), bytearray()
        return data

    def _keep_tail(self, piece: bytes, position: int, base: int) -> int:
        start = self._pass_separators(piece, position, base)
        if is_document(piece, start):
            self._in_array = True
            return start + 1
        if start < len(piece):
            self._tail += piece[start:]
            self._tail_offset = base + start
        return USED_UP

    def _between_values(self, piece: bytes, position: int, base: int) -> int:
        """Find what begins next on this whole line; return its index, or USED_UP."""
        start = self._pass_separators(piece, position, base)
        if start == len(piece):
            return USED_UP
        if start == position == 0 and self._is_taken_as_dated(piece, base, self._line):
            return USED_UP
        if piece[start] == BRACE and (is_object(piece, start) or self._ends_with(BRACE_END, piece)):
            return self._begin_value(piece, start, base)
        if piece[start] == BRACKET:
            if is_document(piece, start) or is_document_line(piece, start):
                self._in_array = True
                return start + 1
            if is_array(piece, start) and not is_bracketed_text(piece, start):
                return self._begin_value(piece, start, base)
        return self._pass_text(piece, start, base)

    def _pass_separators(self, piece: bytes, position: int, base: int) -> int:
        start = pass_between_values(piece, position).end()
        nul = piece.find(b"\0", position, start)
        if nul >= 0 and self._nul_line != self._line:  # a crash: blocks allocated, never written
            self._nul_line = self._line
            self.skips.add("nul_block", self._line, base + nul, b"")
        return start

    def _pass_text(self, piece: bytes, start: int, base: int) -> int:
        """Pass over a log prefix to the object behind it; count text that has none."""
        found = find_object(piece, start)
        text = piece[start : found.start()] if found else piece[start:]
        if is_binary(text):
            reason = "binary"
        elif found:
            return self._begin_value(piece, found.start(), base)
        else:
            reason = "not_an_object" if is_json(text) else "not_json"
        self.skips.add(reason, self._line, base + start, piece[start : start + SAMPLE_BYTES])
        return USED_UP

    def _begin_value(self, piece: bytes, start: int, base: int) -> int:
        """Take the rest of the line for one record if its two ends say so: decoders judge later."""
        end = BRACE_END if piece[start] == BRACE else BRACKET_END
        if self._ended or not self._ends_with(end, piece):  # the last line may be torn anywhere
            return self._open(start, base)
        self._emit(piece[start : self._line_end], base + start, self._line)
        return USED_UP

    def _ends_with(self, byte: int, line: bytes) -> bool:
        if self._line_end < 0:  # once a line: it may hold very many values
            self._line_end = len(line.rstrip())
        return line[self._line_end - 1] == byte

    def _open(self, start: int, base: int) -> int:
        self._value = OpenValue(base + start, self._line, self._limit)
        return start

    def _between_elements(self, piece: bytes, position: int, base: int) -> int:
        start = pass_between_elements(piece, position).end()
        if start == len(piece):
            return USED_UP
        if piece[start] in b"{[":
            return self._open(start, base)
        self._in_array = False  # its end; or text, after which a line's rules hold again
        return start

    def _go_on_with(self, value: OpenValue, piece: bytes, position: int) -> int:
        end = value.take(piece, position)
        if end == TORN:
            self._tear(value)
            return position
        if end != USED_UP:
            self._value = None
            if value.too_long:
                self.skips.add("record_too_long", value.line, value.offset, value.sample)
            else:
                self._emit(bytes(value.kept), value.offset, value.line)
        return end

    def _tear(self, value: OpenValue) -> None:
        """Give up a value that never ends; its second line may be a line of its own."""
        self._value, self._in_array = None, False
        reason = "record_too_long" if value.too_long else "torn_line"
        self.skips.add(reason, value.line, value.offset, value.sample)
        second = value.second_line()
        if second is not None:
            here = self._line
            data, offset, self._line = second
            self._take(data, offset, True)
            self._line, self._line_end = here, -1

    def _emit(self, data: bytes, offset: int, line: int) -> None:
        if data[0] == BRACKET and b"{" not in data:
            self.skips.add("not_an_object", line, offset, data)
        else:
            self._taker_of_objects()((data, offset, line))

    def _is_taken_as_dated(self, piece: bytes, base: int, line: int) -> bool:
        """Take a whole line that somebody has wrapped behind its time; False for any other."""
        return False
