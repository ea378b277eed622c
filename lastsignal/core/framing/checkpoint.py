"""What a framer must remember over a restart, without the bytes that wait for their end."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.framing.value import OpenValue


class Overlong(msgspec.Struct, frozen=True):
    """A line that has outgrown the limit: the rest up to its end is not looked at."""

    offset: int
    line: int
    head: bytes


class Place(msgspec.Struct, frozen=True):
    """Where in the source a piece of what a program wrote stands."""

    start: int
    """Of the piece, in bytes that the program wrote."""
    offset: int
    line: int
    stands_so: bool
    """Whether its bytes stand so at the offset; else they are escaped in the line there."""


class SavedStream(msgspec.Struct, frozen=True):
    """One stream of a program whose lines are wrapped, in the middle of a line or a value."""

    within: Checkpoint
    """Where its cutter stands, in bytes that the program wrote."""
    held: bytes
    """What the program wrote from there on."""
    places: list[Place]
    wrapper: str
    written: Any
    """The time of its last line, as it stands there."""


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
    wrapper: str = ""
    """Who wraps the source's lines, as far as that was found."""
    plain_objects: int = 0
    """How many of its objects were wrapped by nobody, as long as no other was found."""
    ends_lines: bool = False
    """Whether a newline has stood at the end of a wrapped line."""
    streams: dict[str, SavedStream] = {}
    """What is held of streams whose lines are wrapped."""
    within: Checkpoint | None = None
    """How what was wrapped is wrapped itself, as far as that was found; no place."""
