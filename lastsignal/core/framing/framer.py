"""Cuts a stream of bytes into records, each with its byte offset and its 1-based line.

Recognised from the bytes: one object or array a line, also behind a log prefix; pretty-printed values
one after another; one whole document, of which an array's elements are the records. The chunks never
matter, every byte is looked at once, and no more than two records of the size limit are held.
"""

from __future__ import annotations

import copy
import re

import msgspec

from lastsignal.core.framing.skips import SAMPLE_BYTES, Skip, Skips
from lastsignal.core.framing.value import TORN, USED_UP, OpenValue

Record = tuple[bytes, int, int]
"""(bytes, byte offset, 1-based line) of one record."""

DEFAULT_MAX_RECORD_BYTES = 32 * 1024 * 1024
_LEAST_MAX_RECORD_BYTES = 128  # what stands at a line's start is told within 128 bytes

_BRACE, _BRACE_END, _BRACKET, _BRACKET_END = b"{}[]"
_HEAD_BYTES = 4
_BOM = b"\xef\xbb\xbf"
_utf16 = re.compile(rb"\xff\xfe|\xfe\xff|[{\[]\0[^\0]\0|\0[{\[]\0[^\0]").match

_pass_between_values = re.compile(rb"[\s\0,\]]*").match
_pass_between_elements = re.compile(rb"[\s,]*").match
_object = re.compile(rb'\{[\s\0]*(?:["}]|\Z)').match
_find_object = re.compile(rb'\{[\s\0]*(?:"|\Z)').search
_document = re.compile(rb"\[[\s\0]{0,64}[{\[]").match  # an array whose elements are records
_document_begins = re.compile(rb"\[\s*\Z").match
_array = re.compile(rb'\[\s*(?:"|(?:-?\d[\d.eE+-]*|true|false|null)\s*,)').match
_bracketed_text = re.compile(rb'\[[^\[\]{}"]*\]').match  # a log prefix: [2026-01-01 12:00:00]
_find_control = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]").search


class Overlong(msgspec.Struct, frozen=True):
    """A line that has outgrown the limit: the rest up to its end is not looked at."""

    offset: int
    line: int
    head: bytes


class Checkpoint(msgspec.Struct, frozen=True):
    """Where to read on, and how: a framer resumed here gives what the first one would have given."""

    offset: int = 0
    """Feed the source's bytes from here."""
    line: int = 1
    line_start: int = 0
    in_array: bool = False
    nul_line: int = 0
    is_utf16: bool = False
    overlong: Overlong | None = None
    value: OpenValue | None = None


_START = Checkpoint()


class Framer:
    """Cuts the chunks of one source into records.

    Args:
        max_record_bytes: a longer line, object or element is skipped to its end as `record_too_long`.
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
        if _utf16(head):
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
            if plain and piece and piece[0] == _BRACE and piece[-1] == _BRACE_END:
                emit((piece, position, line))
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
        if self._overlong is None:
            if self._value is None and not self._in_array:
                piece, base = self._join_tail(piece, base, complete)
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
        elif complete:
            self._end_overlong(self._overlong)
        if complete:
            self._end_line(base + len(piece) + 1)

    def _end_line(self, next_start: int) -> None:
        value = self._value
        if value is not None and not value.end_line(self._line):
            self._tear(value)
        self._line += 1
        self._line_start = next_start
