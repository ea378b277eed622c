"""The open descriptors: few, closed when idle, and open for as long as a byte may be lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import anyio.to_thread

from lastsignal.edges.tailer.fleet import Fleet
from lastsignal.edges.tailer.piece import Key
from lastsignal.edges.tailer.streams import ReplacedError, open_file
from lastsignal.edges.tailer.tailed import UNSEEN, Phase, TailedFile
from lastsignal.edges.tailer.trouble import TroubleKind

IDLE_SECONDS = 10.0
"""A file that says nothing for as long is closed, and opened again when it has changed."""

_Opened = tuple[TailedFile, Key, int | OSError]


class Holder:
    """Opens and closes what the fleet knows."""

    def __init__(self, fleet: Fleet, now: Callable[[], float]) -> None:
        self._fleet = fleet
        self._now = now
        self._is_over_limit = False

    async def open(self, files: Iterable[TailedFile]) -> None:
        """Open files for their turn, as far as that can be done."""
        orders = [_order(file) for file in files if file.descriptor is None]
        if orders:
            self._note(await anyio.to_thread.run_sync(_open_all, orders))

    async def open_pending(self) -> None:
        """Open the files that wait for their turn: they may be deleted before it comes."""
        free = self._fleet.config.max_open_files - len(self._fleet.held)
        free += sum(1 for one in self._fleet.held if self._is_evictable(one))
        closed = [
            one
            for one in self._fleet.turns.pending
            if one.descriptor is None and not one.is_parted and not one.is_unreadable
        ]
        if len(closed) > max(0, free):
            if not self._is_over_limit:
                detail = f"{len(closed) - free} files wait unopened"
                self._fleet.trouble(TroubleKind.OPEN_LIMIT, closed[-1].path, detail)
            closed = closed[: max(0, free)]
            self._is_over_limit = True
        else:
            self._is_over_limit = False
        if closed:
            await self.open(closed)

    def _note(self, opened: Iterable[_Opened]) -> None:
        for file, key, result in opened:
            if isinstance(result, int):
                is_wanted = file.descriptor is None and file.key == key and not _is_over(file)
                if not is_wanted or not (self._makes_room() or file in self._fleet.turns.current):
                    os.close(result)
                    continue
                file.descriptor = result
                file.is_unreadable = False
                self._fleet.held[file] = None
            elif file.descriptor is None and not _is_over(file):
                self._note_failure(file, result)

    def _note_failure(self, file: TailedFile, error: OSError) -> None:
        is_moved = isinstance(error, FileNotFoundError | NotADirectoryError | ReplacedError)
        file.seen = UNSEEN  # so that the next look gives it a turn
        if is_moved:  # the look finds it under its new name
            self._fleet.note_astray(file, is_astray=True)
            self._fleet.suspect(file.path)
        elif not file.is_unreadable:
            file.is_unreadable = True
            self._fleet.trouble(TroubleKind.UNREADABLE, file.path, str(error))

    def _makes_room(self) -> bool:
        if len(self._fleet.held) < self._fleet.config.max_open_files:
            return True
        in_place = [one for one in self._fleet.held if one.displaced_at is None]
        in_place = [one for one in in_place if one not in self._fleet.turns.current]
        idle = next((one for one in in_place if self._is_evictable(one)), None)
        if (file := idle or next(reversed(in_place), None)) is None:
            return False
        self.close(file)
        return True

    def _is_evictable(self, file: TailedFile) -> bool:
        return (
            not file.is_queued
            and file.displaced_at is None
            and file not in self._fleet.turns.current
        )

    def close(self, file: TailedFile) -> None:
        """Close a file that stays known."""
        file.close()
        self._fleet.held.pop(file, None)

    def touch(self, file: TailedFile) -> None:
        """Note that a file has just said something: others are closed before it."""
        file.active_at = self._now()
        if file in self._fleet.held:
            del self._fleet.held[file]
            self._fleet.held[file] = None

    async def check(self) -> None:
        """Look at what is open: has it grown, been deleted, been idle for long?"""
        held = [
            (one, one.descriptor)
            for one in self._fleet.held
            if one.descriptor is not None and one not in self._fleet.turns.current
        ]
        if not held:
            return
        now = self._now()
        for file, info in await anyio.to_thread.run_sync(_stat_all, held):
            if file not in self._fleet.held or (info.st_dev, info.st_ino) != file.key:
                continue
            self._fleet.note_signature(file, (info.st_size, info.st_mtime_ns), now)
            if not info.st_nlink and file.displaced_at is None:
                self._fleet.note_displaced(file, now)
            if not file.is_queued and file not in self._fleet.turns.current:
                self._let_go_if_quiet(file, now)
        self._drop_surplus()

    def _let_go_if_quiet(self, file: TailedFile, now: float) -> None:
        if file.displaced_at is None:
            if now - file.active_at > IDLE_SECONDS and file.phase is not Phase.WAITING:
                self.close(file)
        elif now - max(file.active_at, file.displaced_at) > self._fleet.config.wait_after_rename:
            self._let_go(file)

    def _let_go(self, file: TailedFile) -> None:
        if file.phase is Phase.FOLLOWED:
            self._fleet.part(file, Phase.LOST, self._now())
        else:
            self._fleet.drop(file)

    def _drop_surplus(self) -> None:
        deleted = [one for one in self._fleet.held if one.displaced_at is not None]
        deleted.sort(key=lambda one: one.displaced_at or 0.0)
        surplus = max(0, len(deleted) - self._fleet.config.max_deleted_files)
        for file in deleted[:surplus]:
            if file in self._fleet.turns.current:
                continue
            if unread := max(0, file.seen[0] - file.offset):
                self._fleet.trouble(
                    TroubleKind.DELETED_DROPPED, file.path, f"{unread} bytes were not read"
                )
            self._let_go(file)


def _is_over(file: TailedFile) -> bool:
    return file.is_parted or file.phase is Phase.ENDED


def _order(file: TailedFile) -> tuple[TailedFile, Key, list[str]]:
    return file, file.key, [file.path, *(file.paths - {file.path})]


def _open_all(orders: list[tuple[TailedFile, Key, list[str]]]) -> list[_Opened]:
    return [(file, key, _open_any(paths, key)) for file, key, paths in orders]


def _open_any(paths: list[str], key: Key) -> int | OSError:
    fault: OSError | None = None
    for path in paths:
        try:
            return open_file(path, key)
        except OSError as error:
            fault = fault or error
    assert fault is not None
    return fault


def _stat_all(held: list[tuple[TailedFile, int]]) -> list[tuple[TailedFile, os.stat_result]]:
    found = []
    for file, descriptor in held:
        try:
            found.append((file, os.fstat(descriptor)))
        except OSError:  # closed meanwhile
            continue
    return found
