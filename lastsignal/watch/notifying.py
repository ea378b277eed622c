"""The notifier in force: a reload may put another in its place, and no message is lost by that."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lastsignal.core.incidents import Incident, Notice
from lastsignal.edges import notify
from lastsignal.edges.config import Config
from lastsignal.edges.metrics import Metrics
from lastsignal.edges.store import StoreError
from lastsignal.watch import settings
from lastsignal.watch.daemon import Daemon
from lastsignal.watch.excerpts import Excerpts
from lastsignal.watch.notify_telling import NotifyTeller

LOST_AFTER = 24 * 3600.0  # seconds that messages wait over restarts for a target that is gone
EXCHANGE_GRACE = 5.0  # seconds to finish what is under way; what is cut off then is sent again


class Notifying:
    """Tells the targets of a configuration.

    Args:
        config: whom to tell.
        daemon: its incidents, and its store with what waits.
        excerpts: the texts of lines that messages show.
        metrics: where is counted what becomes of messages.
        log: where failures are written.

    Raises:
        UsageError: the URL of a target cannot be used.
    """

    def __init__(
        self, config: Config, daemon: Daemon, excerpts: Excerpts, metrics: Metrics, log: Any
    ) -> None:
        self._daemon = daemon
        self._excerpts = excerpts
        self._metrics = metrics
        self._log = log
        self.outboxes: dict[str, None] = {}
        """Every target that had an outbox since the start."""
        self._targets: Sequence[notify.Target] = settings.targets(config)
        self._notifier = self._make(self._targets)
        # a start by mistake without the configuration must not cost what waits
        self._begin(time.time() - LOST_AFTER)

    async def run(self) -> None:
        """Send until `stop`."""
        while True:
            notifier = self._notifier
            await notifier.run()
            if self._notifier is notifier:
                return

    async def exchange(self, config: Config) -> None:
        """Tell the targets of another configuration from now on.

        Raises:
            UsageError: the URL of a target cannot be used; the former ones stay.
        """
        targets = settings.targets(config)
        if targets == self._targets:
            return
        former, self._notifier = self._notifier, self._make(targets)
        self._targets = targets
        await former.stop(EXCHANGE_GRACE)
        self._begin(math.inf)

    async def stop(self, within: float) -> None:
        """Send what can be sent within so many seconds; the rest stays in the store."""
        await self._notifier.stop(within)

    def wake(self) -> None:
        """Say that a commit brought messages or changed incidents."""
        self._notifier.wake()

    def route(self, notices: list[Notice]) -> list[tuple[Notice, list[str]]]:
        """Return who is told of each notice; called on a thread."""
        return notify.route(notices, self._targets)

    def _make(self, targets: Sequence[notify.Target]) -> notify.Notifier:
        kinds = {target.name: target.kind for target in targets}
        observer = NotifyTeller(self._metrics, self._log, kinds)
        around = notify.Surroundings(observer=observer)
        return notify.Notifier(targets, self._daemon.store.outbox, self._standing, around)

    def _begin(self, made_before: float) -> None:
        """Give up what has waited for targets that are no more: nobody would ever send it."""
        names = [one.name for one in self._targets if one.kind != "alertmanager"]
        self.outboxes.update(dict.fromkeys(names))
        with suppress(StoreError):  # it is no worse than before, and the next commit tells
            if number := self._daemon.store.outbox.abandon(names, made_before):
                self._log.warning("notifications_without_target", given_up=number, targets=names)

    def _standing(self) -> list[Incident]:
        book = self._daemon.analysis.book
        return [self._excerpts.known(one) for one in book.standing(time.time())]
