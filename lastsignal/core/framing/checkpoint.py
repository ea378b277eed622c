"""What a framer must remember over a restart, without the bytes that wait for their end."""

from __future__ import annotations

import msgspec

from lastsignal.core.framing.container import Part
from lastsignal.core.framing.value import OpenValue


class Overlong(msgspec.Struct, frozen=True):
    """A line that has outgrown the limit: the rest up to its end is not looked at."""

    offset: int
    line: int
    head: bytes


class Checkpoint(msgspec.Struct, frozen=True):
    """Where to read on, and how.

    A framer that resumes here gives just what the first one would have given from here on.
    """

    offset: int = 0
    """Feed the source's bytes from here."""
    line: int = 1
    in_array: bool = False
    nul_line: int = 0
    is_utf16: bool = False
    overlong: Overlong | None = None
    value: OpenValue | None = None
    parts: dict[str, Part] = {}
    """What has come of lines that a container runtime has cut, by stream."""
