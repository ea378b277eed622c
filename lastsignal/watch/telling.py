"""What happens in the daemon → metrics and log lines."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from lastsignal.core.events import Event
from lastsignal.core.incidents import Notice
from lastsignal.core.rules import SEVERITIES
from lastsignal.edges.metrics import Metrics, TailFigures
from lastsignal.edges.store import Store, StoreError
from lastsignal.edges.tailer import Piece, TailerStats, Trouble
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.observer import Observer
from lastsignal.watch.pipeline import Account

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
        self.bytes_read = 0
        """Since the start."""
        self._said: dict[tuple[str, str], float] = {}
        self._evicted = (0, 0)

    def read(self, piece: Piece, events: Sequence[Event], account: Account) -> None:
        """Count what a piece of a file gave."""
        reading = self.metrics.reading
        self.bytes_read += len(piece.data)
        reading.bytes.add(len(piece.data))
        reading.lines.add(piece.data.count(b"\n"))
        for reason, count in account.skipped.items():
            self._sample("skipped", piece.name, reason, count)
        for reason, count in account.mended.items():
            self._sample("mended", piece.name, reason, count)
        self.released(events, account)

    def released(self, events: Sequence[Event], account: Account) -> None:
        """Count what a file gave that stands still."""
        reading = self.metrics.reading
        if account.records:
            reading.records.add(account.records, account.format)
        for reason, count in account.skipped.items():
            reading.skipped.add(count, reason)
        for reason, count in account.mended.items():
            reading.mended.add(count, reason)
        self.metrics.events(events)

    def judged(self, seconds: float, analysis: Analysis) -> None:
        """Count the time that the rules took, and what they could not judge."""
        self.metrics.judging.seconds.add(seconds)
        if analysis.unevaluable:
            for rule, count in analysis.unevaluable.items():
                self.metrics.judging.unevaluable.add(count, rule)
            analysis.unevaluable.clear()

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

    def request_unknown(self) -> None:
        """Say that somebody has asked for what this version cannot do."""
        self.log.warning("request_unknown", hint="the command is of another version")

    def config_reloaded(self, error: str | None, path: Path | None) -> None:
        """Count and say what came of reading the configuration again."""
        self.metrics.reloading.done("config", error is None, time.time())
        if error is None:
            self.log.info("config_reloaded", path=str(path) if path else None)
        else:
            self.log.error("config_not_reloaded", error=error, kept="the former configuration")

    def reloaded(self, error: str | None) -> None:
        """Count and say what came of reading the rules again."""
        self.metrics.reloading.done("rules", error is None, time.time())
        if error is None:
            self.log.info("rules_reloaded")
        else:
            self.log.error("rules_not_reloaded", error=error, kept="the former rules")

    def began(self) -> None:
        """Note that rules and configuration are in force."""
        self.metrics.reloading.done("config", True, time.time())
        self.metrics.reloading.done("rules", True, time.time())

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
        self._incidents(analysis)
        self._groups(analysis)

    def store(self, store: Store, targets: Iterable[str]) -> None:
        """Take how much the state takes on the disk, and what it holds for each target.

        A worker says so too, but not while its target hangs.
        """
        notifying = self.metrics.notifying
        with suppress(OSError, StoreError):
            self.metrics.storing.bytes.set(store.size())
            tally = store.outbox.tally()
            for target in targets:
                count, oldest = tally.get((target, "pending"), (0, None))
                notifying.waiting(target, count, oldest)
                notifying.dead_letters.set(tally.get((target, "dead"), (0, 0.0))[0], target)

    def _incidents(self, analysis: Analysis) -> None:
        book, incidents = analysis.book, self.metrics.incidents
        for one in analysis.opened:
            self.metrics.finding(one.rule, one.severity, one.trace_id)
        analysis.opened.clear()
        for (transition, rule), count in book.transitions.items():
            counter = incidents.resolved if transition == "resolved" else incidents.opened
            counter.add(count, rule)
        book.transitions.clear()
        standing = Counter(one.severity for one in book.incidents.values() if one.state == "open")
        for severity in SEVERITIES:
            incidents.open.set(standing[severity], severity)

    def _groups(self, analysis: Analysis) -> None:
        counts: Counter[str] = Counter({rule.id: 0 for rule in analysis.engine.rules})
        for key, count in analysis.engine.state.tally.items():
            counts[key.partition("@")[0]] += count
        self.metrics.judging.groups.replace({(rule,): n for rule, n in counts.items()})

    def _sample(self, event: str, source: str, reason: str, count: int) -> None:
        self._say((reason, source), event, source=source, reason=reason, count=count)

    def _say(self, key: tuple[str, str], event: str, **fields: Any) -> None:
        """Log, but the same trouble only now and then: a broken file must not fill a disk."""
        now = time.monotonic()
        if now - self._said.get(key, -SAMPLE_EVERY) < SAMPLE_EVERY:
            return
        if len(self._said) > 10_000:
            self._said.clear()
        self._said[key] = now
        self.log.warning(event, **fields)


def _shown(trouble: Trouble) -> dict[str, str]:
    return {"kind": trouble.kind.value, "path": trouble.path, "detail": trouble.detail}
