"""The kind that looks for the same again: repeat, also of cycles such as A-B-A-B."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from lastsignal.core.events import Event
from lastsignal.core.groups import FIRE, QUIET, Group, Mark, Signal
from lastsignal.core.rules.conditions import Complaint, Condition
from lastsignal.core.rules.windows.base import (
    Answer,
    MarkMaker,
    Tap,
    Window,
    bare_mark,
    check_positive,
    things_reader,
)

Place = tuple[float, str, int, int, str]
_place: Callable[[Event], Place] = attrgetter("timestamp", "source", "line", "offset", "event_type")


class RepeatWindow(Window, frozen=True, tag="repeat"):
    """Fires when the same is done again and again: a cycle of `period` things, `at_least` times.

    Things are told apart by the fields of `key`. `min_period: 1` finds one thing repeated,
    `min_period: 2` only true cycles such as A-B-A-B.
    """

    key: list[str]
    at_least: int
    """Full repetitions of the cycle."""
    min_period: int = 1
    max_period: int = 4
    among: int | None = None
    """Instead of cycles: the same thing among the latest so many, whatever comes in between."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to `where`."""
        answer = self._answer() if self.among is None else self._answer_among(self.among)
        return [Tap(where, answer, needs=tuple(self.fields()))]

    def fields(self) -> list[str]:
        """The fields that tell things apart."""
        return list(self.key)

    def check(self, complain: Complaint) -> None:
        """Once is no repetition."""
        check_positive(complain, "at_least", self.at_least, 2)
        check_positive(complain, "min_period", self.min_period)
        if self.among is not None:
            check_positive(complain, "among", self.among, self.at_least)
        if not self.min_period <= self.max_period <= 16:
            complain(
                "window.max_period",
                f"`max_period` is {self.max_period}",
                "between min_period and 16",
            )

    def _answer_among(self, among: int) -> Answer:
        """`things` and `places` hold what was done last, and where."""
        read, key, at_least = things_reader(self.key), self.key, self.at_least

        def match(group: Group, event: Event) -> Signal:
            thing, things, places = read(event), group.things, group.places
            again = thing in things
            things.append(thing)
            places.append(_place(event))
            if len(things) > among:
                del things[0], places[0]
            if not again or things.count(thing) < at_least:
                return QUIET
            if not group.is_open:
                same = [one for one, done in zip(places, things, strict=True) if done == thing]
                group.marks = [_mark(one, key, thing) for one in same[:-1]]
                group.count = len(group.marks)
            group.value = float(things.count(thing))
            return FIRE

        return match

    def _answer(self) -> Answer:
        """`things` and `places` hold what was done last, as far back as a period reaches, and
        where; `numbers[p-1]` is the run of period p and `partial[0]` its evidence, both kept only
        while `run` says that a repetition is under way."""
        read, reach = things_reader(self.key), self.max_period

        def match(group: Group, event: Event) -> Signal:
            thing, things, places = read(event), group.things, group.places
            place = _place(event)
            hit = 0
            if thing in things:
                hit = self._run(group, thing, place)
            elif group.run:
                group.run = 0
            things.append(thing)
            places.append(place)
            if len(things) > reach:
                del things[0], places[0]
            return self._fire(group, hit) if hit >= self.min_period else QUIET

        return match

    def _run(self, group: Group, thing: tuple[Any, ...], place: Place) -> int:
        """Lengthen the run of each period that the thing continues; return the shortest cycle."""
        things, key = group.things, self.key
        if not group.run:
            group.numbers = [0.0] * self.max_period
            before = zip(group.places, things, strict=True)
            group.partial = [[_mark(one, key, done) for one, done in before]]
        evidence = group.partial[0]
        evidence.append(_mark(place, key, thing))
        del evidence[: -self.max_period * self.at_least]
        hit, runs = 0, group.numbers
        for period in range(1, self.max_period + 1):
            same = len(things) >= period and things[-period] == thing
            runs[period - 1] = runs[period - 1] + 1 if same else 0.0
            if not hit and runs[period - 1] >= period * (self.at_least - 1):
                hit = period
        group.run = int(any(runs))
        return hit

    def _fire(self, group: Group, period: int) -> Signal:
        if not group.is_open:
            group.marks = group.partial[0][-period * self.at_least : -1]
            group.count = len(group.marks)
        group.value = float(period)
        return FIRE


def _mark(place: Place, key: list[str], thing: tuple[Any, ...]) -> Mark:
    """Return the mark of a place with what was done there, for the texts to quote."""
    return Mark(*place, dict(zip(key, thing, strict=True)))
