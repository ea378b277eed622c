"""Counters, gauges and histograms of bounded size, cheap to add to in batches.

A key is the tuple of label values. What is beyond the limit is counted under `other`, so that a
trace cannot make the exposition grow without end. Written by one thread; scraped from any.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

Key = tuple[str, ...]
OnOverflow = Callable[[str], None]

OTHER = "other"
NONE = "none"
MAX_LABEL_SETS = 2000
MAX_NAMES = 200
"""For names that agents choose, such as operations: each costs a whole histogram."""
MAX_LABEL_CHARS = 100
MAX_EXEMPLAR_CHARS = 64  # OpenMetrics allows 128 for all labels together
_UNUSUAL = re.compile(r"[^A-Za-z0-9._:/@-]")  # not every parser unescapes what is in an exemplar


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric is called and what it says."""

    name: str
    """Without the prefix."""
    help: str
    labels: tuple[str, ...] = ()
    open_labels: tuple[str, ...] = ()
    """Those whose values are no closed set: beyond the limit they become `other`."""
    limit: int = MAX_LABEL_SETS
    buckets: tuple[float, ...] = ()


def clean(value: object) -> str:
    """Return a label value as it may be shown: short, and encodable."""
    if value is None or value == "":
        return NONE
    return str(value)[:MAX_LABEL_CHARS].encode("utf-8", "replace").decode()


_Value = TypeVar("_Value")


class _Series(Collector, Generic[_Value]):
    """The values of one metric by key."""

    def __init__(
        self, definition: Definition, prefix: str, registry: CollectorRegistry, spill: OnOverflow
    ) -> None:
        self.definition = definition
        self.name = prefix + definition.name
        self.values: dict[Key, _Value] = {}
        self._spill = spill
        self._cleaned: dict[tuple[object, ...], Key] = {}
        """Keys by label values as they come: several of these may be one key."""
        self._unit = next(
            (u for u in ("seconds", "bytes") if self.name.removesuffix("_total").endswith(u)), ""
        )
        registry.register(self)

    def key(self, labels: tuple[object, ...]) -> Key:
        """Return the key under which these label values are counted."""
        found = self._cleaned.get(labels)
        return found if found is not None else self._new_key(labels)

    def _new_key(self, labels: tuple[object, ...]) -> Key:
        if len(labels) != len(self.definition.labels):
            raise ValueError(f"{self.name} has the labels {self.definition.labels}")
        key = tuple(map(clean, labels))
        if key not in self.values and len(self.values) >= self.definition.limit:
            self._spill(self.name)
            return self._other(key)
        if len(self._cleaned) < 2 * self.definition.limit:
            self._cleaned[labels] = key
        return key

    def _other(self, key: Key) -> Key:
        is_open = self.definition.open_labels or self.definition.labels
        names = zip(self.definition.labels, key, strict=True)
        return tuple(OTHER if name in is_open else value for name, value in names)

    def describe(self) -> Iterable[Metric]:
        """Return the metric without its values."""
        return [self._family()]

    def collect(self) -> Iterator[Metric]:
        """Yield the metric with its values."""
        family = self._family()
        for key, value in list(self.values.items()):  # one step: another thread may be writing
            self._add_to(family, key, value)
        yield family

    def _family(self) -> Metric:
        raise NotImplementedError

    def _add_to(self, family: Metric, key: Key, value: _Value) -> None:
        raise NotImplementedError


