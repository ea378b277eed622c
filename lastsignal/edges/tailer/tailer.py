"""The tailer: looks, reads and hands on until it is told to end."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import ObjectSendStream

from lastsignal.edges.tailer.config import TailerConfig
from lastsignal.edges.tailer.fleet import Fleet, TailerStats
from lastsignal.edges.tailer.holder import Holder
from lastsignal.edges.tailer.keeper import Keeper
from lastsignal.edges.tailer.kinship import Kinship
from lastsignal.edges.tailer.listing import Finder, Found, Listing
from lastsignal.edges.tailer.patterns import Patterns
from lastsignal.edges.tailer.piece import FileCheckpoint, Piece
from lastsignal.edges.tailer.reader import Reader
from lastsignal.edges.tailer.tailed import Phase
from lastsignal.edges.tailer.trouble import OnTrouble, TroubleKind, ignore_trouble
from lastsignal.edges.tailer.watching import FolderWatch, Watch, default_watch

_CHECK_INTERVAL = 0.25  # seconds, of what is open: one call of the system a file
_MAX_LOOKING_SHARE = 0.1  # of a processor, whatever happens on the disk
_PROMPT = 0.2  # seconds
_MAX_HINTS = 1000  # more are looked after by one full look

_Result = TypeVar("_Result")


class Tailer:
    """Follows files; one run, then it is used up.

    Args:
        config: what to tail.
        checkpoints: what the consumer has kept of the last run.
        on_trouble: told of what goes wrong.
        watch: what tells of changes.
    """

    def __init__(
        self,
        config: TailerConfig,
        checkpoints: Iterable[FileCheckpoint] = (),
        *,
        on_trouble: OnTrouble = ignore_trouble,
        watch: Watch = default_watch,
    ) -> None:
        now = time.monotonic
        checkpoints = list(checkpoints)
        self._now = now
        self._config = config
        self._patterns = Patterns(config)
        self._fleet = Fleet(config, on_trouble)
        self._holder = Holder(self._fleet, now)
        self._keeper = Keeper(self._fleet, now)
        self._kinship = Kinship(self._fleet, now)
        self._reader = Reader(self._fleet, self._holder, self._keeper, self._kinship, now)
        linked = [one.real_path for one in checkpoints if one.real_path != one.path]
        self._finder = Finder(self._patterns, self._fleet.inodes, linked)
        self._watch = FolderWatch(watch, self._patterns, self._note_hints, self._note_watching)
        self._checkpoints = checkpoints
        self._hints: set[str] = set()
        self._next_look = 0.0
        self._next_check = 0.0
        self._no_look_before = 0.0
        self._is_draining = False
        self._scope: anyio.CancelScope | None = None
        self._ended = anyio.Event()

    async def run(self, stream: ObjectSendStream[Piece]) -> None:
        """Send pieces until drained or cancelled; closes the stream.

        A send that waits holds back reading, and nothing else.
        """
        try:
            with anyio.CancelScope() as self._scope:
                async with stream, anyio.create_task_group() as tasks:
                    self._keeper.resume(self._checkpoints)
                    await self._look()
                    if self._config.notifies:
                        tasks.start_soon(self._watch.run)
                    tasks.start_soon(self._keep)
                    await self._reader.run(stream)
                    tasks.cancel_scope.cancel()
        finally:
            for file in list(self._fleet.held):
                self._holder.close(file)
            self._ended.set()

    async def drain(self, seconds: float) -> bool:
        """End the run when every byte that is there now has been sent; True if that was in time."""
        self._is_draining = True
        self._fleet.on_change.set()
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        if self._ended.is_set():
            return True
        stats = self.stats()
        detail = f"{stats.pending_files} files, at least {stats.behind_bytes} bytes"
        self._fleet.trouble(TroubleKind.UNDRAINED, "", detail)
        if self._scope is not None:
            self._scope.cancel()
        await self._ended.wait()
        return False

    def stats(self) -> TailerStats:
        """Return figures for metrics."""
        return self._fleet.stats(self._is_polling)

    @property
    def _is_polling(self) -> bool:
        return not self._config.notifies or self._watch.has_failed

    # Keeping up with the disk

    async def _keep(self) -> None:
        while True:
            with anyio.move_on_after(self._seconds_to_wait()):
                await self._fleet.on_change.wait()
            self._fleet.on_change = anyio.Event()
            if self._is_draining and not self._reader.is_draining:
                await self._look_for_the_last_time()
            else:
                await self._keep_up()
            self._keeper.settle()
            await self._holder.open_pending()

    def _seconds_to_wait(self) -> float:
        due = self._next_look
        if self._fleet.held or self._fleet.waiting or self._fleet.turns.unsure:
            due = min(due, self._next_check)
        if self._fleet.suspects or self._fleet.needs_look:
            due = min(due, self._no_look_before)
        return max(0.0, due - self._now())

    async def _keep_up(self) -> None:
        now = self._now()
        if self._hints:
            await self._follow_hints()
        if now >= self._no_look_before:
            if self._fleet.needs_look or now >= self._next_look:
                await self._look()
            elif self._fleet.suspects:
                await self._look(everywhere=False)
        if now >= self._next_check:
            self._next_check = now + _CHECK_INTERVAL
            await self._holder.check()
            self._keeper.put_overdue_in_order()
            for file in list(self._fleet.waiting):
                if file.patience_ends is not None and now >= file.patience_ends:
                    self._fleet.reconsider(file)

    async def _look_for_the_last_time(self) -> None:
        await self._holder.check()
        await self._look()
        self._kinship.is_patient = False
        for file in list(self._fleet.waiting):
            if file.patience_ends is not None:
                self._fleet.reconsider(file)
        for file in list(self._fleet.by_key.values()):
            if file.descriptor is not None and file.phase is not Phase.WAITING:
                self._fleet.turns.queue(file)
            elif file.phase is Phase.NEW and file.seen[0] > 0:
                self._fleet.turns.queue(file)
        for file in list(self._fleet.held):
            if file.displaced_at is not None:
                self._fleet.turns.queue(file)
        self._reader.is_draining = True
        self._fleet.turns.wake.set()

    async def _look(self, *, everywhere: bool = True) -> None:
        begun_at = self._now()
        suspects, self._fleet.suspects = self._fleet.suspects, set()
        if everywhere:
            self._fleet.needs_look = False
            look: Callable[[], Listing] = self._finder.look_everywhere
        else:
            look = partial(self._finder.look_into, suspects)
        listing, cost = await anyio.to_thread.run_sync(_measured, look)
        cost += _measured(partial(self._keeper.apply, listing, begun_at))[1]
        self._plan_next_look(listing, self._now() - begun_at, cost)

    def _plan_next_look(self, listing: Listing, taken: float, cost: float) -> None:
        now = self._now()
        self._no_look_before = now + max(taken, cost / _MAX_LOOKING_SHARE)
        self._fleet.looks_are_prompt = cost / _MAX_LOOKING_SHARE < _PROMPT
        if listing.is_full:
            self._watch.note_folders(listing)
            interval = (
                self._config.poll_interval if self._is_polling else self._config.scan_interval
            )
            self._next_look = max(now + interval, self._no_look_before)

    # Hints

    def _note_hints(self, paths: set[str]) -> None:
        self._hints |= paths
        self._fleet.on_change.set()

    def _note_watching(self, failure: str | None) -> None:
        """Look at once when watching begins: what happened before is not told."""
        if failure is not None:
            self._fleet.trouble(TroubleKind.NO_NOTIFICATION, "", failure)
            self._next_look = min(self._next_look, self._now() + self._config.poll_interval)
        else:
            self._fleet.needs_look = True
        self._fleet.on_change.set()

    async def _follow_hints(self) -> None:
        hints, self._hints = self._hints, set()
        if len(hints) > _MAX_HINTS:
            self._fleet.needs_look = True
            return
        found = await anyio.to_thread.run_sync(_stat_all, sorted(hints))
        now = self._now()
        new = [one for path, info in found if (one := self._follow_hint(path, info, now))]
        suspects = self._fleet.suspects  # where a look must tell first what has come before
        self._keeper.admit(
            one
            for one in new
            if os.path.dirname(one.path) not in suspects  # noqa: PTH120  # many
        )

    def _follow_hint(self, path: str, info: os.stat_result | None, now: float) -> Found | None:
        """Note what a hint tells; return a new file that needs no look."""
        fleet = self._fleet
        holder = fleet.by_path.get(path)
        if info is None:
            if holder is not None:
                fleet.suspect(path)
            return None
        if stat.S_ISDIR(info.st_mode):
            fleet.needs_look = True
            return None
        key = info.st_dev, info.st_ino
        file = fleet.by_key.get(key)
        if file is not None:
            if file.is_unreadable:  # it may be readable now
                fleet.turns.queue(file)
            fleet.note_signature(file, (info.st_size, info.st_mtime_ns), now)
            if holder is not file:
                fleet.suspect(path)
        elif holder is not None or self._finder.is_sibling(path):
            fleet.suspect(path)
        elif self._finder.is_plain_match(path, info):
            return Found(path, key, info.st_size, info.st_mtime_ns, True)
        return None


def _measured(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Return what the work returns, and how long it kept a processor busy."""
    begun_at = time.thread_time()
    return work(), time.thread_time() - begun_at


def _stat_all(paths: list[str]) -> list[tuple[str, os.stat_result | None]]:
    found: list[tuple[str, os.stat_result | None]] = []
    for path in paths:
        try:
            found.append((path, os.stat(path)))  # noqa: PTH116  # many
        except OSError:
            found.append((path, None))
    return found
