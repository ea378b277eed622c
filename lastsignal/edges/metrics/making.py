"""Makes the metrics of one registry, each with its name, meaning and limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from prometheus_client import CollectorRegistry

from lastsignal.edges.metrics.series import (
    MAX_LABEL_SETS,
    MAX_NAMES,
    Age,
    Counter,
    Definition,
    Gauge,
    Histogram,
    OnOverflow,
)

PREFIX = "lastsignal_"

_Kind = TypeVar("_Kind", Counter, Gauge, Age, Histogram)


class Maker:
    """Makes metrics of one registry."""

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._clock = clock
        self.definitions: list[tuple[str, Definition]] = []
        overflow = Definition(
            "label_overflow_total",
            "Values counted as other, since their metric has as many label sets as it may.",
            ("metric",),
        )
        self.overflow = Counter(overflow, PREFIX, registry, lambda _: None)
        self.definitions.append(("counter", overflow))

    def _make(self, kind: type[_Kind], definition: Definition, called: str) -> _Kind:
        spill: OnOverflow = lambda name: self.overflow.add(1, name)  # noqa: E731  # typed so
        made = kind(definition, PREFIX, self._registry, spill)
        if definition.open_labels:
            self.overflow.start(made.name)
        self.definitions.append((called, definition))
        return made

    def counter(
        self, name: str, meaning: str, *labels: str, limit: int = MAX_LABEL_SETS
    ) -> Counter:
        """Make a counter; a label that begins with `*` is open."""
        return self._make(Counter, _define(name, meaning, labels, limit), "counter")

    def gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        """Make a gauge."""
        return self._make(Gauge, _define(name, meaning, labels), "gauge")

    def age(self, name: str, meaning: str, *labels: str) -> Age:
        """Make a gauge of the seconds since a moment."""
        made = self._make(Age, _define(name, meaning, labels), "gauge")
        made.clock = self._clock
        return made

    def histogram(
        self, name: str, meaning: str, *labels: str, buckets: tuple[float, ...]
    ) -> Histogram:
        """Make a histogram."""
        definition = _define(name, meaning, labels, MAX_NAMES, buckets)
        return self._make(Histogram, definition, "histogram")


def _define(
    name: str,
    meaning: str,
    labels: tuple[str, ...],
    limit: int = MAX_LABEL_SETS,
    buckets: tuple[float, ...] = (),
) -> Definition:
    names = tuple(label.lstrip("*") for label in labels)
    is_open = tuple(label[1:] for label in labels if label.startswith("*"))
    return Definition(name, meaning, names, is_open, limit, buckets)
