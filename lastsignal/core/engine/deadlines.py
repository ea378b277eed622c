"""When to look at which trace again: a heap a source, and in each trace its own part of them."""

from __future__ import annotations

import heapq

from lastsignal.core.engine.traces import NO_DEADLINE, TraceState

Deadline = tuple[float, str, str]
"""(event time, trace id, key): the key of a group, of an open call after `CALL`, or empty."""


class Deadlines:
    """What is to be looked at when a source's clock has passed a time.

    Each trace remembers what is pending of it in `TraceState.waits`, so that it is written and
    restored with the trace, and a commit writes no more than what changed.
    """

    def __init__(self) -> None:
        self.soonest = NO_DEADLINE
        """The next deadline of the source that is being fed."""
        self._feeding: str | None = None
        self._heaps: dict[str, list[Deadline]] = {}

    def feed(self, source: str | None) -> None:
        """Keep `soonest` for this source from here on."""
        self._feeding = source
        self.soonest = self.next(source) if source is not None else NO_DEADLINE

    def next(self, source: str) -> float:
        """Return the next deadline of a source."""
        heap = self._heaps.get(source)
        return heap[0][0] if heap else NO_DEADLINE

    def push(self, source: str, trace: TraceState, time: float, key: str) -> None:
        """Look at this part of a trace again when this source's clock has passed the time."""
        trace.waits[key] = (time, source)
        heapq.heappush(self._heaps.setdefault(source, []), (time, trace.trace_id, key))
        if source == self._feeding and time < self.soonest:
            self.soonest = time

    def pop(self, source: str, clock: float) -> Deadline | None:
        """Take the next deadline that this clock has passed, None where there is none."""
        heap = self._heaps.get(source)
        return heapq.heappop(heap) if heap and heap[0][0] < clock else None

    def take(self, source: str) -> list[Deadline]:
        """Take all deadlines of a source."""
        return self._heaps.pop(source, [])

    def sources(self) -> list[str]:
        """Return the sources that have had deadlines."""
        return list(self._heaps)

    def forget(self, trace: TraceState) -> None:
        """Drop all deadlines of a trace."""
        for source in {source for _, source in trace.waits.values()}:
            heap = self._heaps.get(source, [])
            heap[:] = [one for one in heap if one[1] != trace.trace_id]
            heapq.heapify(heap)
        trace.waits.clear()
        self.feed(self._feeding)

    def restore(self, trace: TraceState) -> None:
        """Take back the deadlines of a trace that was restored."""
        for key, (time, source) in trace.waits.items():
            heapq.heappush(self._heaps.setdefault(source, []), (time, trace.trace_id, key))
