"""Alertmanager, API v2: it is told what stands, again and again, and what has ended.

Alertmanager groups, silences and repeats by itself, so it hears of states and not of messages:
each alert is posted when it begins, again well before its end, which is set to three refreshes
ahead, and with its real end when it is over. All of that follows from the incidents that the store
keeps, so that a restart needs nothing more; while the daemon is down longer than that, alerts end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio.lowlevel
import msgspec

from lastsignal.core.incidents import Incident, told_severity
from lastsignal.edges.notify.alerts import Alert, LabelSet, gather, label_set, posted
from lastsignal.edges.notify.clock import Alarm, Pace
from lastsignal.edges.notify.http_post import HttpPost
from lastsignal.edges.notify.outcome import Outcome
from lastsignal.edges.notify.patience import Patience
from lastsignal.edges.notify.surroundings import Surroundings
from lastsignal.edges.notify.targets import Target
from lastsignal.errors import LastSignalError

PATH = "/api/v2/alerts"
END_AFTER = 3  # refreshes: a shorter end lets alerts resolve whenever one post is late
MAX_ALERTS = 500  # in one post
STORE_PATIENCE = 1.0  # seconds between attempts at a store that cannot be read

_ABOUT_ALERTS = frozenset({400, 413, 422})
"""Refusals that may be about one alert of many; the others are about the address or the token."""

Standing = Callable[[], Iterable[Incident]]


class _Posted(msgspec.Struct):
    """What Alertmanager was last told of an alert."""

    alert: Alert
    at: float
    """Monotonic."""


class AlertmanagerWorker:
    """Keeps one Alertmanager informed until it is stopped.

    Args:
        target: where it is.
        post: the way to it.
        standing: gives the incidents that stand or ended lately, as they are committed.
        around: clock, chance, and who is told of everything.
    """

    def __init__(
        self, target: Target, post: HttpPost, standing: Standing, around: Surroundings
    ) -> None:
        self.target = target
        self._post = post
        self._standing = standing
        self._clock = around.clock
        self._observer = around.observer
        self._patience = Patience(target.retries, around.jitter)
        self._pace = Pace(around.clock, target.max_per_second)
        self._alarm = Alarm()
        self._stop_at: float | None = None
        self._posted: dict[LabelSet, _Posted] = {}
        self._labels: dict[str, tuple[object, LabelSet]] = {}
        self._failures = 0
        self._not_before = around.clock.monotonic()
        self._batch = MAX_ALERTS

    def wake(self) -> None:
        """Look at the incidents: some were committed."""
        self._alarm.ring()

    def stop(self, within: float) -> None:
        """Post what is new within so many seconds, and end."""
        self._stop_at = self._clock.monotonic() + within
        self._alarm.ring()

    async def run(self) -> None:
        """Post alerts as they begin, stand and end."""
        try:
            while True:
                try:
                    delay, urgent = await self._step()
                except LastSignalError as error:
                    self._observer.failed(self.target.name, str(error))
                    delay, urgent = STORE_PATIENCE, True
                if self._stop_at is not None and not (
                    urgent and self._clock.monotonic() + delay < self._stop_at
                ):
                    return
                if delay:
                    await self._alarm.wait(self._clock, delay)
        finally:
            await self._post.close()

    async def _step(self) -> tuple[float, bool]:
        """Post what is due, if it may be now.

        Returns:
            The seconds to wait, and whether anything is due that is not only a refresh.
        """
        news, refreshes = self._due(self._gather())
        oldest = min((alert.starts_at for alert in news), default=None)
        self._observer.queue(self.target.name, len(news), oldest)
        if not news and not refreshes:
            return self._until_refresh(), False
        delay = max(self._pace.delay(), self._not_before - self._clock.monotonic())
        if delay > 0:
            return delay, bool(news)
        await self._send([*news, *refreshes][: self._batch])
        return 0.0, bool(news)

    def _gather(self) -> dict[LabelSet, Alert]:
        told = [one for one in self._standing() if self.target.takes(one)]
        known, self._labels = self._labels, {}
        for one in told:
            version = (told_severity(one), one.trace_id, one.framework, one.agents[:1])
            cached = known.get(one.id)
            if cached is None or cached[0] != version:
                cached = (version, label_set(one, self.target.labels))
            self._labels[one.id] = cached
        return gather((self._labels[one.id][1], one) for one in told)

    def _due(self, current: dict[LabelSet, Alert]) -> tuple[list[Alert], list[Alert]]:
        """Return the alerts that began or ended, and those that are only to be posted again."""
        news, refreshes = [], []
        horizon = self._clock.monotonic() - self.target.refresh_interval
        for labels, alert in current.items():
            known = self._posted.get(labels)
            if known is None or (known.alert.ends_at is None) != (alert.ends_at is None):
                news.append(alert)
            elif known.at <= horizon:
                refreshes.append(alert)
        for labels in self._posted.keys() - current.keys():
            known = self._posted[labels]
            if known.alert.ends_at is None:
                # it is silenced now, or goes on under other labels
                news.append(msgspec.structs.replace(known.alert, ends_at=self._clock.now()))
            else:
                del self._posted[labels]
        return news, refreshes

    def _until_refresh(self) -> float:
        oldest = min((one.at for one in self._posted.values()), default=self._clock.monotonic())
        return max(0.001, oldest + self.target.refresh_interval - self._clock.monotonic())

    async def _send(self, batch: list[Alert]) -> None:
        self._pace.note()
        started = self._clock.monotonic()
        stands_until = self._clock.now() + END_AFTER * self.target.refresh_interval
        bodies = []
        for alert in batch:
            bodies.append(posted(alert, stands_until))
            await anyio.lowlevel.checkpoint()  # a storm's worth of them must not stop the reading
        outcome = await self._post.post(PATH, msgspec.json.encode(bodies), {})
        if outcome.kind == "sent":
            self._failures, self._batch = 0, min(MAX_ALERTS, 2 * self._batch)
            self._note(batch)
            self._observer.sent(self.target.name, self._clock.monotonic() - started)
            return
        self._observer.failed(self.target.name, outcome.error)
        if outcome.status in _ABOUT_ALERTS:
            self._part(batch, outcome)
        else:
            self._wait(outcome)

    def _note(self, batch: list[Alert]) -> None:
        now = self._clock.monotonic()
        for alert in batch:
            self._posted[alert.labels] = _Posted(alert, now)

    def _part(self, batch: list[Alert], outcome: Outcome) -> None:
        """Look for the alert that is refused by posting fewer at a time."""
        if len(batch) > 1:
            self._batch = len(batch) // 2
            return
        self._note(batch)  # it is not tried before the next refresh
        self._observer.dead(self.target.name, outcome.error)

    def _wait(self, outcome: Outcome) -> None:
        self._failures += 1
        delay = self._patience.delay(self._failures, outcome.retry_after)
        if outcome.kind == "dead":  # nothing is lost by asking again later: what stands, stands
            delay = max(delay, self.target.retries.cap)
        self._not_before = self._clock.monotonic() + delay
        self._observer.retried(self.target.name, delay)
