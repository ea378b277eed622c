"""The kind that fires on what does not happen: an end that stays out, a heartbeat that stops."""

from __future__ import annotations

from typing import Any, Literal

from lastsignal.core.conditions import Complaint, Condition, parse_condition
from lastsignal.core.durations import Duration
from lastsignal.core.events import Event
from lastsignal.core.groups import Group, Signal
from lastsignal.core.windows.base import (
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

    With `pair: call` the end is that of the very call (by call id, or by operation in order), and
    `until` is not needed. With neither, each match is a heartbeat that must be followed by another.
    """

    after: Duration
    pair: Literal["call"] | None = None
    until: dict[str, Any] | None = None
    at_end: bool = True
    """Judge what is still open where a finite trace ends, however short the wait was."""

    def taps(self, where: Condition, mark: MarkMaker = bare_mark) -> list[Tap]:
        """Listen to what starts the wait, and to what ends it."""
        if self.pair == "call":  # the call table knows what waits; only the late end is news
            return [Tap(CALL_ENDS, self._disarm, creates=False)]
        taps = [Tap(where, self._arm)]
        if self.until is not None:
            taps.append(Tap(condition_of(self.until), self._disarm, creates=False))
        return taps

    def check(self, complain: Complaint) -> None:
        """An end is either that of the call or named."""
        check_positive(complain, "after", self.after, 0.001)
        if self.until is not None:
            parse_condition(self.until, "window.until", complain)
            if self.pair is not None:
                complain(
                    "window.until",
                    "`until` and `pair` both say what ends the wait",
                    "keep one of them",
                )

    @property
    def heartbeat(self) -> bool:
        """Whether each match is only expected to be followed by another."""
        return self.pair is None and self.until is None

    def _arm(self, group: Group, event: Event) -> Signal:
        """`times` holds the deadline; the mark is what was started last."""
        if group.is_open:
            group.healed = True
            group.times = [event.timestamp + self.after]
            return Signal.HEAL if self.heartbeat else Signal.QUIET
        if not group.times or self.heartbeat:
            group.times = [event.timestamp + self.after]
            group.marks = []
            group.count = 0
            return Signal.NOTE
        return Signal.QUIET

    def _disarm(self, group: Group, event: Event) -> Signal:
        group.times = []
        return Signal.HEAL
