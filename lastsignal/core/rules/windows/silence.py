"""The kind that fires on what does not happen: an end that stays out, a heartbeat that stops."""

from __future__ import annotations

from typing import Any, Literal

from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import HEAL, NOTE, OPEN, QUIET, Group, Signal
from lastsignal.core.rules.conditions import ALWAYS, Complaint, Condition, parse_condition
from lastsignal.core.rules.windows.base import (
    MarkMaker,
    Tap,
    Window,
    bare_mark,
    check_positive,
    condition_of,
)

CALL_ENDS = parse_condition(
    {
        "any": [
            {"event_type": "tool_result"},
            {"event_type": "model_call", "not": {"status": "started"}},
        ]
    },
    "",
    lambda *_: None,
)


class SilenceWindow(Window, frozen=True, tag="silence"):
    """Fires when `until` does not follow a match of `where` within `after`.

    With `pair: call` the end is that of the very call (by call id, or by operation in order), with
    `pair: run` anything at all that a begun run records; `until` is not needed then. With neither,
    each match is a heartbeat that must be followed by another.
    """

    after: Duration
    pair: Literal["call", "run"] | None = None
    until: dict[str, Any] | None = None
    overdue_at: dict[str, Any] | None = None
    """What makes the wait too long at once, whatever its length: the end of the whole run, say."""
    at_end: bool = True
    """Judge what is still open where a finite trace ends, however short the wait was."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to what starts the wait, and to what ends it."""
        if self.pair == "call":  # the call table knows what waits; only the late end is news
            return [Tap(CALL_ENDS, self._disarm, creates=False)]
        if self.pair == "run":  # any sign of life
            return [Tap(ALWAYS, self._disarm, creates=False)]
        taps = [Tap(where, self._arm)]
        if self.until is not None:
            taps.append(Tap(condition_of(self.until), self._disarm, creates=False))
        if self.overdue_at is not None:
            taps.append(
                Tap(condition_of(self.overdue_at), self._expire, creates=False, every_group=True)
            )
        return taps

    def check(self, complain: Complaint) -> None:
        """An end is either that of the call or named."""
        check_positive(complain, "after", self.after, 0.001)
        for name, raw in (("until", self.until), ("overdue_at", self.overdue_at)):
            if raw is not None:
                parse_condition(raw, f"window.{name}", complain)
                if self.pair is not None:
                    complain(
                        f"window.{name}",
                        f"`{name}` and `pair` both say what ends the wait",
                        "keep one of them",
                    )
        if self.overdue_at is not None and "trace_id" not in self.group_by:
            complain(
                "window.overdue_at",
                "`overdue_at` speaks of one trace, the groups span traces",
                "add trace_id to group_by",
            )

    @property
    def heartbeat(self) -> bool:
        """Whether each match is only expected to be followed by another."""
        return self.pair is None and self.until is None

    def _arm(self, group: Group, event: Event) -> Signal:
        """`times` holds the deadline; the last mark is what was started last."""
        if group.is_open and not group.healed:
            if not self.heartbeat:
                return QUIET
            group.times = [event.timestamp + self.after]
            return HEAL
        if group.times and not self.heartbeat:
            return QUIET
        group.times = [event.timestamp + self.after]
        if not group.is_open:
            group.marks = []
            group.count = 0
        return NOTE

    def _disarm(self, group: Group, event: Event) -> Signal:
        group.times = []
        return HEAL

    def _expire(self, group: Group, event: Event) -> Signal:
        if not group.times:
            return QUIET
        group.value = max(0.0, event.timestamp - group.marks[-1].timestamp)
        group.times = []
        return OPEN
