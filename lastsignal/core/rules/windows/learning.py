"""Kinds that learn what is usual: new_value (never seen before), baseline (unlike its own past)."""

from __future__ import annotations

from math import inf, sqrt

from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import FIRE, HEAL, NOTE, QUIET, Group, Signal
from lastsignal.core.rules.conditions import Complaint, Condition
from lastsignal.core.rules.windows.base import (
    Answer,
    MarkMaker,
    Tap,
    Window,
    bare_mark,
    check_positive,
    number_reader,
    value_in,
)

MAX_VALUES = 1000


class NewValueWindow(Window, frozen=True, tag="new_value"):
    """Fires when `field` takes a value that is new to the group, once it knows enough."""

    field: str
    min_history: int = 20
    """Events that a group must have shown before anything counts as new."""
    forget_after: Duration | None = None

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`."""
        return [Tap(where, self._match, needs=tuple(self.fields()))]

    def fields(self) -> list[str]:
        """The learned field."""
        return [self.field]

    def check(self, complain: Complaint) -> None:
        """Without history everything is new."""
        check_positive(complain, "min_history", self.min_history)

    def _match(self, group: Group, event: Event) -> Signal:
        value = value_in(event, self.field)
        if value is None:
            return QUIET
        now, seen = event.timestamp, group.seen
        known = seen.get(str(value))
        if self.forget_after is not None and known is not None and now - known > self.forget_after:
            known = None
        seen[str(value)] = now
        if len(seen) > MAX_VALUES:
            del seen[min(seen, key=seen.__getitem__)]
        group.run += 1
        return FIRE if known is None and group.run > self.min_history else QUIET


class BaselineWindow(Window, frozen=True, tag="baseline"):
    """Fires when `field` lies far above the group's own past: `deviations` and `factor` times both.

    What is learned is clamped to the bound itself: a sick day cannot teach that sick is usual.
    """

    field: str
    factor: float = 3.0
    deviations: float = 4.0
    minimum: float = 0.0
    """Values below this never fire."""
    min_sample: int = 20
    at_least: int = 1
    """Values in a row above the bound."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`."""
        return [Tap(where, self._answer(), needs=tuple(self.fields()))]

    def fields(self) -> list[str]:
        """The measured field."""
        return [self.field]

    def check(self, complain: Complaint) -> None:
        """A bound below the mean would fire on everything."""
        check_positive(complain, "factor", self.factor)
        check_positive(complain, "min_sample", self.min_sample, 2)
        check_positive(complain, "at_least", self.at_least)

    def _answer(self) -> Answer:
        """`numbers` holds how many values were learned, their sum, and the sum of their squares."""
        read, minimum = number_reader(self.field), self.minimum

        def match(group: Group, event: Event) -> Signal:
            value = read(event)
            if value is None:
                return QUIET
            learned = group.numbers
            if not learned:
                learned = group.numbers = [0.0, 0.0, 0.0]
            bound = self._bound(learned) if value > minimum else inf
            taught = value if value <= bound else bound
            learned[0] += 1
            learned[1] += taught
            learned[2] += taught * taught
            if value > bound:
                group.value = value
                group.run += 1
                group.healed = False
                return FIRE if group.run >= self.at_least else NOTE
            if group.opened_at is not None:
                group.run = 0
                return HEAL
            if group.run:
                group.clear()
            return QUIET

        return match

    def _bound(self, learned: list[float]) -> float:
        samples, total, squares = learned
        if samples < self.min_sample:
            return inf
        mean = total / samples
        spread = sqrt(max(0.0, squares / samples - mean * mean))
        return max(mean * self.factor, mean + self.deviations * spread, self.minimum)
