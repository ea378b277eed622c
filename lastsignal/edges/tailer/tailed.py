"""One file: what is known of it, and one step of reading it."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count
from typing import NamedTuple

from lastsignal.edges.tailer.marks import NOTHING, TAIL_BYTES, Mark
from lastsignal.edges.tailer.piece import FileCheckpoint, Key, Piece, State
from lastsignal.edges.tailer.streams import Stream, generation_of, stream_on
from lastsignal.edges.tailer.unpacking import CorruptError

Signature = tuple[int, int]
"""Size and time of modification: a file of the same signature is not looked at."""
UNSEEN: Signature = (-1, -1)

EVERYTHING = 2**63
"""An offset that no file reaches: all of it."""

_number = count().__next__


class Phase(Enum):
    """Where a file is on its way."""

    NEW = auto()
    """Not looked into, or empty: nothing says yet whose content it holds."""
    WAITING = auto()
    """Looks like the copy of a file that is still there."""
    FOLLOWED = auto()
    CUT = auto()
    """Truncated: a copy may hold the rest."""
    LOST = auto()
    """No longer there: a compressed copy may hold the rest."""
    ENDED = auto()


@dataclass(slots=True, eq=False)
class TailedFile:
    """What is known of one file; changed only on the event loop. All times are monotonic."""

    path: str
    key: Key
    active_at: float
    """When it last said something."""
    phase: Phase = Phase.NEW
    file_id: str = field(default_factory=lambda: secrets.token_hex(8))
    number: int = field(default_factory=_number)
    """Files are numbered as they become known."""

    # Where it stands
    paths: frozenset[str] = frozenset()
    """All that lead to it, links included."""
    real_path: str = ""
    """Where the file stands that a link leads to."""
    home: str = ""
    """Where it stood when its content was last verified: an inode may be used again."""
    seen: Signature = UNSEEN
    changed_at: float = 0.0
    """When its signature was last seen to change."""
    missing: int = 0
    """Full looks in a row that did not find it."""
    is_astray: bool = False
    """Closed, and the last look did not find it: it may have grown where it stands now."""
    displaced_at: float | None = None
    """When it was seen to have left its name, while it is open."""
    searched_since: float = 0.0
    searches: int = 0
    """What the looks since then count that could have shown what goes on with it, if it has
    parted, or what comes before it, if it is new."""
    was_never_found: bool = False
    was_cut: bool = False
    """Of one that has ended."""
    is_unreadable: bool = False

    # What has been read
    generation: int = 0
    head: Mark = NOTHING
    offset: int = 0
    tail: Mark = NOTHING
    resume_offset: int | None = None
    """Where to go back to once the content is verified up to the offset."""
    descriptor: int | None = None
    stream: Stream | None = None
    is_verified: bool = False
    """What is open was seen to hold what has been read."""
    is_told: bool = False
    """The consumer has had a piece of it."""
    told_end: bool = False

    # Its turns
    is_queued: bool = False
    is_dirty: bool = False
    """Changed since the turn at hand began."""
    after: list[tuple[TailedFile, int]] = field(default_factory=list)
    """What comes before it, each up to which offset."""
    is_in_order: bool = False
    """Waits for all of that."""

    # What is to become of it
    starts_at_end: bool = False
    candidates: list[TailedFile] | None = None
    """Whose content it may hold, not yet compared."""
    not_kin: list[TailedFile] = field(default_factory=list)
    waits_for: TailedFile | None = None
    patience_ends: float | None = None
    is_copy: bool = False
    """Was seen to end with a stretch of the file it waits for."""
    copy: TailedFile | None = None
    """The last that has waited for it."""
    heir_of: TailedFile | None = None
    """Who goes on in its place."""
    through: TailedFile | None = None
    """Whose place it has taken, until that is verified."""

    def __post_init__(self) -> None:
        self.home = self.path

    @classmethod
    def resumed(cls, known: FileCheckpoint, now: float) -> TailedFile:
        """Return the file that a checkpoint speaks of."""
        file = cls(known.path, (known.device, known.inode), now, changed_at=now)
        file.phase = Phase.FOLLOWED
        file.file_id = known.file_id
        file.is_told = True
        file.real_path = known.real_path
        file.generation = known.generation
        file.head = known.head
        file.offset = known.read
        file.tail = known.tail
        is_unused = known.offset < known.read
        file.resume_offset = known.offset if is_unused else None
        file.seen = -1 if is_unused else known.size, known.modified_ns
        return file

    @property
    def is_parted(self) -> bool:
        """Has it lost its place, so that only another file can go on with it?"""
        return self.phase in (Phase.CUT, Phase.LOST)

    def is_past(self, target: int, successor: TailedFile) -> bool:
        """Has everything that was there when its successor appeared been delivered?"""
        file = self
        while (holder := file.heir_of or file.waits_for) is not None:
            if holder is successor:  # it waits for nothing but its successor's turn
                return True
            if file.patience_ends is not None:  # perhaps content of its own
                return False
            file = holder
        if file.is_parted or file.is_astray or file.phase is Phase.WAITING:
            return False
        if file.phase is Phase.NEW and file.is_queued:
            return False
        return not file.is_queued or (file is self and file.offset >= target)

    def checkpoint(self) -> FileCheckpoint:
        """Return what a consumer keeps."""
        offset = self.offset if self.resume_offset is None else self.resume_offset
        seen = self.seen if self.told_end else UNSEEN
        return FileCheckpoint(
            file_id=self.file_id,
            path=self.path,
            real_path=self.real_path,
            device=self.key[0],
            inode=self.key[1],
            generation=self.generation,
            head=self.head,
            offset=offset,
            read=self.offset,
            tail=self.tail,
            size=seen[0],
            modified_ns=self.seen[1],
        )

    def piece(self, data: bytes, state: State) -> Piece:
        """Return a piece to send, which ends at the offset."""
        self.is_told = True
        return Piece(
            self.file_id, self.path, self.offset - len(data), data, state, self.checkpoint()
        )

    def close(self) -> None:
        """Close what is open."""
        self.stream = None
        self.is_verified = False
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class Outcome(Enum):
    """What a step found."""

    MORE = auto()
    END = auto()
    CUT = auto()
    """What was read no longer stands there."""
    REPLACED = auto()
    """The inode is another file's by now."""
    CORRUPT = auto()
    NOTHING = auto()
    """No byte that tells anything."""


