"""What every window kind shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from typing import Any

import msgspec

from lastsignal.core.events import Event, metadata_value
from lastsignal.core.groups import Group, Mark, Signal
from lastsignal.core.rules.conditions import (
    ALWAYS,
    NUMERIC_FIELDS,
    Complaint,
    Condition,
    parse_condition,
)

Answer = Callable[[Group, Event], Signal]
Thing = tuple[Any, ...]
MarkMaker = Callable[[Event], Mark]
"""Makes a mark with the facts that the rule's texts quote."""


def bare_mark(event: Event) -> Mark:
    """Return where an event is, without facts."""
    return Mark(event.timestamp, event.source, event.line, event.offset, event.event_type)


@dataclass(frozen=True, slots=True)
class Tap:
    """A condition that a window listens to, and what answers the events that meet it."""

    condition: Condition
    answer: Answer
    creates: bool = True
    """Whether a group comes into being by it; a reset of nothing needs no group."""
    needs: tuple[str, ...] = ()
    """Fields without which the answer would be QUIET anyway."""
    total: tuple[tuple[str, ...], float] | None = None
    """Totals of the trace whose sum must have reached an amount; the group's value is that sum."""
    in_time: bool = False
    """Whether an event that comes long after later ones of its trace is passed over."""
    every_group: bool = False
    """Whether it speaks to all groups of the rule in the trace, whatever group the event is of."""


class Window(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    """The part of a rule that says how much is too much."""

    group_by: list[str] = msgspec.field(default_factory=lambda: ["trace_id"])
    """Event fields; a group without `trace_id` spans traces."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Return what the window listens to; `mark` makes marks that texts may quote from."""
        raise TypeError(f"{type(self).__name__} must say what it listens to")

    def keep(self, wanted: int) -> int:
        """Return how many marks a group holds where so many are wanted as evidence."""
        return wanted

    def lasts(self) -> float:
        """Return for how long a group that has not fired means anything after its latest match,
        in seconds; infinite where a later event may always go on from it."""
        return inf

    def expires(self, group: Group) -> float:
        """Return the event time after which nothing that the group remembers counts any more:
        infinite where that never comes, or where it still must hear that all is well again."""
        if group.opened_at is not None or not group.marks:
            return inf
        return group.marks[-1].timestamp + self.lasts()

    def fields(self) -> list[str]:
        """Return the event fields that the window reads besides `where` and `group_by`."""
        return []

    def check(self, complain: Complaint) -> None:
        """Complain of values that parse but mean nothing."""


def hands_on(group: Group, event: Event) -> bool:
    """Whether an agent's end only repeats the failure that the group has been told of last: by the
    same record, or in the same words. One failure that reaches the top counts once."""
    if event.event_type != "agent_end" or not group.marks:
        return False
    told = group.marks[-1]
    if told.event_type == "agent_end":
        return False
    if (told.source, told.offset) == (event.source, event.offset):
        return True
    message = event.error_message
    return message is not None and message == (told.facts or {}).get("error_message")


def condition_of(raw: object) -> Condition:
    """Return the condition of a map that `check` has already judged."""
    return ALWAYS if raw is None else parse_condition(raw, "", lambda *_: None)


def number_in(event: Event, field: str) -> float | None:
    """Return the event's numeric value of a field or `metadata.<key>`, None where it has none."""
    value = value_in(event, field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def number_reader(field: str) -> Callable[[Event], float | None]:
    """Return `number_in` for one field, without its tests where the Event vouches for the type."""
    if field in NUMERIC_FIELDS:
        return attrgetter(field)
    return lambda event: number_in(event, field)


def value_in(event: Event, field: str) -> Any:
    """Return the event's value of a field or `metadata.<key>`."""
    if field.startswith("metadata."):
        return metadata_value(event, field.removeprefix("metadata."))
    return getattr(event, field)


def things_reader(names: list[str]) -> Callable[[Event], Thing]:
    """Return what reads several values of an event as one thing, to be told from others."""
    if not names:
        return lambda event: ()
    if any("." in name for name in names):
        return lambda event: tuple(value_in(event, name) for name in names)
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda event: (read(event),)


def check_positive(complain: Complaint, name: str, value: float, least: float = 1) -> None:
    """Complain of a number below the least that makes sense."""
    if value < least:
        complain(f"window.{name}", f"`{name}` is {value:g}", f"it must be at least {least:g}")
