"""What a tailer hands on, and what its consumer keeps over a restart."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import msgspec

from lastsignal.edges.tailer.marks import Mark

Key = tuple[int, int]
"""Device and inode."""


class FileCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """By what a file is known again, and where to read on in it."""

    file_id: str
    path: str
    real_path: str
    """Where the file stands that a link leads to."""
    device: int
    inode: int
    generation: int
    """Tells the users of one inode apart where the file system counts them, else 0."""
    head: Mark
    """Of the first bytes; of fewer while the file is shorter."""
    offset: int
    """Deliver from here."""
    read: int
    """Delivered up to here; `tail` stands before it."""
    tail: Mark
    size: int
    """Of the file on the disk when everything in it had been delivered; else -1."""
    modified_ns: int

    def resume_at(self, offset: int) -> FileCheckpoint:
        """Return one that delivers again what has not been used: the part of a line."""
        return msgspec.structs.replace(self, offset=offset)


class State(Enum):
    """What is known of a file after a piece of it."""

    DATA = "data"
    AT_END = "at_end"
    """Everything that was in the file has been delivered."""
    TRUNCATED = "truncated"
    """Its content was cut away: whatever had not been delivered is lost. The last piece."""
    GONE = "gone"
    """It is no more. The last piece."""


class Piece(NamedTuple):
    """Some bytes of one file, in order."""

    file_id: str
    name: str
    """Where the bytes stand now; rotation changes it, and `file_id` stays."""
    offset: int
    data: bytes
    state: State
    checkpoint: FileCheckpoint
    """Stands behind this piece; forget the file's after TRUNCATED and GONE."""

    @property
    def is_last(self) -> bool:
        """Has the file ended?"""
        return self.state in (State.TRUNCATED, State.GONE)