class Step(NamedTuple):
    """What one step found, to be noted on the event loop."""

    outcome: Outcome
    data: bytes = b""
    offset: int = 0
    """Behind the data."""
    head: Mark = NOTHING
    tail: Mark = NOTHING
    generation: int = 0
    home: str = ""
    """Where it stood when its content was last verified: an inode may be used again."""
    seen: Signature = UNSEEN
    detail: str = ""


def read_step(file: TailedFile, limit: int, head_bytes: int) -> Step:
    """Read on, if what has been read so far still stands there. Runs in a thread."""
    assert file.descriptor is not None
    info = os.fstat(file.descriptor)
    generation = generation_of(file.descriptor) if file.stream is None else file.generation
    if file.generation and generation != file.generation:
        return Step(Outcome.REPLACED)
    try:
        file.stream = file.stream or stream_on(file.descriptor)
        if file.stream is None:
            return Step(Outcome.CUT if file.offset else Outcome.NOTHING)
        if file.stream.is_shorter_than(file.offset, info):
            return Step(Outcome.CUT)
        head = file.stream.head(head_bytes)
        if not file.head.fits(head):
            return Step(Outcome.CUT)
        step = _read_behind(file, file.stream, limit)
        if not file.stream.is_packed and file.stream.head(len(head)) != head:
            return Step(Outcome.CUT)  # meanwhile: the data may be of both contents
    except CorruptError as error:
        return Step(Outcome.CORRUPT, detail=str(error))
    mark = Mark.of(head) if len(head) > file.head.length else file.head
    return step._replace(head=mark, generation=generation, seen=(info.st_size, info.st_mtime_ns))


def _read_behind(file: TailedFile, stream: Stream, limit: int) -> Step:
    start = file.offset - file.tail.length
    if not stream.approach(start, 8 * limit):
        return Step(Outcome.MORE, offset=file.offset, tail=file.tail)
    found = stream.read(start, file.tail.length + limit)
    if not file.tail.fits(found):
        return Step(Outcome.CUT)
    if file.resume_offset is not None:  # verified: go back to what has not been used
        return Step(Outcome.MORE, offset=file.resume_offset)
    data = found[file.tail.length :]
    if stream.fault is not None and not data:
        raise stream.fault
    has_more = len(data) == limit or stream.fault is not None
    return Step(
        Outcome.MORE if has_more else Outcome.END,
        data,
        file.offset + len(data),
        tail=Mark.of(found[-TAIL_BYTES:]) if data else file.tail,
    )
