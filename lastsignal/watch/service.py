"""Starting, stopping and restarting: restores what was committed, and runs the parts together."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskStatus
from prometheus_client import CollectorRegistry

import lastsignal
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.incidents import IncidentBook
from lastsignal.core.rules import Rule
from lastsignal.edges import logs
from lastsignal.edges.config import LoadedConfig
from lastsignal.edges.http import serve
from lastsignal.edges.metrics import Metrics
from lastsignal.edges.sdnotify import Supervisor
from lastsignal.edges.store import Store
from lastsignal.edges.tailer import Piece, Tailer
from lastsignal.watch import settings
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.daemon import Daemon
from lastsignal.watch.excerpts import Excerpts
from lastsignal.watch.keeper import Keeper, LoadConfig, LoadRules
from lastsignal.watch.lag import Lag
from lastsignal.watch.notifying import Notifying
from lastsignal.watch.open_files import open_files_allowed
from lastsignal.watch.pipeline import Pipeline, Pipelines
from lastsignal.watch.standing import Standing
from lastsignal.watch.telling import Teller

STAND_INTERVAL = 1.0  # seconds between looks at how the parts stand
HUNG = 60.0  # seconds without a turn of the loop
HUNG_DISK = 600.0  # seconds that one commit may take: a start anew would make it no faster
NEWS_TAKE = 0.2  # seconds, at most, until the last lines of an agent that has ended are read
MAX_WAIT_FOR_ORDER = 10.0  # seconds, when a stop is wanted, for events that are held
NOTIFY_GRACE = 5.0  # seconds to send what waits, when the daemon ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a watch is started with."""

    loaded: LoadedConfig
    load_config: LoadConfig
    """Reads the configuration again; raises LastSignalError with everything that is wrong."""
    load_rules: LoadRules
    """Reads all rules; raises LastSignalError with everything that is wrong."""
    ladder: tuple[Dialect, ...]
    once: bool
    """Read what is there to its end, judge what is open, tell what is to be told, and stop."""


async def watch(request: Request, log: Any) -> None:
    """Watch until a signal ends it (or, with `once`, until everything is read).

    Raises:
        LastSignalError: the state directory, a rule, a target or the address cannot be used.
    """
    config = request.loaded.config
    rules = request.load_rules(request.loaded)
    metrics = Metrics(CollectorRegistry(), lastsignal.__version__)
    metrics.expect_rules(rules)
    teller = Teller(metrics, log)
    store = Store(config.state_dir, lambda text: log.error("store_set_aside", detail=text))
    try:
        teller.began()
        daemon = restored(request, rules, store, log)
        metrics.storing.set_aside.add(1 if store.set_aside else 0)
        tailer = Tailer(
            settings.tailer_settings(config, open_files(config.limits.max_open_files, log)),
            daemon.pipelines.checkpoints(),
            on_trouble=teller.trouble,
        )
        excerpts = Excerpts(daemon.pipelines)
        notifying = Notifying(config, daemon, excerpts, metrics, log)
        daemon.observer = teller
        daemon.illustrate = excerpts.attach
        daemon.route = notifying.route
        daemon.wake = notifying.wake
        supervisor = Supervisor(os.environ)
        await Service(request, daemon, tailer, notifying, teller, supervisor).run(metrics)
    except BaseExceptionGroup as group:
        raise innermost(group) from None
    finally:
        store.close()


def open_files(wanted: int, log: Any) -> int:
    """Return how many traces may be open, and say so where that is fewer than are wanted."""
    allowed = open_files_allowed(wanted)
    if allowed < wanted:
        log.warning(
            "open_files_limited",
            wanted=wanted,
            allowed=allowed,
            hint="raise the limit of open files (LimitNOFILE= of systemd, ulimit -n)",
        )
    return allowed


