"""Kinds that count: event, count, streak, distinct."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import FIRE, HEAL, NOTE, OPEN, QUIET, Group, Signal
from lastsignal.core.rules.conditions import Complaint, Condition, parse_condition
from lastsignal.core.rules.windows.base import (
    MarkMaker,
    Tap,
    Window,
    bare_mark,
    check_positive,
    condition_of,
    hands_on,
    value_in,
)

MAX_DISTINCT = 1000


class EventWindow(Window, frozen=True, tag="event"):
    """Fires on every matching event."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`."""
        return [Tap(where, _each)]


class CountWindow(Window, frozen=True, tag="count"):
    """Fires when `at_least` events match within `within`."""

    at_least: int
    within: Duration
    reset: dict[str, Any] | None = None
    """What heals an open finding and forgets what was counted."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`, and to `reset`."""
        taps = [Tap(where, self._match)]
        if self.reset is not None:
            taps.append(Tap(condition_of(self.reset), _heal, creates=False))
        return taps

    def keep(self, wanted: int) -> int:
        """The count is made of the marks themselves."""
        return max(wanted, self.at_least)

    def lasts(self) -> float:
        """What is older counts no more."""
        return self.within

    def check(self, complain: Complaint) -> None:
        """Counts and lengths of time must be positive."""
        check_positive(complain, "at_least", self.at_least)
        check_positive(complain, "within", self.within, 0.001)
        if self.reset is not None:
            parse_condition(self.reset, "window.reset", complain)

    def _match(self, group: Group, event: Event) -> Signal:
        group.healed = False
        if group.is_open:
            return FIRE
        group.expire(event.timestamp - self.within)
        return FIRE if group.count + 1 >= self.at_least else NOTE


class StreakWindow(Window, frozen=True, tag="streak"):
    """Fires when `at_least` matches follow one another with no `reset` between them."""

    at_least: int
    reset: dict[str, Any]
    """What ends a streak of the same group, and heals an open finding."""
    within: Duration | None = None
    """Longest gap between two matches of one streak."""
    same: list[str] = msgspec.field(default_factory=list)
    """Fields that must stay equal: a match with another value begins a new streak."""
    or_before: dict[str, Any] | None = None
    """What makes any streak enough that it follows, when nothing else has failed in between: a run
    that ends on its first failure has no second one to wait for."""
    reset_all: dict[str, Any] | None = None
    """What lets every streak of the trace begin anew, whatever its group; it heals nothing."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`, and to what ends a streak."""
        taps = [
            Tap(where, self._match),
            Tap(condition_of(self.reset), _heal, creates=False),
        ]
        if self.or_before is not None:
            taps.append(
                Tap(condition_of(self.or_before), _suffice, creates=False, every_group=True)
            )
        if self.reset_all is not None:
            taps.append(
                Tap(condition_of(self.reset_all), _restart, creates=False, every_group=True)
            )
        return taps

    def fields(self) -> list[str]:
        """The fields that tell one streak from the next."""
        return list(self.same)

    def check(self, complain: Complaint) -> None:
        """Counts must be positive, the resets conditions; ends are those of a trace."""
        check_positive(complain, "at_least", self.at_least)
        parse_condition(self.reset, "window.reset", complain)
        for name, raw in (("or_before", self.or_before), ("reset_all", self.reset_all)):
            if raw is not None:
                parse_condition(raw, f"window.{name}", complain)
                if "trace_id" not in self.group_by:
                    complain(
                        f"window.{name}",
                        f"`{name}` speaks of one trace, the groups span traces",
                        "add trace_id to group_by",
                    )

    def _match(self, group: Group, event: Event) -> Signal:
        if hands_on(group, event):
            return QUIET
        group.relapsed = group.relapsed or group.healed
        if group.run and self._is_new(group, event):
            _restart(group, event)
        group.run += 1
        if self.same:
            group.things = [tuple(value_in(event, name) for name in self.same)]
        if group.run < self.at_least:
            return NOTE
        group.healed = False
        return FIRE

    def _is_new(self, group: Group, event: Event) -> bool:
        if self.within is not None and event.timestamp - group.marks[-1].timestamp > self.within:
            return True
        return bool(self.same) and group.things != [
            tuple(value_in(event, name) for name in self.same)
        ]


class DistinctWindow(Window, frozen=True, tag="distinct"):
    """Fires when `field` takes `at_least` different values within `within`."""

    field: str
    at_least: int
    within: Duration
    reset: dict[str, Any] | None = None
    """What heals an open finding and forgets the values."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`, and to `reset`."""
        taps = [Tap(where, self._match, needs=tuple(self.fields()))]
        if self.reset is not None:
            taps.append(Tap(condition_of(self.reset), _forget, creates=False))
        return taps

    def fields(self) -> list[str]:
        """The counted field."""
        return [self.field]

    def lasts(self) -> float:
        """What is older counts no more."""
        return self.within

    def check(self, complain: Complaint) -> None:
        """Two values at least, or `event` would do."""
        check_positive(complain, "at_least", self.at_least, 2)
        check_positive(complain, "within", self.within, 0.001)
        if self.reset is not None:
            parse_condition(self.reset, "window.reset", complain)

    def _match(self, group: Group, event: Event) -> Signal:
        value = value_in(event, self.field)
        if value is None:
            return QUIET
        horizon = event.timestamp - self.within
        seen = {v: t for v, t in group.seen.items() if t >= horizon}
        new = str(value) not in seen
        seen[str(value)] = event.timestamp
        if len(seen) > MAX_DISTINCT:
            del seen[min(seen, key=seen.__getitem__)]
        group.seen = seen
        if not group.is_open:
            group.expire(horizon)
        if len(seen) >= self.at_least:
            group.healed = False
            group.value = max(group.value or 0.0, float(len(seen)))
            return FIRE
        return NOTE if new else QUIET


def _each(group: Group, event: Event) -> Signal:
    return QUIET if hands_on(group, event) else FIRE


def _heal(group: Group, event: Event) -> Signal:
    group.run = 0
    return HEAL


def _forget(group: Group, event: Event) -> Signal:
    group.seen = {}
    return HEAL


def _restart(group: Group, event: Event) -> Signal:
    group.run = 0
    if not group.is_open:
        group.clear()
    return QUIET


def _suffice(group: Group, event: Event) -> Signal:
    return OPEN if group.run else QUIET
