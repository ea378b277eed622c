"""What `diagnose` reads, as chunks of bytes: here a file or a stream."""

from __future__ import annotations

import copy
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

from lastsignal.edges.inputs.decompression import (
    CHUNK_BYTES,
    HEAD_BYTES,
    decompression_of,
    is_zip,
)
from lastsignal.errors import InputError

_SPOOL_BYTES = 256 * 1024**2  # evidence from further on in a stream is shown without its text


class Source(ABC):
    """One input: finite, and read from its start.

    Args:
        name: as findings show it: the path as given, `path!member` in an archive, `-` for stdin.
        size: what `consumed` will reach; None where nobody knows.
    """

    def __init__(self, name: str, size: int | None) -> None:
        self.name = name
        self.size = size
        self.written_at = 0.0
        """When it was changed last, in epoch seconds; 0.0 where nobody knows."""
        self.consumed = 0
        """Bytes read so far, as they are stored: what progress is measured by."""
        self.skipped: dict[str, int] = {}
        """Faults of the container, by reason: what comes before them is read."""
        self.trouble: str | None = None
        """Why it cannot be read and what to do, where that has shown."""
        self.is_found = False
        """It was found in a folder, not named: that it cannot be read must not end the reading."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed bytes in chunks of a bounded size, from the start at every call.

        Raises:
            InputError: the source cannot be opened or read, or not another time; unless it was
                found, for then this is counted.
        """
        self.consumed, self.skipped = 0, {}
        try:
            with named_faults(self.name):
                yield from self._decompress(self._counted(self._raw()))
        except InputError as error:
            if not self.is_found:
                raise
            self.trouble = str(error).removeprefix(f"{self.name}: ")
            self._count("unreadable")

    def read_at(self, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
        """Yield the place of each (offset, length) in `spans` with its bytes, fewer where the
        source ends; in one pass, so in no order of theirs."""
        return cut_spans(copy.copy(self).chunks(), spans)

    @abstractmethod
    def _raw(self) -> Iterator[bytes]:
        """Yield the bytes as they are stored."""

    def _decompress(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        head = b""
        for chunk in raw:
            head += chunk
            if len(head) >= HEAD_BYTES:
                break
        if is_zip(head):
            raise InputError(
                f"{self.name}: a zip archive cannot be read from a stream; save it to a file first"
            )
        decompress = decompression_of(head)
        whole = chain([head], raw) if head else raw
        return whole if decompress is None else decompress(whole, self._count)

    def _counted(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in raw:
            self.consumed += len(chunk)
            yield chunk

    def _count(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


class FileSource(Source):
    """A file on disk: plain, gzip or zstd."""

    def __init__(self, path: Path, name: str) -> None:
        with named_faults(name):
            info = path.stat()
        super().__init__(name, info.st_size)
        self.written_at = info.st_mtime
        self._path = path

    def read_at(self, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of each span; of a plain file only these are read."""
        with named_faults(self.name), self._path.open("rb") as file:
            if decompression_of(file.read(HEAD_BYTES)) is not None:
                yield from super().read_at(spans)
                return
            for index, (offset, length) in enumerate(spans):
                file.seek(offset)
                yield index, file.read(length)

    def _raw(self) -> Iterator[bytes]:
        with self._path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


class UnreadSource(Source):
    """What looks like a trace and cannot be read: kept to be told of, for unread is not healthy.

    Args:
        name: as reports show it.
        reason: under which it is counted.
        trouble: why, and what to do.
    """

    def __init__(self, name: str, reason: str, trouble: str) -> None:
        super().__init__(name, 0)
        self.trouble = trouble
        self._reason = reason

    def _raw(self) -> Iterator[bytes]:
        self._count(self._reason)
        return iter(())


class StreamSource(Source):
    """A pipe or standard input: read once, and copied to a temporary file for evidence.

    Args:
        name: as findings show it.
        read: read(n) returns up to n bytes as soon as there are some, none at the end.
    """

    def __init__(self, name: str, read: Callable[[int], bytes]) -> None:
        super().__init__(name, None)
        self._read = read
        self._spool: IO[bytes] | None = None
        self._spooled = 0
        self._is_whole = True
        self._ended = False

    def read_at(self, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of each span, as far as they were copied."""
        again = copy.copy(self)
        again._ended = again._is_whole = True
        return cut_spans(again.chunks(), spans)

    def _raw(self) -> Iterator[bytes]:
        if not self._is_whole:
            raise InputError(f"{self.name}: too long to be read twice; save it to a file first")
        position = 0
        while position < self._spooled and self._spool is not None:
            self._spool.seek(position)
            chunk = self._spool.read(min(CHUNK_BYTES, self._spooled - position))
            position += len(chunk)
            yield chunk
        while not self._ended:
            chunk = self._read(CHUNK_BYTES)
            self._ended = not chunk
            position += len(chunk)
            self._keep(chunk)
            if chunk:
                yield chunk

    def _keep(self, chunk: bytes) -> None:
        if not self._is_whole:
            return
        try:
            if self._spool is None:
                self._spool = tempfile.TemporaryFile(buffering=0)
                weakref.finalize(self, self._spool.close)
            self._spool.seek(self._spooled)
            self._spool.write(chunk)
        except OSError:  # no room for temporary files: the report has less to show
            self._is_whole = False
            return
        self._spooled += len(chunk)
        self._is_whole = self._spooled <= _SPOOL_BYTES


@contextmanager
def named_faults(name: str) -> Iterator[None]:
    """Turn what the system says into an error that names the source.

    Raises:
        InputError: instead of any OSError.
    """
    try:
        yield
    except PermissionError as error:
        raise InputError(f"{name}: permission denied; let this user read it") from error
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error


def cut_spans(
    chunks: Iterator[bytes], spans: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, bytes]]:
    """Yield the place and the bytes of each (offset, length) as soon as they are whole, and read
    no further than the last one reaches."""
    found: dict[int, bytearray] = {}
    waiting = sorted(range(len(spans)), key=lambda index: spans[index], reverse=True)
    start = 0
    while (waiting or found) and (chunk := next(chunks, b"")):
        end = start + len(chunk)
        while waiting and spans[waiting[-1]][0] < end:
            found[waiting.pop()] = bytearray()
        for index, data in list(found.items()):
            offset, length = spans[index]
            data += chunk[max(0, offset - start) : max(0, offset + length - start)]
            if offset + length <= end:
                yield index, bytes(found.pop(index))
        start = end
    yield from ((index, bytes(data)) for index, data in found.items())
    yield from ((index, b"") for index in waiting)
