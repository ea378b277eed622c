"""Starting, stopping and restarting: restores what was committed, and runs the parts together."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import msgspec
from prometheus_client import CollectorRegistry

import lastsignal
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.incidents import Incident, IncidentBook
from lastsignal.core.rules import Rule
from lastsignal.edges import notify
from lastsignal.edges.config import Config
from lastsignal.edges.http import serve
from lastsignal.edges.metrics import Metrics
from lastsignal.edges.store import Changes, Saved, Store
from lastsignal.edges.tailer import Piece, Tailer
from lastsignal.watch import settings
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.daemon import Daemon
from lastsignal.watch.pipeline import Pipeline, Pipelines
from lastsignal.watch.rules import RuleKeeper
from lastsignal.watch.standing import Standing
from lastsignal.watch.telling import NotifyTeller, Teller

STAND_INTERVAL = 1.0  # seconds between looks at how the parts stand
NOTIFY_GRACE = 5.0  # seconds to send what waits, when the daemon ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a watch is started with."""

    config: Config
    load_rules: Callable[[], Sequence[Rule]]
    """Reads all rules; raises LastSignalError with everything that is wrong."""
    ladder: tuple[Dialect, ...]
    once: bool
    """Read what is there to its end, judge what is open, tell what is to be told, and stop."""


async def watch(request: Request, log: Any) -> None:
    """Watch until a signal ends it (or, with `once`, until everything is read).

    Raises:
        LastSignalError: the state directory, a rule, a target or the address cannot be used.
    """
    config = request.config
    rules = request.load_rules()
    metrics = Metrics(CollectorRegistry(), lastsignal.__version__)
    metrics.expect_rules(rules)
    teller = Teller(metrics, log)
    store = Store(config.state_dir, lambda text: log.error("store_set_aside", detail=text))
    try:
        metrics.storing.set_aside.add(1 if store.set_aside else 0)
        daemon = restored(request, rules, store, log)
        tailer = Tailer(
            settings.tailer_settings(config),
            daemon.pipelines.checkpoints(),
            on_trouble=teller.trouble,
        )
        targets = settings.targets(config)
        notifier = make_notifier(targets, store, daemon, metrics, log)
        daemon.observer = teller
        daemon.route = lambda notices: notify.route(notices, targets)
        daemon.wake = notifier.wake
        await Service(request, daemon, tailer, notifier, teller).run(metrics)
    finally:
        store.close()


def make_notifier(
    targets: Sequence[notify.Target], store: Store, daemon: Daemon, metrics: Metrics, log: Any
) -> notify.Notifier:
    """Return what tells the targets of incidents."""

    def standing() -> list[Incident]:
        return daemon.analysis.book.standing(time.time())

    kinds = {target.name: target.kind for target in targets}
    around = notify.Surroundings(observer=NotifyTeller(metrics, log, kinds))
    return notify.Notifier(targets, store.outbox, standing, around)


@dataclass(slots=True)
class Service:
    """The running parts."""

    request: Request
    daemon: Daemon
    tailer: Tailer
    notifier: notify.Notifier
    teller: Teller

    async def run(self, metrics: Metrics) -> None:
        """Run all parts until the pieces end; then send what waits."""
        config = self.request.config
        send, receive = anyio.create_memory_object_stream[Piece](config.limits.read_queue)
        section = config.rules
        keeper = RuleKeeper(
            self.request.load_rules, self._use_rules, self.teller.reloaded, section.paths
        )
        standing = Standing(self.daemon, self.tailer, keeper)
        async with anyio.create_task_group() as tasks:
            if config.http.enabled and not self.request.once:
                http = settings.http_settings(config.http)
                address = await tasks.start(serve, http, standing, metrics.registry)
                self.teller.log.info("http", address=str(address))
            tasks.start_soon(self.notifier.run)
            tasks.start_soon(self.tailer.run, send)
            tasks.start_soon(self._obey_signals, keeper, tasks.cancel_scope)
            tasks.start_soon(self._stand, standing)
            if section.reload_on_change:
                tasks.start_soon(keeper.keep)
            if self.request.once:
                tasks.start_soon(self.tailer.drain, config.limits.drain_timeout)
            standing.is_reading = True
            self.teller.log.info("watching", paths=[str(path) for path in config.inputs.paths])
            await self.daemon.run(receive)
            if self.request.once:
                self.daemon.finish()
                await self.daemon.commit()
            await self.notifier.stop(NOTIFY_GRACE)
            tasks.cancel_scope.cancel()
        self.teller.log.info("stopped")

    def _use_rules(self, rules: Sequence[Rule]) -> None:
        self.daemon.analysis.replace_rules(rules)
        self.teller.metrics.expect_rules(rules)

    async def _stand(self, standing: Standing) -> None:
        """Tell the metrics how the parts stand."""
        behind_since: float | None = None
        while True:
            stats, now = self.tailer.stats(), time.monotonic()
            behind_since = (behind_since or now) if stats.behind_bytes else None
            lag = 0.0 if behind_since is None else now - behind_since
            self.teller.stand(stats, self.daemon.analysis, lag)
            await anyio.sleep(STAND_INTERVAL)

    async def _obey_signals(self, keeper: RuleKeeper, scope: anyio.CancelScope) -> None:
        """SIGHUP reads the rules again; SIGTERM and SIGINT drain, a second one ends at once."""
        ends = 0
        wanted = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        with anyio.open_signal_receiver(*wanted) as signals:
            async with anyio.create_task_group() as tasks:
                async for number in signals:
                    if number == signal.SIGHUP:
                        tasks.start_soon(keeper.reload)
                        continue
                    ends += 1
                    if ends > 1:
                        scope.cancel()
                        return
                    self.teller.log.info("draining", signal=signal.Signals(number).name)
                    tasks.start_soon(self.tailer.drain, self.request.config.limits.drain_timeout)


def restored(request: Request, rules: Sequence[Rule], store: Store, log: Any) -> Daemon:
    """Return a daemon that goes on where the last commit was."""
    config, now = request.config, time.time()
    limit = config.limits.max_record_bytes
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
        forget_progress(store, saved, now)
        pipelines, analysis = Pipelines(make), Analysis(rules, book, config.limits.max_traces)
    return Daemon(
        pipelines=pipelines,
        analysis=analysis,
        store=store,
        commit_interval=config.limits.commit_interval,
    )


def forget_progress(store: Store, saved: Saved, now: float) -> None:
    """Take out of the store what could not be used; incidents and the outbox stay."""
    store.commit(Changes(files=dict.fromkeys(saved.files)), now)
