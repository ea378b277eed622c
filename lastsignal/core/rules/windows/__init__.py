"""Window kinds: how many matching events, in which order and time, make a finding.

Each kind is one frozen struct, parsed from a rule's `window:` map. `taps` names the conditions that
it listens to and the method that answers each; everything a window remembers is in the Group.
"""

from __future__ import annotations

from lastsignal.core.rules.windows.amounts import RatioWindow, SumWindow
from lastsignal.core.rules.windows.base import Answer, Tap, Window
from lastsignal.core.rules.windows.counting import (
    CountWindow,
    DistinctWindow,
    EventWindow,
    StreakWindow,
)
from lastsignal.core.rules.windows.learning import BaselineWindow, NewValueWindow
from lastsignal.core.rules.windows.repeat import RepeatWindow
from lastsignal.core.rules.windows.sequence import SequenceWindow
from lastsignal.core.rules.windows.silence import SilenceWindow
from lastsignal.core.rules.windows.trend import GrowthWindow, SpikeWindow

AnyWindow = (
    EventWindow
    | CountWindow
    | StreakWindow
    | DistinctWindow
    | SumWindow
    | RatioWindow
    | SpikeWindow
    | GrowthWindow
    | SequenceWindow
    | SilenceWindow
    | RepeatWindow
    | NewValueWindow
    | BaselineWindow
)

WINDOW_KINDS: dict[str, type[Window]] = {
    "event": EventWindow,
    "count": CountWindow,
    "streak": StreakWindow,
    "distinct": DistinctWindow,
    "sum": SumWindow,
    "ratio": RatioWindow,
    "spike": SpikeWindow,
    "growth": GrowthWindow,
    "sequence": SequenceWindow,
    "silence": SilenceWindow,
    "repeat": RepeatWindow,
    "new_value": NewValueWindow,
    "baseline": BaselineWindow,
}

__all__ = [
    "WINDOW_KINDS",
    "Answer",
    "AnyWindow",
    "SequenceWindow",
    "SilenceWindow",
    "StreakWindow",
    "Tap",
    "Window",
]
