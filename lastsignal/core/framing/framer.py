"""Cuts a stream of bytes into records, each with its byte offset and its 1-based line.

Recognised from the bytes: one object or array a line, also behind a log prefix; pretty-printed
values one after another; one whole document, of which an array's elements are the records. How the
bytes are cut into chunks never matters, and no more than two records of the size limit are held.
"""

from __future__ import annotations

import copy

from lastsignal.core.framing.checkpoint import Checkpoint, Overlong
from lastsignal.core.framing.grammar import (
    BRACE,
    BRACE_END,
    BRACKET,
    find_object,
    is_array,
    is_binary,
    is_bracketed_text,
    is_document,
    is_document_line,
    is_json,
    is_object,
    is_utf16,
    is_whole_record,
    pass_between_elements,
    pass_between_values,
)
from lastsignal.core.framing.skips import SAMPLE_BYTES, Skip, Skips
from lastsignal.core.framing.value import TORN, USED_UP, OpenValue

Record = tuple[bytes, int, int]
"""(bytes, byte offset, 1-based line) of one record."""

DEFAULT_MAX_RECORD_BYTES = 32 * 1024 * 1024
_LEAST_MAX_RECORD_BYTES = 128  # what stands at a line's start is told within 128 bytes

_HEAD_BYTES = 4
_BOM = b"\xef\xbb\xbf"

_START = Checkpoint()