def innermost(error: BaseException) -> BaseException:
    """Return what went wrong, without the groups that tasks put around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@dataclass(slots=True)
class Service:
    """The running parts."""

    request: Request
    daemon: Daemon
    tailer: Tailer
    notifying: Notifying
    teller: Teller
    supervisor: Supervisor
    waits_for_restart: list[str] = field(default_factory=list)
    """What of the configuration was read and only a restart will take."""

    async def run(self, metrics: Metrics) -> None:
        """Run all parts until the pieces end; then send what waits."""
        loaded = self.request.loaded
        config = loaded.config
        send, receive = anyio.create_memory_object_stream[Piece](config.limits.read_queue)
        keeper = Keeper(loaded, self.request.load_config, self.request.load_rules, self)
        standing = Standing(self.daemon, self.tailer, keeper, lambda: self.waits_for_restart)
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._obey_signals, keeper, tasks.cancel_scope)
            if config.http.enabled and not self.request.once:
                http = settings.http_settings(config.http)
                address = await tasks.start(serve, http, standing, metrics.registry)
                self.teller.log.info("http", address=str(address))
            tasks.start_soon(self.notifying.run)
            tasks.start_soon(self.tailer.run, send)
            tasks.start_soon(self._stand)
            tasks.start_soon(self.supervisor.show_life, self._moves)
            tasks.start_soon(keeper.keep)
            if self.request.once:
                tasks.start_soon(self.tailer.drain, math.inf)
            standing.is_reading = True
            self.teller.log.info("watching", paths=[str(path) for path in config.inputs.paths])
            self.supervisor.ready("reading")
            await self.daemon.run(receive)
            if self.request.once:
                self.daemon.finish()
                await self.daemon.commit()
            await self.notifying.stop(NOTIFY_GRACE)
            tasks.cancel_scope.cancel()
        self.teller.log.info("stopped")

    def _moves(self) -> bool:
        """Whether the loop goes round: a hung one must be started anew."""
        limit = HUNG_DISK if self.daemon.is_writing else HUNG
        return time.monotonic() - self.daemon.moved_at < limit

    async def use_config(self, loaded: LoadedConfig) -> None:
        """Take whom to tell, when, and what to log; the rest waits for a restart.

        Raises:
            UsageError: the URL of a target cannot be used.
        """
        config = loaded.config
        await self.notifying.exchange(config)
        logs.configure(config.log.level, config.log.format, secrets=settings.secrets(config))
        self.daemon.analysis.book.follow(config.incidents)
        self.waits_for_restart = settings.waiting_for_restart(self.request.loaded.config, config)
        for warning in loaded.warnings:
            self.teller.log.warning("config_warning", detail=str(warning))
        if self.waits_for_restart:
            self.teller.log.warning("config_waits_for_restart", changed=self.waits_for_restart)

    def use_rules(self, rules: Sequence[Rule]) -> None:
        """Let the engine go on with other rules; the same ones need nothing done."""
        if list(rules) == self.daemon.analysis.engine.rules:
            return
        self.daemon.analysis.replace_rules(rules)
        self.teller.metrics.expect_rules(rules)

    def told_of_config(self, error: str | None) -> None:
        """Count and say what came of reading the configuration again."""
        self.teller.config_reloaded(error, self.request.loaded.path)

    def told_of_rules(self, error: str | None) -> None:
        """Count and say what came of reading the rules again."""
        self.teller.reloaded(error)
        self.supervisor.status("reading" if error is None else "the new rules are wrong")

    async def _stand(self) -> None:
        """Tell the metrics how the parts stand."""
        lag = Lag()
        while True:
            stats = self.tailer.stats()
            late = lag.seconds(time.monotonic(), self.teller.bytes_read, stats.behind_bytes)
            self.teller.stand(stats, self.daemon.analysis, late)
            self.teller.store(self.daemon.store, self.notifying.outboxes)
            await anyio.sleep(STAND_INTERVAL)

    async def _obey_signals(
        self,
        keeper: Keeper,
        scope: anyio.CancelScope,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """SIGHUP reads the rules again; SIGTERM and SIGINT drain, a second one ends at once."""
        ends = 0
        wanted = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        with anyio.open_signal_receiver(*wanted) as signals:
            task_status.started()
            async with anyio.create_task_group() as tasks:
                async for number in signals:
                    if number == signal.SIGHUP:
                        tasks.start_soon(self._reload, keeper)
                        continue
                    ends += 1
                    if ends > 1:
                        scope.cancel()
                        return
                    self.teller.log.info("draining", signal=signal.Signals(number).name)
                    tasks.start_soon(self._drain)

    async def _reload(self, keeper: Keeper) -> None:
        self.supervisor.reloading()
        await keeper.reload()
        self.supervisor.ready(next(iter(keeper.problems), "reading"))

    async def _drain(self) -> None:
        """Let go what is held for its order while there is still reading, then read to the end."""
        limit = self.request.loaded.config.limits.drain_timeout
        self.supervisor.stopping("reading to the end", seconds=limit + NOTIFY_GRACE + 5)
        with anyio.move_on_after(min(MAX_WAIT_FOR_ORDER, limit / 2)):
            await anyio.sleep(NEWS_TAKE)
            while self.daemon.clocks.is_holding():
                await anyio.sleep(0.05)
        await self.tailer.drain(limit)


def restored(request: Request, rules: Sequence[Rule], store: Store, log: Any) -> Daemon:
    """Return a daemon that goes on where the last commit was."""
    config, now = request.loaded.config, time.time()
    limit = config.limits.max_record_bytes
    if config.inputs.start != "checkpoint":
        # no offset holds any more; and what is read again must not be counted twice
        store.forget_progress(with_rules=config.inputs.start == "start")
    saved = store.load()

    def make(name: str) -> Pipeline:
        return Pipeline(name, request.ladder, limit, time.time())

    pipelines = Pipelines(make)
    book = IncidentBook(config.incidents, saved.incidents, saved.silences)
    analysis = Analysis(rules, book, config.limits.max_traces)
    try:
        for file_id, state in saved.files.items():
            pipelines.adopt(file_id, Pipeline.restore(state, request.ladder, limit, now))
        analysis.restore(saved)
    except msgspec.MsgspecError as error:
        # written by a version that kept other things: better to read again than not to start
        log.error("state_unusable", detail=str(error), done="reading starts afresh")
        store.forget_progress()
        pipelines, analysis = Pipelines(make), Analysis(rules, book, config.limits.max_traces)
    return Daemon(
        pipelines=pipelines,
        analysis=analysis,
        store=store,
        commit_interval=config.limits.commit_interval,
    )
