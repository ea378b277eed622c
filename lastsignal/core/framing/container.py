"""Lines that a container runtime has cut: Kubernetes nodes keep no line longer than 16 KiB whole.

Each line of such a log begins with a time, a stream, and a tag: `P` for a part of a line of the
program, `F` for the last part, or for a line that was not cut. (Kubernetes' CRI log format.)
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

from lastsignal.core.framing.skips import SAMPLE_BYTES

_match_header = re.compile(
    rb"\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([PF])(?::\S{0,64})? "
).match


class Part(msgspec.Struct):
    """What has come so far of a line of the program."""

    offset: int
    """Of its first byte behind the header."""
    line: int
    data: bytearray
    too_long: bool = False


class Whole(NamedTuple):
    """A line of the program, put together."""

    data: bytes
    offset: int
    line: int
    too_long: bool


class ContainerLines:
    """Puts the parts of each stream together; what was never cut is left to others.

    Args:
        limit: bytes of a line, beyond which it is given up.
        parts: by stream, what an earlier one held.
    """

    def __init__(self, limit: int, parts: dict[str, Part]) -> None:
        self.parts = parts
        self._limit = limit

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the last part of their line."""
        return sum(len(part.data) for part in self.parts.values())

    def take(self, piece: bytes, base: int, line: int) -> Whole | Literal["held"] | None:
        """Take a whole line of the log.

        Args:
            piece: the line.
            base: its byte offset.
            line: its number.

        Returns:
            The line of the program that it completes, "held" where more is to come, None where
            it is no part of a line that was cut.
        """
        header = _match_header(piece)
        if header is None:
            return None
        stream, start = header[1].decode(), header.end()
        part = self.parts.get(stream)
        if header[2] == b"F":
            if part is None:
                return None
            del self.parts[stream]
            data = bytes(part.data) + piece[start:]
            return Whole(data, part.offset, part.line, part.too_long or len(data) > self._limit)
        if part is None:
            part = self.parts[stream] = Part(base + start, line, bytearray())
        if len(part.data) + len(piece) - start > self._limit:
            part.too_long = True
            del part.data[SAMPLE_BYTES:]
        if not part.too_long:
            part.data += piece[start:]
        return "held"
