"""The kind that looks for steps: sequence, with steps that must not come, and steps that belong
together."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import msgspec

from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import FIRE, HEAL, QUIET, REST, Group, Mark, Signal
from lastsignal.core.rules.conditions import Complaint, Condition, parse_condition
from lastsignal.core.rules.windows.base import (
    Answer,
    MarkMaker,
    Tap,
    Thing,
    Window,
    bare_mark,
    check_positive,
    condition_of,
    things_reader,
)

MAX_RUNS = 100
"""Sequences under way in one group; beyond it the one that began first is given up."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a sequence."""

    where: dict[str, Any]
    absent: bool = False
    """A negated step: an event that meets it breaks the sequence at this place."""


class SequenceWindow(Window, frozen=True, tag="sequence"):
    """Fires when events meet the steps, in order unless `ordered: false`, all within `within`.

    In order, `partial` holds the runs of marks that are under way, each as long as the steps it
    has completed, and `things` what the events of each share; there is one of each length and
    thing, the latest. In any order, `partial` holds the latest mark of each step.
    """

    steps: list[Step]
    within: Duration
    ordered: bool = True
    same: list[str] = msgspec.field(default_factory=list)
    """Fields that all steps of one sequence share, though one finding tells of all values."""

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
        if self.same and not self.ordered:
            complain(
                "window.same",
                "`same` needs steps in order",
                "leave out `ordered: false`, or `same`",
            )
        check_positive(complain, "within", self.within, 0.001)
        for index, step in enumerate(self.steps):
            parse_condition(step.where, f"window.steps[{index}].where", complain)

    def _answer(self, index: int, wanted: list[int], mark: MarkMaker) -> Answer:
        read = things_reader(self.same)
        if self.steps[index].absent:
            before = sum(1 for i in wanted if i < index)
            return lambda group, event: self._break(group, read(event), before)
        position = wanted.index(index)
        if not self.ordered:
            return lambda group, event: self._see(group, mark(event), position, len(wanted))
        if position == 0:
            return lambda group, event: _put(group, read(event), [mark(event)])
        return self._follow(position, len(wanted), mark, read)

    def _follow(
        self, position: int, steps: int, mark: MarkMaker, read: Callable[[Event], Thing]
    ) -> Answer:
        def follow(group: Group, event: Event) -> Signal:
            if not group.partial:
                return _leave(group)
            thing = read(event)
            before = _take(group, thing, position)
            if before is None or event.timestamp - before[0].timestamp > self.within:
                return QUIET if group.partial else _leave(group)  # nothing to go on from
            run = [*before, mark(event)]
            if position < steps - 1:
                return _put(group, thing, run)
            while thing in group.things:  # what else of it is under way has led here, too
                place = group.things.index(thing)
                del group.things[place], group.partial[place]
            return _complete(group, run)

        return follow

    def _see(self, group: Group, mark: Mark, position: int, steps: int) -> Signal:
        if not group.partial:
            group.partial = [[] for _ in range(steps)]
        group.partial[position] = [mark]
        horizon = mark.timestamp - self.within
        seen = [run[0] for run in group.partial if run and run[0].timestamp >= horizon]
        if len(seen) < steps:
            return QUIET
        group.partial = []
        return _complete(group, sorted(seen, key=lambda one: one.timestamp))

    def _break(self, group: Group, thing: Thing, before: int) -> Signal:
        if self.ordered:
            _take(group, thing, before)
        elif 0 < before <= len(group.partial):
            group.partial[before - 1] = []
        return QUIET if any(group.partial) else _leave(group)


def _take(group: Group, thing: Thing, length: int) -> list[Mark] | None:
    """Take out the run of this length of this thing, None where there is none."""
    for place, run in enumerate(group.partial):
        if len(run) == length and group.things[place] == thing:
            del group.things[place]
            return group.partial.pop(place)
    return None


def _put(group: Group, thing: Thing, run: list[Mark]) -> Signal:
    """Put a run in, in the place of an elder one of its length and thing."""
    _take(group, thing, len(run))
    group.things.append(thing)
    group.partial.append(run)
    if len(group.partial) > MAX_RUNS:
        del group.things[0], group.partial[0]
    return QUIET


def _complete(group: Group, run: list[Mark]) -> Signal:
    group.value = run[-1].timestamp - run[0].timestamp
    if not group.is_open:
        group.marks = run[:-1]
        group.count = 0
    return FIRE


def _leave(group: Group) -> Signal:
    """With nothing under way a group is not needed; a finding stays, but need not be asked."""
    return HEAL if group.opened_at is None else REST
