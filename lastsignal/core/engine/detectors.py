"""One rule, ready to run: how its groups are named, and what is kept of an event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from lastsignal.core.engine.traces import mark_of
from lastsignal.core.events import Event, metadata_value
from lastsignal.core.groups import Mark
from lastsignal.core.rules import Rule
from lastsignal.core.rules.conditions import Condition, possible
from lastsignal.core.rules.windows import SilenceWindow

SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True, eq=False)
class Detector:
    """One rule, ready to run."""

    rule: Rule
    bit: int
    """Its place in `TraceState.active`; 0 where nothing of it depends on having a group."""
    keep: int
    lasts: float
    """Seconds after which a group in which nothing more has matched may be given up."""
    values: Callable[[Event], list[Any]]
    """The event's group: the values of `group_by` without the trace."""
    facts: Callable[[Event], dict[str, Any]]
    """What the texts may quote of the event."""
    silence: SilenceWindow | None
    ends_trace: bool
    """Whether the end of a trace on a failed call is enough for it, however few had failed."""
    watches: Callable[[Event], bool] | None
    """For `pair`: whether a call or a run is watched at all."""
    required: int
    """Bits in `TraceState.seen` of the fields without which it is not checked."""
    cells: frozenset[tuple[str, str]]
    """(event type, status) pairs that can concern it."""

    def mark(self, event: Event) -> Mark:
        """Return where an event is, with the facts that the texts may quote."""
        return mark_of(event, self.facts(event))

    def key(self, values: list[Any]) -> str:
        """Return the name of a group among all of a trace, as the compiled steps write it."""
        return SEPARATOR.join([self.rule.key, *map(str, values)])


def cell_name(event_type: str, status: str) -> str:
    """Name the bit that says that a trace has had such an event."""
    return f"{event_type}/{status}"


def concerns(condition: Condition, event_type: str, status: str) -> bool:
    return possible(condition, {"event_type": event_type, "status": status})


def values_reader(names: list[str]) -> Callable[[Event], list[Any]]:
    if not names:
        return lambda event: []
    if len(names) == 1 and not names[0].startswith("metadata."):
        name = names[0]
        return lambda event: [getattr(event, name)]
    return lambda event: [_read(event, name) for name in names]


def facts_reader(names: list[str]) -> Callable[[Event], dict[str, Any]]:
    plain = [name for name in names if not name.startswith("metadata.")]
    if len(plain) < 2 or plain != names:
        return lambda event: {
            name: value for name in names if (value := _read(event, name)) is not None
        }
    read = attrgetter(*plain)
    return lambda event: {
        name: value for name, value in zip(plain, read(event), strict=True) if value is not None
    }


def _read(event: Event, name: str) -> Any:
    if name.startswith("metadata."):
        return metadata_value(event, name.removeprefix("metadata."))
    return getattr(event, name)
