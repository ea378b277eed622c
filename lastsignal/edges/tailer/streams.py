"""One open file as a stream of bytes that can be read from any offset; compressed ones unpacked.

Everything here may wait for the disk: call it in a thread.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct

from lastsignal.edges.tailer.marks import TAIL_BYTES
from lastsignal.edges.tailer.piece import Key
from lastsignal.edges.tailer.unpacking import (
    HEADS,
    CorruptError,
    may_become_packed,
    unpacker_for,
)

_RAW_BYTES = 16 * 1024
_GET_GENERATION = 0x80087601  # FS_IOC_GETVERSION


class ReplacedError(OSError):
    """Another file stands at the path by now."""


def open_file(path: str, key: Key) -> int:
    """Open a file for reading; never a pipe that would wait, never another file than meant.

    Raises:
        OSError: it cannot be opened; ReplacedError where another file is there.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    info = os.fstat(descriptor)
    if (info.st_dev, info.st_ino) != key or not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise ReplacedError(errno.ESTALE, "replaced by another file", path)
    return descriptor


def generation_of(descriptor: int) -> int:
    """Return what tells a re-used inode from its former file; 0 where nothing does."""
    try:
        answer = fcntl.ioctl(descriptor, _GET_GENERATION, b"\0" * 8)
    except OSError:
        return 0
    return int(struct.unpack("l", answer)[0])


def stream_on(descriptor: int) -> Stream | None:
    """Return the stream in an open file; None while its first bytes do not tell which."""
    head = os.pread(descriptor, max(map(len, HEADS)), 0)
    if may_become_packed(head):  # also: empty
        return None
    return Stream(descriptor) if unpacker_for(head) is None else PackedStream(descriptor)


class Stream:
    """A plain file."""

    is_packed = False

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.is_complete = True
        """False while a compressed head that is asked for has not been written whole."""
        self.fault: CorruptError | None = None
        """Why there is nothing behind what was read last."""

    def is_shorter_than(self, offset: int, info: os.stat_result) -> bool:
        """Has what stood before the offset been cut away?"""
        return info.st_size < offset

    def head(self, limit: int) -> bytes:
        """Return the first bytes."""
        return os.pread(self.descriptor, limit, 0)

    def approach(self, offset: int, budget: int) -> bool:
        """Get ready to read from the offset; False where the budget of bytes was too small."""
        return True

    def read(self, offset: int, limit: int) -> bytes:
        """Return what stands there; less than the limit only at the end."""
        return os.pread(self.descriptor, limit, offset)


class PackedStream(Stream):
    """A compressed file: read in order, so that going back begins anew."""

    is_packed = True

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._head = b""
        self._restart()

    def is_shorter_than(self, offset: int, info: os.stat_result) -> bool:
        return info.st_size < self._raw_position

    def head(self, limit: int) -> bytes:
        if len(self._head) < limit:
            beginning = PackedStream(self.descriptor)
            self._head = beginning.read(0, limit)
            is_enough = len(self._head) == limit or beginning.fault is not None
            self.is_complete = is_enough or beginning._unpacker.is_complete
        return self._head[:limit]

    def approach(self, offset: int, budget: int) -> bool:
        if offset < self._position - len(self._window):
            self._restart()
        while self._position < offset:
            if budget <= 0:
                return False
            piece = self._unpack(min(offset - self._position, budget))
            if not piece:
                break
            budget -= len(piece)
        return True

    def read(self, offset: int, limit: int) -> bytes:
        behind = self._position - offset
        if behind < 0:
            return b""
        pieces = [self._window[len(self._window) - behind :][:limit]] if behind else []
        missing = limit - sum(map(len, pieces))
        try:
            while missing and (piece := self._unpack(missing)):
                pieces.append(piece)
                missing -= len(piece)
        except CorruptError as error:
            self.fault = error
        return b"".join(pieces)

    def _restart(self) -> None:
        unpacker = unpacker_for(os.pread(self.descriptor, max(map(len, HEADS)), 0))
        if unpacker is None:
            raise ReplacedError(errno.ESTALE, "no longer compressed")
        self._unpacker = unpacker
        self._raw_position = 0
        self._position = 0
        self._window = b""  # what stands before the position

    def _unpack(self, limit: int) -> bytes:
        while not (piece := self._unpacker.take(limit)):
            raw = os.pread(self.descriptor, _RAW_BYTES, self._raw_position)
            if not raw:
                break
            self._raw_position += len(raw)
            self._unpacker.give(raw)
        self._position += len(piece)
        self._window = (self._window + piece[-TAIL_BYTES:])[-TAIL_BYTES:]
        return piece
