"""Whose content a newcomer holds: its own, or that of a file which is known.

Only content decides, and never the name alone: a newcomer goes on with a known file if it begins
like it and holds the same bytes before the offset up to which that one has been read. The names say
how much of a beginning is enough, since many small files have the same one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import NamedTuple

import anyio.to_thread

from lastsignal.edges.tailer.fleet import Fleet
from lastsignal.edges.tailer.marks import TAIL_BYTES, Mark
from lastsignal.edges.tailer.names import are_related, former_names
from lastsignal.edges.tailer.piece import State
from lastsignal.edges.tailer.streams import Stream, generation_of, stream_on
from lastsignal.edges.tailer.tailed import Phase, Signature, TailedFile
from lastsignal.edges.tailer.trouble import TroubleKind
from lastsignal.edges.tailer.unpacking import CorruptError

_BUDGET_BYTES = 4 * 1024 * 1024  # unpacked at once to compare


class Relation(Enum):
    """What a newcomer would be to a known file, if it holds the same bytes."""

    STRANGER = auto()
    SHADOW = auto()
    """A compressed copy of a file that is still there: takes over when that one leaves."""
    COPY = auto()
    """A plain copy of a file that is still there: takes over if that one is cut soon."""
    HEIR = auto()
    """Goes on at once with a file that has lost its place."""
    ORIGINAL = auto()
    """A deleted file whose compressed copy was found first: holds no more than that, as a rule."""
    SPENT = auto()
    """A copy, found too late, of a file that has ended: begins where that one was read to."""


class Likeness(Enum):
    """Does the newcomer hold the bytes before the known file's offset?"""

    SAME = auto()
    DIFFERENT = auto()
    SHORTER = auto()
    NOT_YET = auto()


class Beginning(NamedTuple):
    """What a first look into a file tells."""

    head: bytes
    is_packed: bool
    is_whole: bool
    """Not a compressed file that is still being written, too short to tell."""
    generation: int
    seen: Signature


def relation(file: TailedFile, is_packed: bool, known: TailedFile, head_bytes: int) -> Relation:
    """Return what a newcomer that begins like a known file may be to it."""
    has_full_head = known.head.length >= head_bytes
    related = any(are_related(file.path, one) for one in {known.path, known.home})
    if not (related or has_full_head):
        return Relation.STRANGER
    if known.phase in (Phase.NEW, Phase.WAITING):
        is_original = is_packed and not (known.stream and known.stream.is_packed)
        return Relation.SHADOW if is_original else Relation.STRANGER
    if known.phase is Phase.ENDED:
        is_late_copy = known.was_cut and known.path in former_names(file.path)
        return Relation.SPENT if is_packed or is_late_copy else Relation.STRANGER
    if known.phase is Phase.CUT:
        return Relation.HEIR
    if known.phase is Phase.LOST or known.displaced_at is not None:
        if is_packed:
            return Relation.HEIR if known.phase is Phase.LOST else Relation.SHADOW
        # made anew under the old name, a small file is another one, whatever it begins with
        is_rotated = known.path in former_names(file.path)
        return Relation.HEIR if has_full_head or is_rotated else Relation.STRANGER
    if is_packed:
        return Relation.SHADOW
    if file.displaced_at is not None and known.stream and known.stream.is_packed:
        return Relation.ORIGINAL
    return Relation.COPY if related else Relation.STRANGER


