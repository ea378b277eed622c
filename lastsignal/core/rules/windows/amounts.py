"""Kinds that add up: sum, and ratio (the share of a part)."""

from __future__ import annotations

from math import fsum
from typing import Any, Literal

from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import FIRE, HEAL, NOTE, QUIET, Group, Signal
from lastsignal.core.rules.conditions import Complaint, Condition, parse_condition
from lastsignal.core.rules.windows.base import (
    Answer,
    MarkMaker,
    Tap,
    Window,
    bare_mark,
    check_positive,
    condition_of,
    number_reader,
)

MAX_SAMPLES = 4096
"""Entries that a sliding sum or ratio keeps; beyond it the oldest leave early."""
_TRIM_EVERY = 256  # matches: what is too old need not leave at once
TOTALS = ("input_tokens", "output_tokens", "cost_usd")
"""What a trace's model calls are summed up for in any case."""


class SumWindow(Window, frozen=True, tag="sum"):
    """Fires when the sum of `field` reaches `at_least`; over `within`, or over the group's life."""

    field: str | list[str]
    """A list is summed up."""
    at_least: float
    within: Duration | None = None
    of: Literal["trace"] | None = None
    """Of the whole trace, which is counted anyway: `where` only says at which events to look."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`."""
        names = self.fields()
        if self.of == "trace":
            return [Tap(where, _fire, total=(tuple(names), self.at_least))]
        needs = tuple(names) if len(names) == 1 else ()
        return [Tap(where, self._answer(), needs=needs)]

    def fields(self) -> list[str]:
        """The summed fields."""
        return [self.field] if isinstance(self.field, str) else list(self.field)

    def check(self, complain: Complaint) -> None:
        """A sum of nothing is reached by everything."""
        check_positive(complain, "at_least", self.at_least, 1e-9)
        if not self.field:
            complain("window.field", "there is nothing to sum up", "name a numeric field")
        if self.of == "trace":
            if self.within is not None or self.group_by != ["trace_id"]:
                complain(
                    "window.of",
                    "`of: trace` is the total of one trace from its beginning",
                    "group by trace_id only, without `within`",
                )
            for name in self.fields():
                if name not in TOTALS:
                    complain(
                        "window.field",
                        f"a trace has no total of `{name}`",
                        f"it has {', '.join(TOTALS)}; leave out `of`",
                    )

    def _answer(self) -> Answer:
        readers = [number_reader(name) for name in self.fields()]
        at_least, within = self.at_least, self.within

        def match(group: Group, event: Event) -> Signal:
            amount = 0.0
            for read in readers:
                amount += read(event) or 0.0
            if within is None:
                total = group.value = (group.value or 0.0) + amount
            else:
                _slide(group, event.timestamp, amount, within)
                total = group.value = fsum(group.numbers)
            return FIRE if total >= at_least and amount else QUIET

        return match


class RatioWindow(Window, frozen=True, tag="ratio"):
    """Fires when the share of `of` among the matches of `where` reaches `at_least`."""

    of: dict[str, Any]
    at_least: float
    within: Duration
    min_sample: int = 20
    """Fewer matches than this within the window prove nothing."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to the part and to the rest."""
        part = condition_of(self.of)
        rest = Condition("all", (where, Condition("not", (part,))))
        return [Tap(Condition("all", (where, part)), self._part), Tap(rest, self._rest)]

    def check(self, complain: Complaint) -> None:
        """A share lies between 0 and 1."""
        parse_condition(self.of, "window.of", complain)
        check_positive(complain, "min_sample", self.min_sample)
        if not 0 < self.at_least <= 1:
            complain(
                "window.at_least",
                f"`at_least` is {self.at_least:g}",
                "a ratio lies above 0 and up to 1",
            )

    def _part(self, group: Group, event: Event) -> Signal:
        group.times.append(event.timestamp)
        group.numbers.append(event.timestamp)
        return FIRE if self._reached(group, event.timestamp) else NOTE

    def _rest(self, group: Group, event: Event) -> Signal:
        """`times` holds the matches, `numbers` the parts among them: what is too old leaves them
        only when a part asks, so that the healthy event costs one entry."""
        times = group.times
        times.append(event.timestamp)
        if group.opened_at is not None and not self._reached(group, event.timestamp):
            return HEAL
        if len(times) % _TRIM_EVERY == 0:
            _leave(times, event.timestamp - self.within)
        return QUIET

    def _reached(self, group: Group, now: float) -> bool:
        horizon = now - self.within
        _leave(group.times, horizon)
        _leave(group.numbers, max(horizon, group.times[0]))
        if group.opened_at is None:
            group.expire(horizon)
        sample, parts = len(group.times), len(group.numbers)
        if sample < self.min_sample or parts < self.at_least * sample:
            return False
        group.value = parts / sample
        group.healed = False
        return True


def _leave(times: list[float], horizon: float) -> None:
    """Let what is older than the horizon, or too much, leave a list of times."""
    stale = max(0, len(times) - MAX_SAMPLES)
    while stale < len(times) and times[stale] < horizon:
        stale += 1
    del times[:stale]


def _slide(group: Group, now: float, amount: float, within: float) -> None:
    """Add an amount to the sliding window, and let what is too old leave it."""
    times, numbers = group.times, group.numbers
    times.append(now)
    numbers.append(amount)
    stale = 0
    while times[stale] < now - within or len(times) - stale > MAX_SAMPLES:
        stale += 1
    if stale:
        del times[:stale]
        del numbers[:stale]


def _fire(group: Group, event: Event) -> Signal:
    return FIRE
