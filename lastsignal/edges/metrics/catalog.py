"""Every metric that there is, by the part of the daemon that it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from lastsignal.edges.metrics.making import Maker
from lastsignal.edges.metrics.series import MAX_NAMES, Gauge

MODEL_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
TOOL_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
SHORT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
SENDING_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0)

Reloaded = Literal["config", "rules"]


class TailFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How the tailer stands."""

    lag_bytes: int
    lag_seconds: float
    files: int
    open_files: int
    deleted_open_files: int
    pending_files: int
    is_polling: bool


class Reading:
    """From bytes to records."""

    def __init__(self, make: Maker) -> None:
        self.bytes = make.counter("read_bytes_total", "Bytes read from files.")
        self.lines = make.counter("read_lines_total", "Lines read from files.")
        self.records = make.counter(
            "records_total", "Records found in what was read, by format.", "*format"
        )
        self.skipped = make.counter(
            "skipped_total",
            "Pieces and records that gave no event, or none that counts, by reason.",
            "*reason",
        )
        self.mended = make.counter(
            "mended_records_total",
            "Records that were read though something in them is not as it should be, by reason.",
            "*reason",
        )
        self.troubles = make.counter(
            "tail_troubles_total", "What went wrong with files, by kind.", "kind"
        )
        self.lag_bytes = make.gauge("tail_lag_bytes", "Bytes known of and not yet read.")
        self.lag_seconds = make.gauge(
            "tail_lag_seconds", "For how long the oldest unread byte has waited."
        )
        self.files = make.gauge("tail_files", "Files that are followed.")
        self.open_files = make.gauge("tail_open_files", "Files that are open.")
        self.deleted_files = make.gauge(
            "tail_deleted_open_files", "Deleted files held open for what is unread in them."
        )
        self.pending_files = make.gauge("tail_pending_files", "Files that have unread bytes.")
        self.polling = make.gauge(
            "tail_polling", "Whether files are polled, since the system does not tell of changes."
        )

    def stand(self, figures: TailFigures) -> None:
        """Take how the tailer stands."""
        self.lag_bytes.set(figures.lag_bytes)
        self.lag_seconds.set(figures.lag_seconds)
        self.files.set(figures.files)
        self.open_files.set(figures.open_files)
        self.deleted_files.set(figures.deleted_open_files)
        self.pending_files.set(figures.pending_files)
        self.polling.set(figures.is_polling)


class Judging:
    """From events to findings."""

    def __init__(self, make: Maker) -> None:
        self.events = make.counter(
            "events_total",
            "Events, by type, status and framework.",
            *("event_type", "status", "*framework"),
        )
        self.failures = make.counter(
            "failed_events_total", "Events that failed, by class of error.", "error_class"
        )
        self.findings = make.counter(
            "findings_total", "Findings, by rule and severity.", "*rule", "severity"
        )
        self.unevaluable = make.counter(
            "rule_unevaluable_total",
            "Finished traces that a rule could not judge, since they lack its fields.",
            "*rule",
        )
        self.seconds = make.counter("evaluation_seconds_total", "Time spent in the rules.")
        self.rules = make.gauge("rules", "Rules in force.")
        self.open_traces = make.gauge("open_traces", "Traces whose state is kept.")
        self.groups = make.gauge("rule_groups", "Groups whose state a rule keeps.", "*rule")
        self.evicted_traces = make.counter(
            "evicted_traces_total", "Traces given up, since there were too many."
        )
        self.evicted_groups = make.counter(
            "evicted_groups_total", "Groups and calls given up, since a trace had too many."
        )


class Incidents:
    """From findings to incidents."""

    def __init__(self, make: Maker) -> None:
        self.open = make.gauge("open_incidents", "Incidents that are open.", "severity")
        self.opened = make.counter(
            "incidents_opened_total", "Incidents opened or re-opened, by rule.", "*rule"
        )
        self.resolved = make.counter(
            "incidents_resolved_total", "Incidents resolved, by rule.", "*rule"
        )


