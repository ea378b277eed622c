"""Whose turn it is: every file with something to do, one after another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import anyio

from lastsignal.edges.tailer.tailed import Phase, TailedFile


class Turns:
    """A queue in which each file stands once at most."""

    def __init__(self) -> None:
        self.wake = anyio.Event()
        """Set when there may be something to do."""
        self.current: dict[TailedFile, None] = {}
        """The files whose turn it is: only that may close them."""
        self.unsure: dict[TailedFile, None] = {}
        """New files that wait for a look which shows what comes before them."""
        self._ready: OrderedDict[TailedFile, None] = OrderedDict()

    @property
    def pending(self) -> Iterable[TailedFile]:
        """The files that have a turn or wait for one."""
        yield from self.current
        yield from self._ready
        yield from self.unsure

    @property
    def is_empty(self) -> bool:
        """Is nobody waiting?"""
        return not (self._ready or self.unsure)

    def queue(self, file: TailedFile) -> None:
        """Give a file a turn, once."""
        file.is_dirty = True
        if not file.is_queued and file.phase is not Phase.ENDED:
            file.is_queued = True
            self._ready[file] = None
        self.wake.set()

    def rest(self, file: TailedFile) -> None:
        """Give a file no more turns until it changes."""
        file.is_queued = False
        if file.is_dirty:
            self.queue(file)

    def requeue(self, file: TailedFile) -> None:
        """Give a file that has had its turn another one, behind all others."""
        self._ready[file] = None

    def go_on(self, file: TailedFile) -> None:
        """Give a file that has had its turn the next one, too."""
        self._ready[file] = None
        self._ready.move_to_end(file, last=False)

    def hold(self, file: TailedFile) -> None:
        """Give a file that has had its turn no other one before it is sure what precedes it."""
        self.unsure[file] = None

    def release(self, file: TailedFile) -> None:
        """Give a file that was held its turn."""
        del self.unsure[file]
        self.go_on(file)
        self.wake.set()

    def next_ready(self, most: int, *, may_force: bool) -> list[TailedFile]:
        """Return files whose turn it is; those whose forerunners are behind let others pass.

        Args:
            most: how many at most.
            may_force: let one go if each waits for another: nothing else will help them.
        """
        ready: list[TailedFile] = []
        for file in list(self._ready):
            if file.phase is Phase.ENDED:
                file.is_queued = False
                del self._ready[file]
            elif self._is_blocked(file):
                self._ready.move_to_end(file)
            else:
                del self._ready[file]
                ready.append(file)
                if len(ready) == most:
                    break
        if not ready and self._ready and may_force:
            file, _ = self._ready.popitem(last=False)
            file.after, file.is_in_order = [], False
            ready.append(file)
        return ready

    def _is_blocked(self, file: TailedFile) -> bool:
        if file.phase is not Phase.FOLLOWED:
            return False
        while file.after:
            one, target = file.after[-1]
            if not one.is_past(target, file):
                return True
            # it may have gone another way than to be read: what it waited for remains
            file.after[-1:] = [edge for edge in one.after if edge[0] is not file]
        file.is_in_order = False
        return False
