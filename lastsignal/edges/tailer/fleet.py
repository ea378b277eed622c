"""All files that are known: who stands where, whose turn it is, and what befalls them."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import anyio

from lastsignal.core.file_names import original_name
from lastsignal.edges.tailer.config import TailerConfig
from lastsignal.edges.tailer.heads import Heads
from lastsignal.edges.tailer.marks import Mark
from lastsignal.edges.tailer.names import former_names
from lastsignal.edges.tailer.piece import Key, Piece, State
from lastsignal.edges.tailer.tailed import Phase, Signature, TailedFile
from lastsignal.edges.tailer.trouble import OnTrouble, Trouble, TroubleKind
from lastsignal.edges.tailer.turns import Turns

_REMEMBERED_ENDED = 256  # whose compressed copy may still appear
_MAX_ALIKE = 32  # files of one beginning that a compressed one is compared with


@dataclass(frozen=True, slots=True)
class TailerStats:
    """Figures for metrics."""

    files: int
    open_files: int
    deleted_open_files: int
    pending_files: int
    behind_bytes: int
    """Known bytes that have not been delivered; of compressed files, none."""
    is_polling: bool


class Fleet:
    """The known files; used on the event loop only, except that `inodes` may be read anywhere."""

    def __init__(self, config: TailerConfig, on_trouble: OnTrouble) -> None:
        self.config = config
        self.by_key: dict[Key, TailedFile] = {}
        self.by_path: dict[str, TailedFile] = {}
        self.inodes: Counter[int] = Counter()
        self.parted: dict[TailedFile, None] = {}
        """Files without a place, in order, until it is clear who goes on with them."""
        self.waiting: dict[TailedFile, None] = {}
        self.astray: dict[TailedFile, None] = {}
        self.rotated: set[str] = set()
        """Original names of which rotated files have been seen."""
        self.looks_are_prompt = True
        """Does a look that is asked for come soon?"""
        self.turns = Turns()
        self.held: dict[TailedFile, None] = {}
        """Files with a descriptor, the least recently active first."""
        self.partings: deque[Piece] = deque()
        """Pieces without data that wait to be sent."""
        self.suspects: set[str] = set()
        """Folders where something has happened that only a look explains."""
        self.needs_look = False
        self.on_change = anyio.Event()
        self._tell = on_trouble
        self._ended: deque[TailedFile] = deque(maxlen=_REMEMBERED_ENDED)
        self._placed_heads = Heads()
        self._parted_heads = Heads()

    # Who stands where

    def place(self, file: TailedFile, key: Key, paths: Iterable[str], path: str) -> None:
        """Note where a file stands."""
        paths = frozenset(paths)
        self.note_astray(file, is_astray=False)
        if file.path == path and file.paths == paths and self.by_key.get(key) is file:
            return
        if self.by_key.get(file.key) is not file or file.key != key:
            self._forget_key(file)
            file.key = key
            self.by_key[key] = file
            self.inodes[key[1]] += 1
        for former in file.paths:
            if self.by_path.get(former) is file:
                del self.by_path[former]
        file.path, file.paths = path, paths
        if (name := original_name(path)) != path:
            self.rotated.add(name)
        for one in file.paths:
            self.by_path[one] = file

    def note_astray(self, file: TailedFile, *, is_astray: bool) -> None:
        """Note whether a closed file is not where it stood."""
        file.is_astray = is_astray
        if is_astray:
            self.astray[file] = None
        else:
            self.astray.pop(file, None)

    def displace(self, file: TailedFile) -> None:
        """Forget where a file stood: another may stand there now."""
        self.note_astray(file, is_astray=False)
        self._forget_key(file)
        for path in file.paths:
            if self.by_path.get(path) is file:
                del self.by_path[path]

    def _forget_key(self, file: TailedFile) -> None:
        if self.by_key.get(file.key) is file:
            del self.by_key[file.key]
            self.inodes[file.key[1]] -= 1
            if not self.inodes[file.key[1]]:
                del self.inodes[file.key[1]]

    # What has happened

    @property
    def is_settled(self) -> bool:
        """Has everything that is known been read and told?"""
        return self.turns.is_empty and not (self.parted or self.partings or self.astray)

    @property
    def awaits_news(self) -> bool:
        """Will a look or time show more of who comes before whom?"""
        if self.parted or self.astray or self.turns.unsure:
            return True
        return any(one.patience_ends is not None for one in self.waiting)

    def note_signature(self, file: TailedFile, seen: Signature, now: float) -> None:
        """Give a file a turn if it has changed."""
        if seen == file.seen:
            return
        file.changed_at = now
        file.seen = seen
        self.turns.queue(file)

    def suspect(self, path: str) -> None:
        """Have the folder of this path looked into."""
        self.suspects.add(os.path.dirname(path))  # noqa: PTH120  # many
        self.on_change.set()

    def adopt(self, file: TailedFile) -> None:
        """Take up a file whose beginning is known from a checkpoint."""
        self._placed_heads.add(file)
        self.place(file, file.key, (file.path,), file.path)

    # What befalls them

    def part(self, file: TailedFile, phase: Phase, now: float) -> None:
        """Note that a file has lost its place, and have it looked for who goes on with it."""
        file.close()
        self.held.pop(file, None)
        self.displace(file)
        file.path = file.home
        file.phase = phase
        file.searched_since, file.searches = now, 0
        file.displaced_at = None
        file.is_queued = False
        self.turns.unsure.pop(file, None)
        self.parted[file] = None
        self._placed_heads.remove(file)
        self._parted_heads.add(file)
        self.release_waiting(file)
        self.suspect(file.path)

    def note_displaced(self, file: TailedFile, now: float) -> None:
        """Note that an open file has left its name, and read what is left in it."""
        file.displaced_at = now
        self.turns.queue(file)
        self.suspect(file.path)

    def drop(self, file: TailedFile) -> None:
        """Forget a newcomer that is gone before anything of it was delivered."""
        file.close()
        self.held.pop(file, None)
        self.waiting.pop(file, None)
        self.turns.unsure.pop(file, None)
        self.displace(file)
        self._placed_heads.remove(file)
        file.phase = Phase.ENDED
        file.waits_for = file.patience_ends = None
        self.release_waiting(file)

    def release_waiting(self, file: TailedFile, *, deleted: bool = False) -> None:
        """Have those judged anew that wait for a file; perhaps only the deleted ones."""
        for one in [one for one in self.waiting if one.waits_for is file]:
            if not deleted or one.displaced_at is not None:
                self.reconsider(one)

    def await_order(self, file: TailedFile, now: float) -> None:
        """Have a look show, before a new file is read on, what comes before it.

        Among very many files looks are rare: there, only what is known to be rotated waits for one.
        """
        is_rotated = bool(file.after) or original_name(file.path) in self.rotated
        if not (is_rotated or self.looks_are_prompt):
            self.turns.go_on(file)
            return
        file.searched_since, file.searches = now, 0
        self.turns.hold(file)
        self.suspect(file.real_path or file.path)

    def reconsider(self, file: TailedFile) -> None:
        """Have a file judged anew of which nothing has been delivered."""
        self.waiting.pop(file, None)
        self.turns.unsure.pop(file, None)
        file.is_queued = file.is_in_order = False
        file.patience_ends = None
        file.phase = Phase.NEW
        file.waits_for = None
        file.candidates = None
        self.turns.queue(file)

    def absorb(self, file: TailedFile, copy: TailedFile) -> None:
        """Let a file go on in its copy's place."""
        file.close()
        self.held.pop(file, None)
        self.displace(file)
        self.displace(copy)
        file.descriptor, copy.descriptor = copy.descriptor, None
        file.stream, copy.stream = copy.stream, None
        file.generation = copy.generation
        file.is_verified = False
        self.held.pop(copy, None)
        if file.descriptor is not None:
            self.held[file] = None
        copy.phase, copy.heir_of = Phase.ENDED, file
        file.through = copy
        file.phase = Phase.FOLLOWED
        file.displaced_at = None
        file.told_end = False
        self.parted.pop(file, None)
        self._parted_heads.remove(file)
        self._placed_heads.remove(file)
        self._placed_heads.add(file)
        self.place(file, copy.key, copy.paths, copy.path)
        self._placed_heads.remove(copy)
        self.release_waiting(copy)
        self.turns.queue(file)

    def undo_absorb(self, file: TailedFile, now: float) -> None:
        """Take back the place of what has turned out to be no copy."""
        copy = file.through
        assert copy is not None
        file.through = None
        self.displace(file)
        copy.descriptor, file.descriptor = file.descriptor, None
        file.stream = None
        self.held.pop(file, None)
        if copy.descriptor is not None:
            self.held[copy] = None
        copy.heir_of = None
        copy.not_kin.append(file)
        self.place(copy, copy.key, copy.paths, copy.path)
        self.reconsider(copy)
        self.part(file, Phase.LOST, now)

    def end(self, file: TailedFile) -> None:
        """Let go of a file that nothing goes on with."""
        self.parted.pop(file, None)
        self._parted_heads.remove(file)
        if not file.head.length:
            file.phase = Phase.ENDED
            return
        state = State.TRUNCATED if file.phase is Phase.CUT else State.GONE
        self.partings.append(file.piece(b"", state))
        if file.phase is Phase.CUT:
            self.trouble(TroubleKind.TRUNCATED, file.path, f"cut before offset {file.offset}")
        elif file.was_never_found:
            self.trouble(TroubleKind.LOST, file.path, f"read up to offset {file.offset}")
        file.was_cut = file.phase is Phase.CUT
        file.phase = Phase.ENDED
        self._ended.append(file)
        self.turns.wake.set()

    def trouble(self, kind: TroubleKind, path: str, detail: str) -> None:
        """Tell of something that went wrong."""
        self._tell(Trouble(kind, path, detail))

    # Whose content is known

    def note_head(self, file: TailedFile, head: Mark) -> None:
        """Note by what a file's beginning is known."""
        if head != file.head:
            self._placed_heads.remove(file)
            file.head = head
            self._placed_heads.add(file)
            self.release_waiting(file)  # with more to go by, they may be no copies of it

    def kin_of(self, file: TailedFile, head: bytes, is_packed: bool) -> list[TailedFile]:
        """Return the files whose content may go on in this one, the likeliest first."""
        found = dict.fromkeys(self._parted_heads.alike(head))
        found.update(dict.fromkeys(one for one in self.held if one.displaced_at is not None))
        for name in (file.path, *former_names(file.path)):
            if (one := self.by_path.get(name)) is not None:
                found[one] = None
        found.update(dict.fromkeys(reversed(self._ended)))
        if is_packed or file.displaced_at is not None:
            found.update(dict.fromkeys(islice(self._placed_heads.alike(head), _MAX_ALIKE)))
        return [
            one
            for one in found
            if one is not file
            and one not in file.not_kin
            and one.head.length
            and one.head.fits(head)
        ]

    def stats(self, is_polling: bool) -> TailerStats:
        """Return figures for metrics."""
        pending = {one for one in [*self.by_key.values(), *self.held] if one.is_queued}
        return TailerStats(
            files=len(self.by_key),
            open_files=len(self.held),
            deleted_open_files=sum(one.displaced_at is not None for one in self.held),
            pending_files=len(pending),
            behind_bytes=sum(
                max(0, one.seen[0] - one.offset)
                for one in pending
                if one.stream is None or not one.stream.is_packed
            ),
            is_polling=is_polling,
        )
