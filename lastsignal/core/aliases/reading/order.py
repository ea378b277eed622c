"""Events of a source in order of time: held while earlier ones may still come."""

from __future__ import annotations

import heapq
from typing import Any

import msgspec

from lastsignal.core.events import Event, as_plain

_LEAP_BACK = 60.0
"""Seconds back in time that no disorder of writers makes: another log has been appended here."""
_MAX_UNTIMED = 256  # events that wait for a source's first time; then it counts as having none
_FOR_EVER = float("inf")


class SavedOrder(msgspec.Struct, kw_only=True):
    """What an `Order` keeps over a restart."""

    disorder: float
    arrivals: int
    held: list[tuple[float, int, int, dict[str, Any]]]
    untimed: list[dict[str, Any]]
    awaits_time: bool
    front: float = 0.0


class Order:
    """Holds the events of one source until nothing can come before them.

    Events without a time take that of the event before them; those before a source's first time
    wait for it. Where a log of an earlier time has been appended, order begins anew.
    """

    def __init__(self) -> None:
        self.disorder = 0.0
        """Seconds by which a record may come after a later one."""
        self.front = 0.0
        """The highest time since order began anew; 0.0 while nothing was held."""
        self._held: list[tuple[float, int, int, Event]] = []
        self._arrivals = 0
        self._untimed: list[Event] = []
        self._awaits_time = True

    @property
    def must_hold(self) -> bool:
        """Whether the next events may have to wait."""
        return self._awaits_time or self.disorder > 0.0

    @property
    def is_holding(self) -> bool:
        """Whether events wait."""
        return bool(self._held or self._untimed)

    def take(self, events: list[Event]) -> list[Event]:
        """Hold the next events, which others may still come before; return those that can go."""
        if not self.disorder:
            return self._await_time(events)
        # a span is told when it ends: its start may lie far back, and its end says when it came
        vague = ("ingest", "inherited") if self.front else ("ingest",)
        latest = max((e.timestamp for e in events if e.timestamp_source not in vague), default=0.0)
        before = []
        if latest and latest < self.front - _LEAP_BACK:
            before, self.front = self.give_up(), latest
        self.front = max(self.front, latest)
        self._hold(events)
        return before + self._release(self.front - self.disorder)

    def give_up(self) -> list[Event]:
        """Return all that waits: nothing more will come."""
        return self._release(_FOR_EVER)

    def save(self) -> SavedOrder:
        """Return what `restore` takes."""
        return SavedOrder(
            disorder=self.disorder,
            arrivals=self._arrivals,
            held=[(time, sequence, n, as_plain(one)) for time, sequence, n, one in self._held],
            untimed=[as_plain(event) for event in self._untimed],
            awaits_time=self._awaits_time,
            front=self.front,
        )

    def restore(self, saved: SavedOrder) -> None:
        """Take back what `save` gave."""
        self.disorder, self._arrivals = saved.disorder, saved.arrivals
        self._held = [(time, seq, n, Event(**one)) for time, seq, n, one in saved.held]
        self._untimed = [Event(**one) for one in saved.untimed]
        self._awaits_time, self.front = saved.awaits_time, saved.front

    def _await_time(self, events: list[Event]) -> list[Event]:
        """Hold what comes before the source's first time, until that is known."""
        waiting = self._untimed + events
        first = next((one.timestamp for one in waiting if one.timestamp_source != "ingest"), None)
        if first is None and len(waiting) <= _MAX_UNTIMED:
            self._untimed = waiting
            return []
        self._untimed, self._awaits_time = [], False
        for event in waiting if first is not None else ():
            if event.timestamp_source == "ingest":
                event.timestamp, event.timestamp_source = first or 0.0, "inherited"
        return waiting

    def _hold(self, events: list[Event]) -> None:
        for event in events:
            if event.timestamp_source == "ingest" and self._awaits_time:
                self._untimed.append(event)
                continue
            self._arrivals += 1
            heapq.heappush(
                self._held, (event.timestamp, event.sequence or 0, self._arrivals, event)
            )

    def _release(self, watermark: float) -> list[Event]:
        released: list[Event] = []
        held = self._held
        given_up = watermark == _FOR_EVER or len(self._untimed) > _MAX_UNTIMED
        if given_up or (held and held[0][0] <= watermark):
            self._awaits_time = False
            released, self._untimed = self._untimed, []
            for event in released if held else ():
                event.timestamp, event.timestamp_source = held[0][0], "inherited"
        while held and held[0][0] <= watermark:
            released.append(heapq.heappop(held)[3])
        return released
