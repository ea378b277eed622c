"""What one rule remembers of one group: bounded, and serialisable on its own."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

MAX_MARKS = 20
"""Evidence kept of a finding: the first half and the latest half; `count` still counts all."""
FEW_MARKS = 8
"""The same of a finding that is only a hint: of those a long trace may have thousands."""


class Signal(IntEnum):
    """What a window answers to an event."""

    QUIET = 0
    """Nothing that the group's evidence should keep."""
    NOTE = 1
    """Evidence, but not enough of it."""
    FIRE = 2
    """Evidence, and the rule's condition holds."""
    HEAL = 3
    """What the rule watches for has ended well."""
    OPEN = 4
    """What was noted before is enough by now; this event itself is no evidence."""
    REST = 5
    """Nothing is under way any more: until the next match nothing can come of this group."""


# By names of their own: to look a member up in its class costs as much as many a window's answer.
QUIET = Signal.QUIET
NOTE = Signal.NOTE
FIRE = Signal.FIRE
HEAL = Signal.HEAL
OPEN = Signal.OPEN
REST = Signal.REST


class Mark(msgspec.Struct, array_like=True, gc=False):
    """One event that a finding rests on: where it is, and the few facts its texts may quote."""

    timestamp: float
    source: str
    line: int
    offset: int
    event_type: str
    facts: dict[str, Any] | None = None
    message: str | None = None
    """Of a mark whose other facts nothing quotes any more: what went wrong, to be looked for."""


class Progress(msgspec.Struct, array_like=True, gc=False):
    """How far a trace had come at some moment."""

    events: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0


class Group(msgspec.Struct, kw_only=True, gc=False, omit_defaults=True):
    """The state of one rule for one group; after it fired also the body of its finding."""

    rule: str
    values: list[Any]
    """Of the rule's `group_by`, in its order."""
    trace_id: str
    """The trace of the latest match."""
    count: int = 0
    marks: list[Mark] = []
    value: float | None = None
    """What the window measured: a sum, a ratio, a length of time."""
    note: str | None = None
    """A fact beside the evidence, e.g. that the trace ends here."""
    opened_at: float | None = None
    """Event time at which the rule fired; None while it has not."""
    healed: bool = False
    relapsed: bool = False
    """Whether it has met more after it had healed: what it counts was not all in a row."""
    rests: bool = False
    """Nothing is under way, so no reset needs to be put to it; the next match wakes it."""
    at_open: Progress | None = None
    # the window's own memory; each kind says what it keeps in which
    run: int = 0
    times: list[float] = []
    numbers: list[float] = []
    things: list[tuple[Any, ...]] = []
    places: list[tuple[float, str, int, int, str]] = []
    """Of marks that may be needed: what makes a Mark, without its making."""
    seen: dict[str, float] = {}
    partial: list[list[Mark]] = []

    def add(self, mark: Mark, keep: int = MAX_MARKS) -> None:
        """Keep a mark: the first half of `keep` for ever, the other half the latest.

        Texts quote the first and the last one; of those between only what went wrong is looked for.
        """
        marks = self.marks
        if self.opened_at is not None and len(marks) > 1 and marks[0].facts:
            between = marks[-1]
            if between.facts:
                message, before = between.facts.get("error_message"), marks[-2].message
                between.message = before if message == before else message  # one text for many
                between.facts = None
        marks.append(mark)
        self.count += 1
        if len(marks) > keep:
            del marks[keep // 2]

    def expire(self, before: float) -> None:
        """Forget marks older than `before`."""
        marks = self.marks
        stale = 0
        while stale < len(marks) and marks[stale].timestamp < before:
            stale += 1
        if stale:
            del marks[:stale]
            self.count = len(marks)

    def clear(self) -> None:
        """Forget everything that was noted before the rule fired."""
        self.marks, self.count, self.run, self.value = [], 0, 0, None

    @property
    def is_open(self) -> bool:
        """Whether the rule has fired for this group."""
        return self.opened_at is not None
