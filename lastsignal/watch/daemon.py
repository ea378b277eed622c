"""The daemon's loop: piece → events → findings → incidents → commit → notifications.

Nothing leaves the machine before the commit that holds it; nothing is read twice after one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream

from lastsignal.core.incidents import Notice
from lastsignal.edges.store import Changes, Store, StoreError
from lastsignal.edges.tailer import Piece, State
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.observer import Observer
from lastsignal.watch.pipeline import Pipeline, Pipelines

TICK = 0.25  # seconds between looks at the clock while nothing is read
HOLD_AT_END = 2.0  # seconds, besides a dialect's own disorder, before held events are let go
LIVE = 3600.0  # seconds since the last write, within which a file at its end still has a clock

Routed = Sequence[tuple[Notice, Sequence[str]]]


def tell_nobody(notices: list[Notice]) -> Routed:
    """Route every notice to no target."""
    return []


def wake_nobody() -> None:
    """There is no notifier."""


@dataclass(slots=True)
class _Standing:
    """A file that stands at its end."""

    pipeline: Pipeline
    since: float
    """Monotonic."""
    modified: float
    """Epoch seconds of its last write."""
    is_released: bool = False


@dataclass(slots=True)
class Daemon:
    """The parts of a running watch, and the loop that moves them."""

    pipelines: Pipelines
    analysis: Analysis
    store: Store
    commit_interval: float
    """Seconds between commits while nothing is found."""
    route: Callable[[list[Notice]], Routed] = tell_nobody
    """Says who is told of a notice."""
    wake: Callable[[], None] = wake_nobody
    """Tells the notifier that a commit holds something for it."""
    observer: Observer = field(default_factory=Observer)
    unwritten: Changes = field(default_factory=Changes)
    """What a failed commit could not write."""
    standing: dict[str, _Standing] = field(default_factory=dict)
    committed_at: float | None = None
    """Epoch seconds of the last commit."""
    commit_error: str | None = None
    """Why the last commit failed; None while all is well."""

    async def run(self, pieces: MemoryObjectReceiveStream[Piece]) -> None:
        """Read until the pieces end; what is read by then is committed."""
        next_commit = time.monotonic() + self.commit_interval
        async with pieces:
            while True:
                piece: Piece | None = None
                with anyio.move_on_after(TICK):
                    try:
                        piece = await pieces.receive()
                    except anyio.EndOfStream:
                        break
                found = self.tick() if piece is None else self.take(piece)
                if found or time.monotonic() >= next_commit:
                    await self.commit()
                    next_commit = time.monotonic() + self.commit_interval
        await self.commit()

    def take(self, piece: Piece) -> bool:
        """Take a piece of a file; return whether a finding has opened or changed."""
        pipeline = self.pipelines.of(piece)
        events = pipeline.take(piece)
        found = self.analysis.feed(events)
        self.observer.read(piece, events, pipeline.skipped())
        if piece.state is State.AT_END:
            modified = piece.checkpoint.modified_ns / 1e9
            self.standing[piece.file_id] = _Standing(pipeline, time.monotonic(), modified)
        else:
            self.standing.pop(piece.file_id, None)
        self.pipelines.settle(piece)
        return found

    def tick(self) -> bool:
        """Let the clocks of files that stand at their end go on with the world's.

        A file that nobody has written to for long has no clock: what it leaves open was left so
        long ago, and is no news.
        """
        found, now, wall = False, time.monotonic(), time.time()
        for file_id, standing in self.standing.items():
            waited = now - standing.since
            reader = standing.pipeline.reader
            if not standing.is_released and waited >= HOLD_AT_END + reader.disorder_seconds:
                standing.is_released = True
                found = self.analysis.feed(standing.pipeline.release()) or found
                self.pipelines.touch(file_id)
            if wall - standing.modified < LIVE:
                clock = reader.clock or reader.ingest_time
                found = self.analysis.advance(reader.source, clock + waited) or found
        return found

    def finish(self) -> None:
        """Judge what is still open: nothing more will come."""
        for standing in self.standing.values():
            self.analysis.feed(standing.pipeline.release())
        self.analysis.finish()

    async def commit(self) -> None:
        """Write everything that has changed, in one transaction."""
        now, started = time.time(), time.monotonic()
        done = self._carry_out_requests(now)
        notices = self.analysis.conclude(now)
        changes = self.analysis.take_changes()
        changes.files = self.pipelines.take_changes()
        changes.notices = list(self.route(notices))
        changes.done_requests = done
        changes = merged(self.unwritten, changes)
        if not changes.holds_anything():
            return
        try:
            await anyio.to_thread.run_sync(self.store.commit, changes, now)
        except StoreError as error:
            self.unwritten, self.commit_error = changes, str(error)
            self.observer.commit_failed(str(error))
            return
        self.unwritten, self.commit_error, self.committed_at = Changes(), None, now
        self.observer.committed(time.monotonic() - started, notices)
        if changes.notices or changes.incidents:
            self.wake()

    def _carry_out_requests(self, now: float) -> list[int]:
        """Do what people have asked for through the state file."""
        try:
            requests = self.store.requests()
        except StoreError as error:
            self.observer.commit_failed(str(error))
            return []
        for _, request in requests:
            self.analysis.carry_out(request, now)
        return [number for number, _ in requests]


def merged(earlier: Changes, later: Changes) -> Changes:
    """Return both changes as one; where both speak of the same thing, the later holds."""
    return Changes(
        files={**earlier.files, **later.files},
        traces={**earlier.traces, **later.traces},
        engine=later.engine if later.engine is not None else earlier.engine,
        incidents={**earlier.incidents, **later.incidents},
        silences={**earlier.silences, **later.silences},
        done_requests=[*earlier.done_requests, *later.done_requests],
        notices=[*earlier.notices, *later.notices],
    )
