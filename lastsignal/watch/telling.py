"""What happens in the daemon → metrics and log lines."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from lastsignal.core.events import Event
from lastsignal.core.incidents import Notice
from lastsignal.edges import notify
from lastsignal.edges.metrics import Metrics, TailFigures
from lastsignal.edges.tailer import Piece, TailerStats, Trouble
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.observer import Observer

SAMPLE_EVERY = 60.0  # seconds between log lines about the same reason for skipping

Log = structlog.stdlib.BoundLogger


class Teller(Observer):
    """Tells metrics and the log what the daemon does.

    Args:
        metrics: where things are counted.
        log: where what people should know is written.
    """

    def __init__(self, metrics: Metrics, log: Any) -> None:
        self.metrics = metrics
        self.log = log
        self._said: dict[tuple[str, str], float] = {}
        self._evicted = (0, 0)

    def read(self, piece: Piece, events: Sequence[Event], skipped: Mapping[str, int]) -> None:
        """Count what a piece of a file gave."""
        reading = self.metrics.reading
        reading.bytes.add(len(piece.data))
        reading.lines.add(piece.data.count(b"\n"))
        for reason, count in skipped.items():
            reading.skipped.add(count, reason)
            self._sample(piece.name, reason, count)
        self.metrics.events(events)

    def committed(self, seconds: float, notices: Sequence[Notice]) -> None:
        """Count a commit, and say what people are told."""
        self.metrics.storing.committed(seconds, time.time())
        for notice in notices:
            first = notice.incidents[0]
            self.log.info(
                "incident" if notice.kind != "digest" else "incidents",
                kind=notice.kind,
                total=notice.total,
                rule=first.rule,
                severity=first.severity,
                trace_id=first.trace_id,
                incident=first.id,
                summary=first.summary,
            )

    def commit_failed(self, error: str) -> None:
        """Count and say that the state could not be written."""
        self.metrics.storing.failures.add(1)
        self._say(("commit", ""), "commit_failed", error=error)

    def reloaded(self, error: str | None) -> None:
        """Count and say what came of reading the rules again."""
        self.metrics.reloading.done("rules", error is None, time.time())
        if error is None:
            self.log.info("rules_reloaded")
        else:
            self.log.error("rules_not_reloaded", error=error, kept="the former rules")

    def trouble(self, trouble: Trouble) -> None:
        """Count and say what went wrong with a file."""
        self.metrics.reading.troubles.add(1, trouble.kind.value)
        self._say((trouble.kind.value, trouble.path), "tail_trouble", **_shown(trouble))

    def stand(self, stats: TailerStats, analysis: Analysis, lag_seconds: float) -> None:
        """Take how the parts stand."""
        self.metrics.reading.stand(
            TailFigures(
                lag_bytes=stats.behind_bytes,
                lag_seconds=lag_seconds,
                files=stats.files,
                open_files=stats.open_files,
                deleted_open_files=stats.deleted_open_files,
                pending_files=stats.pending_files,
                is_polling=stats.is_polling,
            )
        )
        judging, state = self.metrics.judging, analysis.engine.state
        judging.open_traces.set(len(state.traces))
        evicted = (state.evicted_traces, state.shared.evicted)
        judging.evicted_traces.add(max(0, evicted[0] - self._evicted[0]))
        judging.evicted_groups.add(max(0, evicted[1] - self._evicted[1]))
        self._evicted = evicted

    def _sample(self, source: str, reason: str, count: int) -> None:
        self._say((reason, source), "skipped", source=source, reason=reason, count=count)

    def _say(self, key: tuple[str, str], event: str, **fields: Any) -> None:
        """Log, but the same trouble only now and then: a broken file must not fill a disk."""
        now = time.monotonic()
        if now - self._said.get(key, -SAMPLE_EVERY) < SAMPLE_EVERY:
            return
        if len(self._said) > 10_000:
            self._said.clear()
        self._said[key] = now
        self.log.warning(event, **fields)


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


def _shown(trouble: Trouble) -> dict[str, str]:
    return {"kind": trouble.kind.value, "path": trouble.path, "detail": trouble.detail}
