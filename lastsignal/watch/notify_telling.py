"""What becomes of notifications → metrics and log lines; never anything that the rules read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lastsignal.edges import notify
from lastsignal.edges.metrics import Metrics


class NotifyTeller(notify.Observer):
    """Tells metrics and the log what becomes of notifications.

    Args:
        metrics: where things are counted.
        log: where failures are written; never anywhere that the rules read.
        kinds: kind of target by name.
    """

    def __init__(self, metrics: Metrics, log: Any, kinds: Mapping[str, str]) -> None:
        self._notifying = metrics.notifying
        self._log = log
        self._kinds = kinds
        self._notifying.expect(kinds)

    def sent(self, target: str, seconds: float) -> None:
        """Note that a message was delivered."""
        self._count(target, "sent")
        self._notifying.seconds.observe_all((seconds,), self._kinds[target])

    def failed(self, target: str, error: str) -> None:
        """Note that an attempt failed."""
        self._count(target, "failed")
        self._log.warning("notification_failed", target=target, error=error)

    def retried(self, target: str, seconds: float) -> None:
        """Note that a failed message will be tried again."""
        self._count(target, "retried")

    def suppressed(self, target: str, messages: int) -> None:
        """Note that messages were folded into a digest."""
        self._notifying.outcomes.add(messages, target, self._kinds[target], "suppressed")

    def dead(self, target: str, error: str) -> None:
        """Note that a message was given up."""
        self._count(target, "dead")
        self._log.error("notification_dead", target=target, error=error)

    def queue(self, target: str, depth: int, oldest_at: float | None) -> None:
        """Note how many messages wait."""
        self._notifying.waiting(target, depth, oldest_at)

    def _count(self, target: str, outcome: str) -> None:
        self._notifying.outcomes.add(1, target, self._kinds[target], outcome)