class Storing:
    """What is written to disk."""

    def __init__(self, make: Maker) -> None:
        self.commits = make.histogram(
            "commit_duration_seconds", "How long commits took.", buckets=SHORT_SECONDS
        )
        self.failures = make.counter("commit_failures_total", "Commits that failed.")
        self.last_commit = make.gauge(
            "last_commit_timestamp_seconds", "When progress was last written."
        )
        self.bytes = make.gauge("store_size_bytes", "Size of the state file.")
        self.set_aside = make.counter(
            "store_set_aside_total", "State files that could not be used and were set aside."
        )

    def committed(self, seconds: float, at: float) -> None:
        """Note a commit."""
        self.commits.observe(seconds)
        self.last_commit.set(at)


class Notifying:
    """Who is told."""

    OUTCOMES = ("sent", "failed", "retried", "suppressed", "dead")

    def __init__(self, make: Maker) -> None:
        self.outcomes = make.counter(
            "notifications_total",
            "Messages by target and outcome; retried and suppressed ones are not lost.",
            *("target", "kind", "outcome"),
        )
        self.seconds = make.histogram(
            "notification_duration_seconds",
            "How long deliveries took, by kind of target.",
            "kind",
            buckets=SENDING_SECONDS,
        )
        self.queue = make.gauge("notification_queue_messages", "Messages that wait.", "target")
        self.oldest = make.age(
            "notification_oldest_unsent_seconds",
            "For how long the oldest message has waited; 0 if none waits.",
            "target",
        )
        self.dead_letters = make.gauge(
            "notification_dead_letters", "Messages given up that are kept to be seen.", "target"
        )

    def expect(self, kinds_by_target: Mapping[str, str]) -> None:
        """Show zeros for targets."""
        for target, kind in kinds_by_target.items():
            for outcome in self.OUTCOMES:
                self.outcomes.start(target, kind, outcome)
            self.seconds.observe_all((), kind)
            self.queue.set(0, target)
            self.oldest.since(None, target)
            self.dead_letters.set(0, target)

    def waiting(self, target: str, messages: int, oldest_at: float | None) -> None:
        """Take what waits for a target, and since when (epoch seconds)."""
        self.queue.set(messages, target)
        self.oldest.since(oldest_at, target)


class Reloading:
    """What was taken anew while running."""

    def __init__(self, make: Maker) -> None:
        self._last: dict[Reloaded, tuple[Gauge, Gauge]] = {}
        kinds: tuple[tuple[Reloaded, str, str], ...] = (
            ("config", "the configuration", "was"),
            ("rules", "the rules", "were"),
        )
        for kind, called, verb in kinds:
            self._last[kind] = (
                make.gauge(
                    f"{kind}_last_reload_successful",
                    f"Whether {called} could be used when last read; else the former stay.",
                ),
                make.gauge(
                    f"{kind}_last_reload_success_timestamp_seconds",
                    f"When {called} in force {verb} read.",
                ),
            )

    def done(self, kind: Reloaded, succeeded: bool, at: float) -> None:
        """Note that something was read; also at the start."""
        successful, moment = self._last[kind]
        successful.set(succeeded)
        if succeeded:
            moment.set(at)


class Usage:
    """What the agents spent."""

    def __init__(self, make: Maker) -> None:
        names = MAX_NAMES
        self.tokens = make.counter(
            "tokens_total", "Tokens of model calls.", "*model", "direction", limit=2 * names
        )
        self.cost = make.counter(
            "cost_usd_total", "Cost of model calls, where traces tell it.", "*model", limit=names
        )
        self.model_calls = make.histogram(
            "model_call_duration_seconds",
            "How long model calls took.",
            "*model",
            buckets=MODEL_SECONDS,
        )
        self.tool_calls = make.histogram(
            "tool_call_duration_seconds",
            "How long tool calls took.",
            "*operation",
            buckets=TOOL_SECONDS,
        )