class Kinship:
    """Judges newcomers, one step a turn."""

    def __init__(self, fleet: Fleet, now: Callable[[], float]) -> None:
        self._fleet = fleet
        self._config = fleet.config
        self._now = now
        self.is_patient = True
        """False once nothing may wait any longer."""

    async def judge(self, file: TailedFile, begun: Beginning | None) -> None:
        """Go on with a newcomer, from what a first look into it has told."""
        try:
            if begun is None:
                self._fleet.turns.rest(file)
                return
            if not (begun.is_whole or self._is_out_of_patience(file)):
                self._wait(file, None, file.changed_at + self._config.copy_patience)
                return
            file.generation = begun.generation
            self._fleet.note_head(file, Mark.of(begun.head))
            if file.candidates is None:
                file.candidates = self._fleet.kin_of(file, begun.head, begun.is_packed)
            while file.candidates:
                if await self._is_decided(file, begun, file.candidates[0]):
                    return
                del file.candidates[:1]
            await self._make_own(file, begun)
        except CorruptError as error:
            self._fleet.trouble(TroubleKind.CORRUPT, file.path, str(error))
            self._fleet.turns.rest(file)

    def _is_out_of_patience(self, file: TailedFile) -> bool:
        waited = self._now() - file.changed_at
        return not self.is_patient or waited >= self._config.copy_patience

    async def _is_decided(self, file: TailedFile, begun: Beginning, known: TailedFile) -> bool:
        kind = self._relation(file, begun, known)
        if kind is Relation.STRANGER:
            return False
        assert file.stream is not None
        likeness = await anyio.to_thread.run_sync(compare, file.stream, known)
        if likeness is Likeness.NOT_YET or self._relation(file, begun, known) is not kind:
            self._fleet.turns.requeue(file)  # one of them may have left its place meanwhile
            return True
        if likeness is Likeness.DIFFERENT or (
            known.phase is Phase.ENDED and kind is not Relation.SPENT
        ):
            return False
        if kind is Relation.COPY:
            return await self._is_copy_to_wait(file, begun, known)
        if likeness is Likeness.SHORTER:
            return self._is_shorter_kin(file, begun, known)
        if kind is Relation.ORIGINAL:
            return self._is_done_with_original(file, begun, known)
        return self._is_same_kin(file, known, kind)

    def _relation(self, file: TailedFile, begun: Beginning, known: TailedFile) -> Relation:
        return relation(file, begun.is_packed, known, self._config.fingerprint_bytes)

    async def _is_copy_to_wait(self, file: TailedFile, begun: Beginning, known: TailedFile) -> bool:
        if self._is_out_of_patience(file):
            return False
        likeness = await anyio.to_thread.run_sync(compare_ends, file, known)
        if self._relation(file, begun, known) is not Relation.COPY:
            self._fleet.turns.requeue(file)
            return True
        if likeness is Likeness.DIFFERENT:
            return False
        file.is_copy = likeness is Likeness.SAME
        if likeness is Likeness.NOT_YET:
            self._fleet.turns.queue(known)
        self._wait(file, known, file.changed_at + self._config.copy_patience)
        return True

    def _is_shorter_kin(self, file: TailedFile, begun: Beginning, known: TailedFile) -> bool:
        if begun.is_packed:
            if self._is_out_of_patience(file):
                return False
            self._wait(file, known, file.changed_at + self._config.copy_patience)
            return True
        if known.phase is not Phase.CUT or not (
            file.is_copy or known.head.length >= self._config.fingerprint_bytes
        ):
            return False
        # a copy made before all was read: it holds nothing new
        file.starts_at_end = True
        file.candidates = []
        return False

    def _is_done_with_original(self, file: TailedFile, begun: Beginning, known: TailedFile) -> bool:
        if known.is_queued:
            self._wait(file, known, None)
            return True
        if begun.seen[0] <= known.offset:
            self._fleet.drop(file)
            return True
        file.offset, file.tail = known.offset, known.tail  # it was written to after it was copied
        return False

    def _is_same_kin(self, file: TailedFile, known: TailedFile, kind: Relation) -> bool:
        if kind is Relation.SPENT:
            file.offset, file.tail = known.offset, known.tail
            return False
        if kind is Relation.SHADOW or known.is_queued:
            self._wait(file, known, None)
        else:
            self._fleet.absorb(known, file)
        return True

    def _wait(self, file: TailedFile, known: TailedFile | None, until: float | None) -> None:
        file.phase = Phase.WAITING
        file.waits_for = known
        file.patience_ends = until
        file.is_queued = False
        self._fleet.waiting[file] = None
        if known is not None:
            known.copy = file
        if file.is_dirty:
            self._fleet.reconsider(file)

    async def _make_own(self, file: TailedFile, begun: Beginning) -> None:
        file.candidates = None
        file.phase = Phase.FOLLOWED
        file.seen = begun.seen
        if not file.starts_at_end:
            self._fleet.await_order(file, self._now())
        elif begun.is_packed:  # where it ends is not worth unpacking it, while it stays as it is
            file.told_end = True
            self._fleet.partings.append(file.piece(b"", State.AT_END))
            self._fleet.turns.rest(file)
        else:
            assert file.descriptor is not None
            end = partial(_tail_of, file.descriptor, begun.seen[0])
            file.offset, file.tail = begun.seen[0], await anyio.to_thread.run_sync(end)
            self._fleet.turns.go_on(file)


def look_into(file: TailedFile, head_bytes: int) -> Beginning | None:
    """Return what a newcomer begins with; None while there is nothing. Runs in a thread."""
    assert file.descriptor is not None
    info = os.fstat(file.descriptor)
    file.stream = file.stream or stream_on(file.descriptor)
    if file.stream is None:
        return None
    head = file.stream.head(head_bytes)
    return Beginning(
        head,
        file.stream.is_packed,
        file.stream.is_complete,
        generation_of(file.descriptor),
        (info.st_size, info.st_mtime_ns),
    )


def compare(stream: Stream, known: TailedFile) -> Likeness:
    """Tell whether a stream holds what was read of a known file. Runs in a thread."""
    start = known.offset - known.tail.length
    if not stream.approach(start, _BUDGET_BYTES):
        return Likeness.NOT_YET
    found = stream.read(start, known.tail.length)
    if len(found) < known.tail.length:
        return Likeness.SHORTER
    return Likeness.SAME if known.tail.fits(found) else Likeness.DIFFERENT


def compare_ends(file: TailedFile, known: TailedFile) -> Likeness:
    """Tell whether a plain file ends with what stands there in a known one. Runs in a thread.

    Returns:
        SHORTER if the known file is closed, NOT_YET if it has just been cut itself.
    """
    if file.descriptor is None or known.descriptor is None:
        return Likeness.SHORTER
    try:
        end = os.fstat(file.descriptor).st_size
        start = max(0, end - TAIL_BYTES)
        found = os.pread(file.descriptor, end - start, start)
        if found == os.pread(known.descriptor, end - start, start):
            return Likeness.SAME
        is_intact = compare(Stream(known.descriptor), known) is Likeness.SAME
        head = os.pread(known.descriptor, known.head.length, 0)
    except OSError:  # closed meanwhile
        return Likeness.SHORTER
    return Likeness.DIFFERENT if is_intact and known.head.fits(head) else Likeness.NOT_YET


def _tail_of(descriptor: int, end: int) -> Mark:
    start = max(0, end - TAIL_BYTES)
    return Mark.of(os.pread(descriptor, end - start, start))
