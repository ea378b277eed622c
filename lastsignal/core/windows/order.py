"""Kinds that look at order: sequence (steps, also negated), repeat (the same again, and cycles)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from operator import attrgetter
from typing import Any

import msgspec

from lastsignal.core.conditions import Complaint, Condition, parse_condition
from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import Group, Mark, Signal
from lastsignal.core.windows.base import (
    Answer,
    MarkMaker,
    Tap,
    Window,
    bare_mark,
    check_positive,
    condition_of,
    value_in,
)

Place = tuple[float, str, int, int, str]
_place: Callable[[Event], Place] = attrgetter("timestamp", "source", "line", "offset", "event_type")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a sequence."""

    where: dict[str, Any]
    absent: bool = False
    """A negated step: an event that meets it breaks the sequence at this place."""


class SequenceWindow(Window, frozen=True, tag="sequence"):
    """Fires when events meet the steps, in order unless `ordered: false`, all within `within`."""

    steps: list[Step]
    within: Duration
    ordered: bool = True

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to every step; the rule's `where` holds for each of them."""
        taps = []
        wanted = [i for i, step in enumerate(self.steps) if not step.absent]
        # the last step first: one event must not carry a sequence over two steps
        for index in reversed(range(len(self.steps))):
            step = self.steps[index]
            condition = Condition("all", (where, condition_of(step.where)))
            taps.append(
                Tap(
                    condition,
                    self._answer(index, wanted, mark),
                    creates=not step.absent and (index == wanted[0] or not self.ordered),
                    # a span that is written at its end: what came between has passed already
                    in_time=self.ordered and index == wanted[0],
                )
            )
        return taps

    def lasts(self) -> float:
        """A sequence that takes longer is none."""
        return self.within

    def expires(self, group: Group) -> float:
        """A finding, too, has nothing under way once its steps are too old."""
        begun = [run[0].timestamp for run in group.partial if run]
        return max(begun, default=-inf) + self.within

    def check(self, complain: Complaint) -> None:
        """Two steps to see at least, and none negated at either end."""
        wanted = [step for step in self.steps if not step.absent]
        if len(wanted) < 2:
            complain(
                "window.steps", f"{len(wanted)} step(s) to be seen", "a sequence needs two or more"
            )
        if self.steps and (self.steps[0].absent or self.steps[-1].absent):
            complain(
                "window.steps",
                "a negated step at the edge",
                "put it between two steps; for an end that never comes use kind: silence",
            )
        check_positive(complain, "within", self.within, 0.001)
        for index, step in enumerate(self.steps):
            parse_condition(step.where, f"window.steps[{index}].where", complain)

    def _answer(self, index: int, wanted: list[int], mark: MarkMaker) -> Answer:
        if self.steps[index].absent:
            before = sum(1 for i in wanted if i < index)
            return lambda group, event: self._break(group, before)
        position = wanted.index(index)
        if not self.ordered:
            return lambda group, event: self._see(group, mark(event), position, len(wanted))
        if position == 0:
            return lambda group, event: self._begin(group, mark(event), len(wanted))
        return self._follow(position, len(wanted), mark)

    def _begin(self, group: Group, mark: Mark, steps: int) -> Signal:
        """`partial[i]` is the latest run of marks that has completed i + 1 steps."""
        if not group.partial:
            group.partial = [[] for _ in range(steps)]
        group.partial[0] = [mark]
        return Signal.QUIET

    def _follow(self, position: int, steps: int, mark: MarkMaker) -> Answer:
        def follow(group: Group, event: Event) -> Signal:
            partial = group.partial
            before = partial[position - 1] if partial else None
            if before:
                partial[position - 1] = []
            if not before or event.timestamp - before[0].timestamp > self.within:
                return Signal.QUIET if any(partial) else _leave(group)  # nothing to go on from
            run = [*before, mark(event)]
            if position < steps - 1:
                partial[position] = run
                return Signal.QUIET
            return self._complete(group, run)

        return follow

    def _see(self, group: Group, mark: Mark, position: int, steps: int) -> Signal:
        if not group.partial:
            group.partial = [[] for _ in range(steps)]
        group.partial[position] = [mark]
        horizon = mark.timestamp - self.within
        seen = [run[0] for run in group.partial if run and run[0].timestamp >= horizon]
        if len(seen) < steps:
            return Signal.QUIET
        return self._complete(group, sorted(seen, key=lambda one: one.timestamp))

    def _complete(self, group: Group, run: list[Mark]) -> Signal:
        group.partial = []
        group.value = run[-1].timestamp - run[0].timestamp
        if not group.is_open:
            group.marks = run[:-1]
            group.count = 0
        return Signal.FIRE

    def _break(self, group: Group, before: int) -> Signal:
        if 0 < before <= len(group.partial):
            group.partial[before - 1] = []
        return Signal.QUIET if any(group.partial) else _leave(group)


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
        read, key, at_least = _thing_reader(self.key), self.key, self.at_least

        def match(group: Group, event: Event) -> Signal:
            thing, things, places = read(event), group.things, group.places
            again = thing in things
            things.append(thing)
            places.append(_place(event))
            if len(things) > among:
                del things[0], places[0]
            if not again or things.count(thing) < at_least:
                return Signal.QUIET
            if not group.is_open:
                same = [one for one, done in zip(places, things, strict=True) if done == thing]
                group.marks = [_mark(one, key, thing) for one in same[:-1]]
                group.count = len(group.marks)
            group.value = float(things.count(thing))
            return Signal.FIRE

        return match

    def _answer(self) -> Answer:
        """`things` and `places` hold what was done last, as far back as a period reaches, and
        where; `numbers[p-1]` is the run of period p and `partial[0]` its evidence, both kept only
        while `run` says that a repetition is under way."""
        read, reach = _thing_reader(self.key), self.max_period

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
            return self._fire(group, hit) if hit >= self.min_period else Signal.QUIET

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
        return Signal.FIRE


def _leave(group: Group) -> Signal:
    """With nothing under way a group is not needed; a finding stays, but need not be asked."""
    return Signal.HEAL if group.opened_at is None else Signal.REST


def _thing_reader(key: list[str]) -> Callable[[Event], tuple[Any, ...]]:
    """Return what reads from an event the fields that tell things apart."""
    if len(key) > 1 and not any("." in name for name in key):
        return attrgetter(*key)
    return lambda event: tuple(value_in(event, name) for name in key)


def _mark(place: Place, key: list[str], thing: tuple[Any, ...]) -> Mark:
    """Return the mark of a place with what was done there, for the texts to quote."""
    return Mark(*place, dict(zip(key, thing, strict=True)))
