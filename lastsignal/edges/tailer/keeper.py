"""Brings what is known up to what a look at the disk has found. Reads no content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from lastsignal.core.file_names import original_name
from lastsignal.edges.tailer.families import Families
from lastsignal.edges.tailer.fleet import Fleet
from lastsignal.edges.tailer.listing import Found, Listing
from lastsignal.edges.tailer.names import age_of
from lastsignal.edges.tailer.piece import FileCheckpoint, State
from lastsignal.edges.tailer.tailed import EVERYTHING, Phase, TailedFile
from lastsignal.edges.tailer.trouble import TroubleKind

_LEFT = 2  # looks in a row that miss a file: one may have been taken while it was renamed
_STEADY_LOOK = 3  # what a look counts during which nothing moved in the folder; else it counts one
_SURE_OF_ORDER = 3
_SURE_THAT_GONE = 6
_ORDER_PATIENCE = 2.0  # seconds; a folder of a million files takes longer to look at


class Keeper:
    """Applies listings to the fleet."""

    def __init__(self, fleet: Fleet, now: Callable[[], float]) -> None:
        self._fleet = fleet
        self._families = Families()
        self._start = fleet.config.start
        self._now = now
        self._is_first = True
        self._resumed: set[str] = set()  # original names of which files have been read
        self._faults: set[str] = set()

    def resume(self, checkpoints: Iterable[FileCheckpoint]) -> None:
        """Take up what was known before; the first listing says where it stands now."""
        if self._start != "checkpoint":
            return
        now = self._now()
        # the last user of an inode is who holds it; what it held before may stand elsewhere by now
        for known in sorted(checkpoints, key=lambda one: one.modified_ns, reverse=True):
            self._resumed.add(original_name(known.path))
            file = TailedFile.resumed(known, now)
            if file.key in self._fleet.by_key:
                self._fleet.part(file, Phase.LOST, now)
                file.was_never_found = True
            else:
                self._fleet.adopt(file)

    def apply(self, listing: Listing, begun_at: float) -> None:
        """Note what a listing says."""
        now = self._now()
        former = self._former_holders(listing)
        new = []
        for key, names in listing.found.items():
            file = self._fleet.by_key.get(key) or self._moved_device(names)
            if file is None:
                new.append(names)
            else:
                self._note_found(file, names, now)
        self._note_missing(listing, now)
        self._admit_all(new, former, now)
        self._note_searched(listing, begun_at)
        self._note_faults(listing)
        self._is_first = False

    def admit(self, found: Iterable[Found]) -> None:
        """Take up files that appeared at names where nothing stood."""
        self._admit_all([[one] for one in found], {}, self._now())

    def _former_holders(self, listing: Listing) -> dict[str, TailedFile]:
        """Return who stood at the names where something else stands now."""
        former = {}
        for key, names in listing.found.items():
            for one in names:
                file = self._fleet.by_path.get(one.path)
                if file is not None and file.key != key:
                    former[one.path] = file
        return former

    def _moved_device(self, names: list[Found]) -> TailedFile | None:
        """Find a file whose device is numbered anew since the last run."""
        if not self._is_first:
            return None
        for one in names:
            file = self._fleet.by_path.get(one.path)
            if file is not None and file.key[1] == one.key[1]:
                return file
        return None

    def _note_found(self, file: TailedFile, names: list[Found], now: float) -> None:
        paths = [one.path for one in names]
        best = file.path if file.path in paths else _best(names).path
        was_parted = file.displaced_at is not None
        self._fleet.place(file, names[0].key, paths, best)
        file.real_path = next((one.path for one in names if not one.is_matched), best)
        if file.is_verified:
            file.home = best
        file.missing = 0
        file.displaced_at = None
        if self._is_first and file.seen == (names[0].size, names[0].modified_ns):
            file.told_end = True
            self._fleet.partings.append(file.piece(b"", State.AT_END))
            return
        if file.is_unreadable or was_parted:
            self._fleet.turns.queue(file)
        self._fleet.note_signature(file, (names[0].size, names[0].modified_ns), now)

    def _note_missing(self, listing: Listing, now: float) -> None:
        for file in list(self._fleet.by_key.values()):
            if file.key in listing.found:
                continue
            if not _covers(listing, file.path):
                if listing.is_full:  # nobody can tell
                    self._fleet.note_astray(file, is_astray=False)
                continue
            if file.descriptor is not None:
                if file.displaced_at is None:
                    self._fleet.note_displaced(file, now)
                continue
            file.missing += listing.is_full
            self._fleet.note_astray(file, is_astray=True)
            if file.missing >= _LEFT or self._is_first:
                self._note_left(file, now)
            else:
                self._fleet.needs_look = True

    def _note_left(self, file: TailedFile, now: float) -> None:
        if file.phase is Phase.FOLLOWED:
            file.was_never_found = self._is_first
            self._fleet.part(file, Phase.LOST, now)
        elif not file.is_parted:
            self._fleet.drop(file)

    def _admit_all(self, new: list[list[Found]], former: dict[str, TailedFile], now: float) -> None:
        """Take up new files, in the order in which they were written to."""
        new.sort(key=lambda names: (names[0].modified_ns, age_of(names[0].path), names[0].path))
        for names in new:
            best = _best(names)
            file = TailedFile(best.path, best.key, now, changed_at=now)
            self._decide_start(file, best)
            file.after = [(former[one.path], EVERYTHING) for one in names if one.path in former]
            file.seen = best.size, best.modified_ns
            file.real_path = next((one.path for one in names if not one.is_matched), best.path)
            self._fleet.place(file, best.key, [one.path for one in names], best.path)
            self._fleet.turns.queue(file)

    def _decide_start(self, file: TailedFile, found: Found) -> None:
        """A rotated file that is there at the first start is over; later ones were missed."""
        if self._is_first:
            is_over = not found.is_matched and original_name(found.path) not in self._resumed
            file.starts_at_end = self._start == "end" or is_over

    def _note_searched(self, listing: Listing, begun_at: float) -> None:
        for file in self._fleet.parted:
            if (file.searched_since <= begun_at or self._is_first) and _covers(listing, file.path):
                file.searches += _weight(listing, file.path)
                if file.searches < _SURE_THAT_GONE:
                    self._fleet.suspect(file.path)
        sure = []
        for file in self._fleet.turns.unsure:
            path = file.real_path or file.path
            if file.searched_since <= begun_at and (listing.is_full or _covers(listing, path)):
                file.searches += _weight(listing, path)
                if file.searches >= _SURE_OF_ORDER:
                    sure.append(file)
                else:
                    self._fleet.suspect(path)
        self._put_in_order(sure, is_overdue=False)

    def put_overdue_in_order(self) -> None:
        """Let new files go that have waited for looks for too long."""
        latest = self._now() - _ORDER_PATIENCE
        overdue = [one for one in self._fleet.turns.unsure if one.searched_since <= latest]
        self._put_in_order(overdue, is_overdue=True)

    def _put_in_order(self, files: list[TailedFile], *, is_overdue: bool) -> None:
        """Give new files their turns, each behind what is known to come before it."""
        if not files:
            return
        fleet = self._fleet
        known = [*fleet.turns.pending, *fleet.waiting, *fleet.parted, *fleet.astray]
        placed = self._families.put_in_order(files, known, is_overdue=is_overdue)
        for file in reversed(placed):
            fleet.turns.release(file)
        for file in fleet.turns.unsure:
            fleet.suspect(file.real_path or file.path)

    def _note_faults(self, listing: Listing) -> None:
        for path, error in listing.faults.items():
            if path not in self._faults:
                self._fleet.trouble(TroubleKind.UNREADABLE, path, str(error))
        if listing.is_full:
            self._faults = set(listing.faults)
        else:
            self._faults |= set(listing.faults)

    def settle(self) -> None:
        """Let go of files without a place once nobody can be found who goes on with them."""
        if not self._fleet.parted:
            return
        undecided = {
            os.path.dirname(one.path)  # noqa: PTH120  # many
            for one in self._fleet.turns.pending
            if one.phase is Phase.NEW
        }
        awaited = {one.waits_for for one in self._fleet.waiting}
        for file in list(self._fleet.parted):
            folder = os.path.dirname(file.path)  # noqa: PTH120
            if file.searches >= _SURE_THAT_GONE and folder not in undecided and file not in awaited:
                self._fleet.end(file)


def _best(names: list[Found]) -> Found:
    return next((one for one in names if one.is_matched), names[0])


def _weight(listing: Listing, path: str) -> int:
    """Return how much a look counts that was to show all that belongs to a file."""
    is_steady = os.path.dirname(path) not in listing.unsteady  # noqa: PTH120  # many
    return _STEADY_LOOK if is_steady else 1


def _covers(listing: Listing, path: str) -> bool:
    """Would the listing show a file of this path?"""
    if listing.is_full:
        return not any(path == one or path.startswith(f"{one}/") for one in listing.faults)
    return os.path.dirname(path) in listing.folders  # noqa: PTH120