class Counter(_Series[float]):
    """Only ever grows."""

    def __init__(
        self, definition: Definition, prefix: str, registry: CollectorRegistry, spill: OnOverflow
    ) -> None:
        super().__init__(definition, prefix, registry, spill)
        self._exemplars: dict[Key, Exemplar] = {}
        if not definition.labels:
            self.values[()] = 0

    def add(self, amount: float = 1, *labels: object) -> None:
        """Count so much more."""
        key = self.key(labels)
        self.values[key] = self.values.get(key, 0) + amount

    def add_all(self, amounts: Mapping[tuple[object, ...], float]) -> None:
        """Count so much more by label values."""
        for labels, amount in amounts.items():
            self.add(amount, *labels)

    def start(self, *labels: object) -> None:
        """Show zero before the first is counted: rates then see the first one."""
        self.values.setdefault(self.key(labels), 0)

    def raise_to(self, total: float, *labels: object) -> None:
        """Take a total that is counted elsewhere; it never falls."""
        key = self.key(labels)
        self.values[key] = max(total, self.values.get(key, 0))

    def point_at(self, trace_id: str, *labels: object) -> None:
        """Name a trace for who looks at the count: an exemplar, which costs no series."""
        label = {"trace_id": _UNUSUAL.sub("_", trace_id[:MAX_EXEMPLAR_CHARS])}
        self._exemplars[self.key(labels)] = Exemplar(label, 1, time.time())

    def _family(self) -> CounterMetricFamily:
        definition = self.definition
        return CounterMetricFamily(
            self.name, definition.help, labels=definition.labels, unit=self._unit
        )

    def _add_to(self, family: Metric, key: Key, value: float) -> None:
        assert isinstance(family, CounterMetricFamily)
        family.add_metric(key, value, exemplar=self._exemplars.get(key))


class Gauge(_Series[float]):
    """Goes up and down."""

    def __init__(
        self, definition: Definition, prefix: str, registry: CollectorRegistry, spill: OnOverflow
    ) -> None:
        super().__init__(definition, prefix, registry, spill)
        if not definition.labels:
            self.values[()] = 0

    def set(self, value: float, *labels: object) -> None:
        """Take the present value."""
        self.values[self.key(labels)] = value

    def replace(self, values: Mapping[tuple[object, ...], float]) -> None:
        """Take all present values: what is not among them is gone."""
        self._cleaned.clear()
        fresh: dict[Key, float] = {}
        self.values = {}
        for labels, value in values.items():
            key = self.key(labels)
            fresh[key] = fresh.get(key, 0) + value
            self.values[key] = fresh[key]

    def _family(self) -> GaugeMetricFamily:
        definition = self.definition
        return GaugeMetricFamily(
            self.name, definition.help, labels=definition.labels, unit=self._unit
        )

    def _add_to(self, family: Metric, key: Key, value: float) -> None:
        assert isinstance(family, GaugeMetricFamily)
        family.add_metric(key, value)


class Age(Gauge):
    """A gauge of seconds since a moment, which grows by itself; zero where there is none."""

    clock: Callable[[], float] = staticmethod(time.time)

    def since(self, moment: float | None, *labels: object) -> None:
        """Take the moment, in epoch seconds."""
        self.values[self.key(labels)] = 0.0 if moment is None else moment

    def _add_to(self, family: Metric, key: Key, value: float) -> None:
        super()._add_to(family, key, max(0.0, self.clock() - value) if value else 0.0)


@dataclass(slots=True)
class Distribution:
    """How many values fell into which bucket."""

    counts: list[int]
    total: float = 0.0


class Histogram(_Series[Distribution]):
    """Counts values by size."""

    def __init__(
        self, definition: Definition, prefix: str, registry: CollectorRegistry, spill: OnOverflow
    ) -> None:
        super().__init__(definition, prefix, registry, spill)
        self._bounds = definition.buckets
        self._names = [*map(str, map(float, self._bounds)), "+Inf"]
        if not definition.labels:
            self._distribution(())

    def observe(self, value: float, *labels: object) -> None:
        """Count one value."""
        self.observe_all((value,), *labels)

    def observe_all(self, values: Sequence[float], *labels: object) -> None:
        """Count several values."""
        distribution = self._distribution(self.key(labels))
        counts, bounds = distribution.counts, self._bounds
        for value in values:
            counts[bisect_left(bounds, value)] += 1
        distribution.total += sum(values)

    def _distribution(self, key: Key) -> Distribution:
        found = self.values.get(key)
        if found is None:
            found = self.values[key] = Distribution([0] * (len(self._bounds) + 1))
        return found

    def _family(self) -> HistogramMetricFamily:
        definition = self.definition
        return HistogramMetricFamily(
            self.name, definition.help, labels=definition.labels, unit=self._unit
        )

    def _add_to(self, family: Metric, key: Key, value: Distribution) -> None:
        assert isinstance(family, HistogramMetricFamily)
        buckets, running = [], 0
        for name, count in zip(self._names, list(value.counts), strict=True):
            running += count
            buckets.append((name, float(running)))
        family.add_metric(key, buckets, value.total)
