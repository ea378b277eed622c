"""What the daemon tells Prometheus of itself and of the agents; see docs/metrics.md.

Labels come from closed sets, or are capped; never a trace id or a path.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from math import inf

from prometheus_client import CollectorRegistry, ProcessCollector

from lastsignal.core.error_classes import ERROR_CLASSES
from lastsignal.core.events import Event
from lastsignal.core.rules import SEVERITIES, Rule
from lastsignal.edges.metrics.catalog import (
    Incidents,
    Judging,
    Notifying,
    Reading,
    Reloading,
    Storing,
    TailFigures,
    Usage,
)
from lastsignal.edges.metrics.making import PREFIX, Maker

__all__ = ["Metrics", "TailFigures"]


class Metrics:
    """All metrics of one daemon.

    Args:
        registry: where they are collected; one of its own for every test.
        version: of Last Signal.
        clock: the wall clock.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        version: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        make = Maker(registry, clock)
        self.registry = registry
        self.reading = Reading(make)
        self.judging = Judging(make)
        self.incidents = Incidents(make)
        self.storing = Storing(make)
        self.notifying = Notifying(make)
        self.reloading = Reloading(make)
        self.usage = Usage(make)
        build = make.gauge("build_info", "1; the labels say what runs.", "version", "python")
        build.set(1, version, platform.python_version())
        for error_class in ERROR_CLASSES:
            self.judging.failures.start(error_class)
        for severity in SEVERITIES:
            self.incidents.open.set(0, severity)
        ProcessCollector(registry=registry)
        self.definitions = make.definitions
        """Every metric: how it is typed, and what it says."""

    def expect_rules(self, rules: Iterable[Rule]) -> None:
        """Take the rules in force, and show zeros for them."""
        count = 0
        for rule in rules:
            count += 1
            self.judging.findings.start(rule.id, rule.text.severity)
            self.judging.unevaluable.start(rule.id)
            self.incidents.opened.start(rule.id)
            self.incidents.resolved.start(rule.id)
        self.judging.rules.set(count)

    def events(self, batch: Iterable[Event]) -> None:
        """Count a batch, after the engine was fed with it: that completes durations."""
        seen: dict[tuple[object, ...], float] = {}
        failed: dict[tuple[object, ...], float] = {}
        spent = _Spent()
        tools: dict[str | None, list[float]] = {}
        for event in batch:
            kind = event.event_type
            key = (kind, event.status, event.framework)
            seen[key] = seen.get(key, 0) + 1
            if event.status == "failed":
                error = (event.error_class,)
                failed[error] = failed.get(error, 0) + 1
            if kind == "model_call":
                spent.add(event)
            elif kind == "tool_result":
                seconds = event.duration_seconds
                if seconds is not None and 0 <= seconds < inf:
                    tools.setdefault(event.operation, []).append(seconds)
        self.judging.events.add_all(seen)
        self.judging.failures.add_all(failed)
        self.usage.tokens.add_all(spent.tokens)
        self.usage.cost.add_all(spent.cost)
        for model, durations in spent.durations.items():
            self.usage.model_calls.observe_all(durations, model)
        for operation, durations in tools.items():
            self.usage.tool_calls.observe_all(durations, operation)

    def finding(self, rule: str, severity: str, trace_id: str) -> None:
        """Count a finding that is new."""
        self.judging.findings.add(1, rule, severity)
        self.judging.findings.point_at(trace_id, rule, severity)

    def reference(self) -> str:
        """Return the table of all metrics in Markdown."""
        lines = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
        for called, one in sorted(self.definitions, key=lambda pair: pair[1].name):
            labels = ", ".join(f"`{label}`" for label in one.labels)
            lines.append(f"| `{PREFIX}{one.name}` | {called} | {labels} | {one.help} |")
        return "\n".join(lines) + "\n"


class _Spent:
    """What the model calls of a batch used."""

    __slots__ = ("cost", "durations", "tokens")

    def __init__(self) -> None:
        self.tokens: dict[tuple[object, ...], float] = {}
        self.cost: dict[tuple[object, ...], float] = {}
        self.durations: dict[str | None, list[float]] = {}

    def add(self, event: Event) -> None:
        """Add what a model call says; figures that cannot be are left out."""
        model = event.model or event.operation
        count = event.input_tokens
        if count is not None and count > 0:
            key = (model, "input")
            self.tokens[key] = self.tokens.get(key, 0) + count
        count = event.output_tokens
        if count is not None and count > 0:
            key = (model, "output")
            self.tokens[key] = self.tokens.get(key, 0) + count
        cost = event.cost_usd
        if cost is not None and 0 < cost < inf:
            self.cost[model,] = self.cost.get((model,), 0) + cost
        seconds = event.duration_seconds
        if seconds is not None and 0 <= seconds < inf and event.status != "started":
            self.durations.setdefault(model, []).append(seconds)
