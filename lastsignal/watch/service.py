"""Starting, stopping and restarting: restores what was committed, and runs the parts together."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import msgspec

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.incidents import IncidentBook, IncidentPolicy, Notice
from lastsignal.core.rules import Rule
from lastsignal.edges.store import Changes, Saved, Store
from lastsignal.edges.tailer import Piece, Tailer, TailerConfig
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.daemon import Daemon, Routed
from lastsignal.watch.observer import Observer
from lastsignal.watch.pipeline import Pipeline, Pipelines


def tell_nobody(notices: list[Notice]) -> Routed:
    """Route every notice to no target."""
    return []


def wake_nobody() -> None:
    """There is no notifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a watch is started with."""

    tailer: TailerConfig
    state_dir: Path
    rules: Sequence[Rule]
    ladder: tuple[Dialect, ...]
    policy: IncidentPolicy = field(default_factory=IncidentPolicy)
    max_traces: int = 200_000
    max_record_bytes: int = 32 * 1024 * 1024
    read_queue: int = 16
    """Pieces between reading and the rules."""
    commit_interval: float = 1.0  # seconds
    drain_timeout: float = 20.0  # seconds
    once: bool = False
    """Read what is there to its end, judge what is open, and stop."""


async def watch(
    settings: Settings,
    *,
    observer: Observer | None = None,
    route: Callable[[list[Notice]], Routed] = tell_nobody,
    wake: Callable[[], None] = wake_nobody,
    on_trouble: Callable[[str], None] = lambda text: None,
    on_ready: Callable[[Daemon, Tailer], None] = lambda daemon, tailer: None,
) -> None:
    """Watch until a signal ends it (or, with `once`, until everything is read).

    Raises:
        StoreError: the state directory cannot be used.
    """
    store = Store(settings.state_dir, on_trouble)
    try:
        daemon = restored(settings, store, on_trouble)
        daemon.route, daemon.wake = route, wake
        daemon.observer = observer or daemon.observer
        tailer = Tailer(settings.tailer, daemon.pipelines.checkpoints())
        send, receive = anyio.create_memory_object_stream[Piece](settings.read_queue)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tailer.run, send)
            tasks.start_soon(stop_on_signal, tailer, settings.drain_timeout, tasks.cancel_scope)
            if settings.once:
                tasks.start_soon(tailer.drain, settings.drain_timeout)
            on_ready(daemon, tailer)
            await daemon.run(receive)
            if settings.once:
                daemon.finish()
                await daemon.commit()
            tasks.cancel_scope.cancel()
    finally:
        store.close()


def restored(settings: Settings, store: Store, on_trouble: Callable[[str], None]) -> Daemon:
    """Return a daemon that goes on where the last commit was."""
    saved = store.load()
    now = time.time()

    def make(name: str) -> Pipeline:
        return Pipeline(name, settings.ladder, settings.max_record_bytes, time.time())

    pipelines = Pipelines(make)
    book = IncidentBook(settings.policy, saved.incidents, saved.silences)
    analysis = Analysis(settings.rules, book, settings.max_traces)
    try:
        for file_id, state in saved.files.items():
            limit = settings.max_record_bytes
            pipelines.adopt(file_id, Pipeline.restore(state, settings.ladder, limit, now))
        analysis.restore(saved)
    except msgspec.MsgspecError as error:
        # written by a version that kept other things: better to read again than not to start
        on_trouble(f"the saved state cannot be used ({error}); reading starts afresh")
        pipelines = Pipelines(make)
        analysis = Analysis(settings.rules, book, settings.max_traces)
        forget(store, saved, now)
    return Daemon(
        pipelines=pipelines,
        analysis=analysis,
        store=store,
        route=tell_nobody,
        wake=wake_nobody,
        commit_interval=settings.commit_interval,
    )


def forget(store: Store, saved: Saved, now: float) -> None:
    """Take out of the store what could not be used; incidents and the outbox stay."""
    store.commit(Changes(files=dict.fromkeys(saved.files)), now)


async def stop_on_signal(tailer: Tailer, seconds: float, scope: anyio.CancelScope) -> None:
    """Drain on SIGTERM or SIGINT; a second signal ends everything at once."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            break
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tailer.drain, seconds)
            async for _ in signals:
                scope.cancel()
                return
