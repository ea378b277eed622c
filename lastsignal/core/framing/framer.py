"""Cuts a stream of bytes into records, each with its byte offset and its 1-based line.

Recognised from the bytes: one object or array a line, also behind a log prefix; pretty-printed
values one after another; one whole document, of which an array's elements are the records; and all
of these in lines that a container runtime, journald or a log shipper has wrapped. How the bytes are
cut into chunks never matters, and no more than two records of the size limit are held, and as much
again of what stands in wrapped lines.
"""

from __future__ import annotations

from lastsignal.core.framing.checkpoint import Checkpoint
from lastsignal.core.framing.grammar import is_utf16
from lastsignal.core.framing.records import Record
from lastsignal.core.framing.skips import Skip
from lastsignal.core.framing.unwrapper import Unwrapper
from lastsignal.core.framing.wrappers import read_torn_docker

DEFAULT_MAX_RECORD_BYTES = 32 * 1024 * 1024
_LEAST_MAX_RECORD_BYTES = 128  # what stands at a line's start is told within fewer bytes

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
        self._cutter = Unwrapper(max_record_bytes, resume)
        self._head: bytes | None = b"" if resume == _START else None
        self._is_utf16 = resume.is_utf16
        self.left: Checkpoint | None = None
        """What it has handed over."""

    @property
    def skipped(self) -> dict[str, int]:
        """How many pieces could not be used, by reason."""
        return self._cutter.skips.counts

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the rest of their record."""
        return self._cutter.buffered_bytes

    def drain_samples(self) -> list[Skip]:
        """Return a few of the pieces skipped since the last call, for the log."""
        return self._cutter.skips.drain()

    def checkpoint(self) -> Checkpoint:
        """Return where another framer can go on, without the bytes that wait for their end."""
        if self._head:
            return _START
        if self._is_utf16:
            return Checkpoint(offset=self._cutter.position, is_utf16=True)
        return self._cutter.checkpoint()

    def feed(self, chunk: bytes) -> list[Record]:
        """Return the records that these bytes complete."""
        return self._feed(chunk if self._head is None else self._begin(chunk))

    def take_whole_line(self) -> list[Record]:
        """Return the object on the last line that lacks only its newline: the source stands still.

        It does not come again when the newline does.
        """
        self._cutter.take_whole_tail()
        return self._drain()

    def held_at(self, offset: int) -> bytes:
        """Return what a program wrote that waits for its end and begins in the line there."""
        return self._cutter.held_at(offset)

    def hand_over(self) -> Checkpoint | None:
        """Give away what is held of wrapped lines: the source goes on in another one.

        Returns:
            Where a framer of that one resumes; None where nothing is held. What goes on there has
            its place where it goes on.
        """
        if not self._head and not self._is_utf16:
            self.left = self._cutter.hand_over()
        return self.left

    def finish(self) -> list[Record]:
        """Return the records that the end of the source completes; count what it leaves torn."""
        records = self._feed(self._begin(b"", ended=True)) if self._head else []
        self._cutter.finish()
        return records + self._drain()

    def _feed(self, chunk: bytes) -> list[Record]:
        cutter = self._cutter
        if self._is_utf16:
            cutter.position += len(chunk)
        elif len(chunk) <= self._limit:
            cutter.cut(chunk)
        else:
            for start in range(0, len(chunk), self._limit):
                cutter.cut(chunk[start : start + self._limit])
        return self._drain()

    def _drain(self) -> list[Record]:
        records, self._cutter.records = self._cutter.records, []
        return records

    def _begin(self, chunk: bytes, ended: bool = False) -> bytes:
        """Look at the source's first bytes, which tell its encoding; return what to cut."""
        head = (self._head or b"") + chunk
        if len(head) < _HEAD_BYTES and not ended:
            self._head = head
            return b""
        self._head = None
        if is_utf16(head):
            self._is_utf16 = True
            self._cutter.skips.add("utf16", 1, 0, head[:_HEAD_BYTES])
        elif head.startswith(_BOM):
            self._cutter.position = len(_BOM)
            head = head[len(_BOM) :]
        return head


def first_record(data: bytes, limit: int) -> bytes:
    """Return the record that bytes out of a source begin with, as its program wrote it.

    As much of it as is there; the bytes themselves where that cannot be told.
    """
    framer = Framer(limit)
    line = data[: data.find(b"\n") + 1]  # mostly enough
    records = framer.feed(line) or framer.feed(data[len(line) :])
    if records and records[0][1] == 0:
        return records[0][0]
    held = framer.held_at(0) or read_torn_docker(data)
    if held:
        return held
    records = records or framer.finish()
    return records[0][0] if records and records[0][1] == 0 else data
