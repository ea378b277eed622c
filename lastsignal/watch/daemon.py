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

from lastsignal.core.engine.copies import COPIED, copied_records
from lastsignal.core.events import Event
from lastsignal.core.incidents import Notice
from lastsignal.edges.store import Changes, Store, StoreError
from lastsignal.edges.tailer import Piece
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.clocks import STEP, Clocks
from lastsignal.watch.observer import Observer
from lastsignal.watch.pipeline import Account, Pipeline, Pipelines

PAUSE = 4  # times as long as a commit took until the next: writing takes a fifth of the time

Routed = Sequence[tuple[Notice, Sequence[str]]]


def tell_nobody(notices: list[Notice]) -> Routed:
    """Route every notice to no target."""
    return []


def leave_as_it_is(notices: list[Notice]) -> list[Notice]:
    """Add nothing to notices."""
    return notices


def wake_nobody() -> None:
    """There is no notifier."""


@dataclass(slots=True)
class Daemon:
    """The parts of a running watch, and the loop that moves them."""

    pipelines: Pipelines
    analysis: Analysis
    store: Store
    commit_interval: float
    """Seconds between commits while nothing is found."""
    route: Callable[[list[Notice]], Routed] = tell_nobody
    """Says who is told of a notice; called on a thread, as the next."""
    illustrate: Callable[[list[Notice]], list[Notice]] = leave_as_it_is
    """Adds to notices what the files say."""
    wake: Callable[[], None] = wake_nobody
    """Tells the notifier that a commit holds something for it."""
    observer: Observer = field(default_factory=Observer)
    unwritten: Changes = field(default_factory=Changes)
    """What a failed commit could not write."""
    clocks: Clocks = field(default_factory=Clocks)
    commit_seconds: float = 0.0
    """How long the last commit took."""
    moved_at: float = field(default_factory=time.monotonic)
    """When the loop last went round."""
    is_writing: bool = False
    """Whether a commit is on its way to the disk, which may be slow."""
    committed_at: float | None = None
    """Epoch seconds of the last commit."""
    commit_error: str | None = None
    """Why the last commit failed; None while all is well."""

    async def run(self, pieces: MemoryObjectReceiveStream[Piece]) -> None:
        """Read until the pieces end; what is read by then is committed."""
        now = time.monotonic()
        next_commit, next_tick, rests_until = now + self.commit_interval, now, now
        hurries = False
        async with pieces:
            while True:
                piece: Piece | None = None
                with anyio.move_on_after(min(next_tick, next_commit) - now):
                    try:
                        piece = await pieces.receive()
                    except anyio.EndOfStream:
                        break
                if piece is not None and self.pipelines.lacks_lines(piece):
                    await anyio.to_thread.run_sync(self.pipelines.count_lines, piece)
                found = piece is not None and self.take(piece)
                self.moved_at = now = time.monotonic()
                if now >= next_tick:
                    found = self.tick() or found
                    next_tick = now + STEP
                next_tick = min(next_tick, now + self.clocks.patience())
                if found and not hurries:
                    # what is waiting already goes along, so that a storm is no storm of commits
                    soon = max(rests_until, now + self.commit_seconds)
                    hurries, next_commit = True, min(next_commit, soon)
                if hurries and now >= rests_until and not pieces.statistics().current_buffer_used:
                    next_commit = now
                if now >= next_commit:
                    await self.commit()
                    hurries, now = False, time.monotonic()
                    rests_until = now + PAUSE * self.commit_seconds
                    next_commit = max(now + self.commit_interval, rests_until)
        for file_id, pipeline in self.pipelines.items():
            self._use(file_id, pipeline, pipeline.take_whole_line())
        await self.commit()

    def take(self, piece: Piece) -> bool:
        """Take a piece of a file; return whether a finding has opened or changed."""
        pipeline = self.pipelines.of(piece)
        events = pipeline.take(piece, time.time())
        found = self._feed(events)
        self.observer.read(piece, *self._accounted(pipeline, events))
        self.clocks.note(piece, pipeline)
        self.pipelines.settle(piece)
        return found

    def tick(self) -> bool:
        """Let go what is held of files that stand still, and their clocks go on."""
        found = False
        for standing in self.clocks.due():
            found = self._release(standing.file_id, standing.pipeline) or found
        for standing in self.clocks.live():
            found = self.analysis.advance(standing.pipeline.name, standing.now) or found
        return found

    def finish(self) -> None:
        """Judge what is still open: nothing more will come."""
        for file_id, pipeline in self.pipelines.items():
            self._release(file_id, pipeline)
        self.analysis.finish()

    def _release(self, file_id: str, pipeline: Pipeline) -> bool:
        return self._use(file_id, pipeline, pipeline.take_whole_line() + pipeline.release())

    def _use(self, file_id: str, pipeline: Pipeline, events: Sequence[Event]) -> bool:
        if not events:
            return False
        self.pipelines.touch(file_id)
        found = self._feed(events)
        self.observer.released(*self._accounted(pipeline, events))
        return found

    def _accounted(
        self, pipeline: Pipeline, events: Sequence[Event]
    ) -> tuple[Sequence[Event], Account]:
        """Return those of the events just fed that count, and what came of their file."""
        copies = self.analysis.engine.copies
        if copies:
            if count := copied_records(copies, events):
                pipeline.reader.skip(COPIED, count)
            known = set(map(id, copies))
            events = [event for event in events if id(event) not in known]
        return events, pipeline.account()

    def _feed(self, events: Sequence[Event]) -> bool:
        started = time.perf_counter()
        found = self.analysis.feed(events)
        self.observer.judged(time.perf_counter() - started, self.analysis)
        return found

    async def commit(self) -> None:
        """Write everything that has changed, in one transaction."""
        now, started = time.time(), time.monotonic()
        done = self._carry_out_requests(now)
        notices = self.analysis.conclude(now)
        changes = self.analysis.take_changes()
        changes.files = self.pipelines.take_changes()
        changes.done_requests = done
        if not (notices or changes.holds_anything() or self.unwritten.holds_anything()):
            return
        self.is_writing = True
        try:
            changes = await anyio.to_thread.run_sync(self._write, changes, notices, now)
        except StoreError as error:
            self.commit_error = str(error)
            self.observer.commit_failed(str(error))
            return
        finally:
            self.is_writing = False
        self.commit_error, self.committed_at = None, now
        self.commit_seconds = time.monotonic() - started
        self.observer.committed(self.commit_seconds, notices)
        if changes.notices or changes.incidents:
            self.wake()

    def _write(self, changes: Changes, notices: list[Notice], now: float) -> Changes:
        """Write the changes and what a failed commit left, on a thread; return what was written."""
        changes.notices = list(self.route(self.illustrate(notices)))
        self.unwritten = merged(self.unwritten, changes)
        self.store.commit(self.unwritten, now)
        written, self.unwritten = self.unwritten, Changes()
        return written

    def _carry_out_requests(self, now: float) -> list[int]:
        """Do what people have asked for through the state file."""
        try:
            requests = self.store.requests()
        except StoreError as error:
            self.observer.commit_failed(str(error))
            return []
        for _, request in requests:
            if request is None:
                self.observer.request_unknown()
            else:
                self.analysis.carry_out(request, now)
        return [number for number, _ in requests]


def merged(earlier: Changes, later: Changes) -> Changes:
    """Return both changes as one; where both speak of the same thing, the later holds."""
    return Changes(
        files={**earlier.files, **later.files},
        traces={**earlier.traces, **later.traces},
        groups={**earlier.groups, **later.groups},
        engine=later.engine if later.engine is not None else earlier.engine,
        incidents={**earlier.incidents, **later.incidents},
        silences={**earlier.silences, **later.silences},
        done_requests=[*earlier.done_requests, *later.done_requests],
        notices=[*earlier.notices, *later.notices],
    )
