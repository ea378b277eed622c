"""Kinds that compare with before: spike (more than the time before), growth (ever more)."""

from __future__ import annotations

from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import FIRE, NOTE, QUIET, Group, Signal
from lastsignal.core.rules.conditions import Complaint, Condition
from lastsignal.core.rules.windows.base import (
    Answer,
    MarkMaker,
    Tap,
    Window,
    bare_mark,
    check_positive,
    number_reader,
)

MAX_TIMES = 8192


class SpikeWindow(Window, frozen=True, tag="spike"):
    """Fires when matches within the last `within` are `factor` times as frequent as before it.

    Before is the `within` before that, or what there is of it since the group's first match.
    """

    within: Duration
    factor: float
    at_least: int
    """Matches in the current window, below which nothing fires."""
    min_reference: int = 1
    """Matches in the window before, below which there is nothing to compare with."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`."""
        return [Tap(where, self._match)]

    def lasts(self) -> float:
        """The time before is looked at too."""
        return 2 * self.within

    def check(self, complain: Complaint) -> None:
        """A spike is more than before."""
        check_positive(complain, "at_least", self.at_least)
        check_positive(complain, "within", self.within, 0.001)
        if self.factor <= 1:
            complain("window.factor", f"`factor` is {self.factor:g}", "a spike needs more than 1")

    def _match(self, group: Group, event: Event) -> Signal:
        now, within = event.timestamp, self.within
        group.numbers = group.numbers or [now]
        times = [t for t in group.times if t > now - 2 * self.within][-MAX_TIMES:]
        times.append(now)
        group.times = times
        if not group.is_open:
            group.expire(now - self.within)
        current = sum(1 for t in times if t > now - self.within)
        before = len(times) - current
        group.value = float(current)
        length = min(within, now - within - group.numbers[0])
        enough = current >= self.at_least and before >= self.min_reference and length > 0
        grown = enough and current * length >= self.factor * before * within
        return FIRE if grown else NOTE


class GrowthWindow(Window, frozen=True, tag="growth"):
    """Fires when `field` grew `at_least` times in a row, to `factor` times its first value."""

    field: str
    at_least: int
    factor: float = 1.0
    minimum: float = 0.0
    """The latest value must reach this too: growth of small numbers is no news."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`."""
        return [Tap(where, self._answer(), needs=tuple(self.fields()))]

    def fields(self) -> list[str]:
        """The growing field."""
        return [self.field]

    def check(self, complain: Complaint) -> None:
        """Growth is a factor of one or more."""
        check_positive(complain, "at_least", self.at_least)
        check_positive(complain, "factor", self.factor)

    def _answer(self) -> Answer:
        """`numbers` holds the first and the latest value of the growth, `run` its steps."""
        read, at_least = number_reader(self.field), self.at_least
        worth_noting = at_least // 2

        def match(group: Group, event: Event) -> Signal:
            value = read(event)
            if value is None:
                return QUIET
            numbers = group.numbers
            if not numbers:
                group.numbers = [value, value]
                return QUIET
            if value <= numbers[1]:
                numbers[0] = numbers[1] = value
                if group.run and group.opened_at is None:
                    group.clear()
                group.run = 0
                return QUIET
            numbers[1] = value
            run = group.run = group.run + 1
            if run < worth_noting:
                return QUIET
            group.value = value
            grown = run >= at_least and value >= self.factor * numbers[0]
            return FIRE if grown and value >= self.minimum else NOTE

        return match