class Framer:
    """Cuts the chunks of one source into records.

    Args:
        max_record_bytes: a longer line, object or element is skipped to its end and counted as
            `record_too_long`.
        resume: where an earlier framer of this source stood.
    """

    def __init__(
        self, max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES, resume: Checkpoint = _START
    ) -> None:
        if max_record_bytes < _LEAST_MAX_RECORD_BYTES:
            raise ValueError(f"max_record_bytes must be at least {_LEAST_MAX_RECORD_BYTES}")
        self._limit = max_record_bytes
        self._skips = Skips()
        self._records: list[Record] = []
        self._position = resume.offset
        self._line = resume.line
        self._line_start = resume.line_start
        self._nul_line = resume.nul_line
        self._head: bytes | None = b"" if resume == _START else None
        self._is_utf16 = resume.is_utf16
        self._in_array = resume.in_array
        self._value = copy.copy(resume.value)
        self._overlong = resume.overlong
        self._tail = bytearray()  # of a line that has not ended, from its first byte that counts
        self._tail_offset = 0

    @property
    def skipped(self) -> dict[str, int]:
        """How many pieces could not be used, by reason."""
        return self._skips.counts

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the rest of their record."""
        return len(self._tail) + (len(self._value.kept) if self._value else 0)

    def drain_samples(self) -> list[Skip]:
        """Return a few of the pieces skipped since the last call, for the log."""
        return self._skips.drain()

    def checkpoint(self) -> Checkpoint:
        """Return where another framer can go on, without the bytes that wait for their end."""
        offset, line, line_start, value = self._position, self._line, self._line_start, self._value
        if self._head:
            return _START
        if self._tail:
            offset = self._tail_offset
        elif value is not None and not value.too_long:
            # It began where a line's own rules do not hold any more, hence no start of a line.
            offset, line, line_start, value = value.offset, value.line, -1, None
        return Checkpoint(
            offset=offset,
            line=line,
            line_start=line_start,
            in_array=self._in_array,
            nul_line=self._nul_line,
            is_utf16=self._is_utf16,
            overlong=self._overlong,
            value=copy.copy(value),
        )

    def feed(self, chunk: bytes) -> list[Record]:
        """Return the records that these bytes complete."""
        if self._head is not None:
            chunk = self._begin(chunk, final=False)
        if self._is_utf16:
            self._position += len(chunk)
        elif len(chunk) <= self._limit:
            self._cut(chunk)
        else:  # a line within one slice never exceeds the limit: no need to measure each
            for start in range(0, len(chunk), self._limit):
                self._cut(chunk[start : start + self._limit])
        records, self._records = self._records, []
        return records

    def finish(self) -> list[Record]:
        """Return the records that the end of the source completes; count what it leaves torn."""
        if self._head:
            self._cut(self._begin(b"", final=True))
        if self._overlong:
            self._end_overlong(self._overlong)
        if self._tail:
            self._line_start = -1  # only a scan tells a whole line from a torn one
            self._take(self._drain_tail(), self._tail_offset, True)
        while self._value is not None:
            self._tear(self._value)
        records, self._records = self._records, []
        return records

    def _begin(self, chunk: bytes, final: bool) -> bytes:
        """Look at the source's first bytes: they tell its encoding."""
        head = (self._head or b"") + chunk
        if len(head) < _HEAD_BYTES and not final:
            self._head = head
            return b""
        self._head = None
        if is_utf16(head):
            self._is_utf16 = True
            self._skips.add("utf16", 1, 0, head)
        elif head.startswith(_BOM):
            self._position = self._line_start = len(_BOM)
            head = head[len(_BOM) :]
        return head

    def _cut(self, chunk: bytes) -> None:
        pieces = chunk.split(b"\n")
        last = pieces.pop()
        position, line = self._position, self._line
        emit = self._records.append
        plain = self._stands_between_lines()
        for piece in pieces:
            if plain and piece and piece[0] == BRACE and piece[-1] == BRACE_END:
                emit((piece, position, line))
            elif plain and piece.startswith(b"{") and piece.endswith(b"}\r"):
                emit((piece[:-1], position, line))
            else:
                if plain:
                    self._line, self._line_start = line, position
                self._take(piece, position, True)
                plain = self._stands_between_lines()
            position += len(piece) + 1
            line += 1
        self._line = line
        if pieces:
            self._line_start = position
        if last:
            self._take(last, position, False)
        self._position = position + len(last)

    def _stands_between_lines(self) -> bool:
        return not (self._tail or self._in_array or self._value or self._overlong)

    def _take(self, piece: bytes, base: int, complete: bool) -> None:
        """Use one line, or as much of it as has arrived."""
        next_start = base + len(piece) + 1
        if self._tail:
            piece, base = self._join_tail(piece, complete)
        if self._overlong:
            piece = b""
        position = 0
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
            self._end_line(next_start)

    def _end_line(self, next_start: int) -> None:
        if self._overlong:
            self._end_overlong(self._overlong)
        elif self._value is not None and not self._value.end_line(self._line):
            self._tear(self._value)
        self._line += 1
        self._line_start = next_start

    def _end_overlong(self, line: Overlong) -> None:
        self._skips.add("record_too_long", line.line, line.offset, line.head)
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
        if base + start == self._line_start and is_whole_record(piece):
            self._emit(piece.rstrip(), base, self._line)
            return USED_UP
        if piece[start] == BRACE and is_object(piece, start):
            return self._open(start, base)
        if piece[start] == BRACKET:
            if is_document(piece, start) or is_document_line(piece, start):
                self._in_array = True
                return start + 1
            if is_array(piece, start) and not is_bracketed_text(piece, start):
                return self._open(start, base)
        return self._pass_text(piece, start, base)

    def _pass_separators(self, piece: bytes, position: int, base: int) -> int:
        start = pass_between_values(piece, position).end()
        nul = piece.find(b"\0", position, start)
        if nul >= 0 and self._nul_line != self._line:  # a crash: blocks allocated, never written
            self._nul_line = self._line
            self._skips.add("nul_block", self._line, base + nul, b"")
        return start

    def _pass_text(self, piece: bytes, start: int, base: int) -> int:
        """Pass over a log prefix to the object behind it; count text that has none."""
        found = find_object(piece, start)
        text = piece[start : found.start()] if found else piece[start:]
        if is_binary(text):
            reason = "binary"
        elif found:
            return self._open(found.start(), base)
        else:
            reason = "not_an_object" if is_json(text) else "not_json"
        self._skips.add(reason, self._line, base + start, piece[start : start + SAMPLE_BYTES])
        return USED_UP

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
                self._skips.add("record_too_long", value.line, value.offset, value.sample)
            else:
                self._emit(bytes(value.kept), value.offset, value.line)
        return end

    def _tear(self, value: OpenValue) -> None:
        """Give up a value that never ends; its second line may be a line of its own."""
        self._value, self._in_array = None, False
        reason = "record_too_long" if value.too_long else "torn_line"
        self._skips.add(reason, value.line, value.offset, value.sample)
        second = value.second_line()
        if second is not None:
            here = self._line, self._line_start
            data, offset, self._line = second
            self._line_start = -1
            self._take(data, offset, True)
            self._line, self._line_start = here

    def _emit(self, data: bytes, offset: int, line: int) -> None:
        if data[0] == BRACKET and b"{" not in data:
            self._skips.add("not_an_object", line, offset, data)
        else:
            self._records.append((data, offset, line))
