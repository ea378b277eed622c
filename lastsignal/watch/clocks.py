"""Files that stand at their end: their clocks go on with the world's.

A file that was not being written when it was read has no clock: an old one, and a fresh copy of an
old one. What it leaves open was left so long ago, and is no news.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lastsignal.edges.tailer import Piece, State
from lastsignal.watch.pipeline import Pipeline

HOLD_AT_END = 2.0  # seconds, besides a dialect's own disorder, before held events are let go
LIVE = 3600.0  # seconds since the last write, within which a file is taken to be live
STEP = 1.0  # seconds between looks at the clocks: there may be thousands
TICK = 0.25  # seconds between looks while a file has come to its end of late
ZONES = 16 * 3600.0  # seconds that times without a zone may be off


@dataclass(slots=True)
class Standing:
    """A file that stands at its end."""

    file_id: str
    pipeline: Pipeline
    since: float
    """Monotonic: a wall clock that is set means nothing."""
    age: float
    """Seconds that it had been standing when that was seen: more than none after a restart."""

    @property
    def now(self) -> float:
        """Return its clock: the highest time in it, and what has passed since."""
        reader = self.pipeline.reader
        return (reader.clock or reader.ingest_time) + self.age + time.monotonic() - self.since


class Clocks:
    """All files that stand at their end.

    Args:
        wall: the wall clock.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._standing: dict[str, Standing] = {}
        self._fresh: dict[str, Standing] = {}
        """Those that have not stood for long yet."""
        self._next_step = 0.0

    def note(self, piece: Piece, pipeline: Pipeline) -> None:
        """Take what a piece says of where its file stands."""
        if piece.state is not State.AT_END:
            self._standing.pop(piece.file_id, None)
            self._fresh.pop(piece.file_id, None)
            return
        modified, now = piece.checkpoint.modified_ns / 1e9, self._wall()
        age = max(0.0, now - modified)
        clock = pipeline.reader.clock
        if age < LIVE and (not clock or abs(modified - clock) < ZONES):
            pipeline.is_live = True
        standing = Standing(piece.file_id, pipeline, time.monotonic(), age)
        self._standing[piece.file_id] = self._fresh[piece.file_id] = standing

    def patience(self) -> float:
        """Return after how many seconds to look again, at most."""
        return TICK if self._fresh else STEP

    def due(self) -> Iterator[Standing]:
        """Yield, once each, the files that have stood so long that nothing held must wait."""
        now = time.monotonic()
        for one in list(self._fresh.values()):
            if now - one.since >= HOLD_AT_END + one.pipeline.reader.disorder_seconds:
                del self._fresh[one.file_id]
                yield one

    def live(self) -> Iterator[Standing]:
        """Yield, once a second, the files whose clocks go on; what tells nothing yet has none.

        Rotation gives a new, empty file the name, and so the clock, of the one before it.
        """
        now = time.monotonic()
        if now < self._next_step:
            return
        self._next_step = now + STEP
        for one in self._standing.values():
            reader = one.pipeline.reader
            if one.pipeline.is_live and (reader.clock or reader.events):
                yield one

    def is_holding(self) -> bool:
        """Whether a file that stands at its end is yet to be let go of what it holds."""
        return any(one.pipeline.is_holding for one in self._fresh.values())
