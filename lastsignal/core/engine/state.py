"""Everything that the engine remembers: traces, the groups across traces, clocks, deadlines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lastsignal.core.engine.copies import Copies
from lastsignal.core.engine.deadlines import Deadlines
from lastsignal.core.engine.detectors import Detector
from lastsignal.core.engine.shelf import Shelf
from lastsignal.core.engine.traces import (
    MAX_GROUPS,
    MAX_SHARED_GROUPS,
    NO_DEADLINE,
    TraceState,
    new_trace,
)
from lastsignal.core.events import Event
from lastsignal.core.groups import Group

SHARED = ""
"""The trace id under which state across traces is kept; no event has it."""

SWEEP_PAUSE = 0.02
"""Seconds of event time between two sweeps of a trace, for each group that is looked at."""

MAX_ENDED = 1000
"""Traces that have ended and keep the memory of their windows; what ended before is sealed."""


class State:
    """The mutable state of one engine.

    Args:
        max_traces: open traces kept; beyond it those idle for longest are given up and counted.
        remembers: note which traces change, for a store that writes only these.
        max_live: of these traces, how many are kept as objects.
    """

    def __init__(self, max_traces: int, remembers: bool, max_live: int) -> None:
        self.shared = TraceState(trace_id=SHARED, started_at=0.0, last_at=0.0)
        self.traces = Shelf(max_live)
        self.ended: dict[str, None] = {}
        """Traces whose last agent has ended, in that order, until they are sealed."""
        self.clocks: dict[str, float] = {}
        """By source, the highest time seen."""
        self.deadlines = Deadlines()
        self.copies = Copies()
        self.dirty: set[str] = set()
        self.dirty_groups: set[str] = set()
        """Groups across traces, by key, that have changed or are gone."""
        self.gone: set[str] = set()
        """Traces given up since the last `take_changes`."""
        self.tally: Counter[str] = Counter()
        """How many groups each rule has, in all traces and across them."""
        self.evicted_traces = 0
        self.remembers = remembers
        self.max_traces = max_traces
        self._changed: dict[tuple[str, str], Group] = {}

    def trace(self, trace_id: str) -> TraceState | None:
        """Return a trace's state, None where it is not known (any more)."""
        return self.shared if trace_id == SHARED else self.traces.get(trace_id)

    def home(self, detector: Detector, trace: TraceState) -> TraceState:
        """Return where a rule's groups are."""
        return trace if detector.rule.within_trace else self.shared

    # -- groups ----------------------------------------------------------------------------

    def create(self, detector: Detector, key: str, event: Event, trace: TraceState) -> Group:
        """Make a group, giving up an old one where a trace has too many."""
        home = self.home(detector, trace)
        limit = MAX_GROUPS if home is trace else MAX_SHARED_GROUPS
        groups = home.groups
        if len(groups) >= limit:
            stale = next((k for k, g in groups.items() if not g.is_open), next(iter(groups)))
            given_up = groups.pop(stale)
            self.touch(home.trace_id, stale)
            self.tally[given_up.rule] -= 1
            if given_up.rule in home.awake and not given_up.rests:
                home.awake[given_up.rule] -= 1
            home.evicted += 1
        group = groups[key] = Group(
            rule=detector.rule.key, values=detector.values(event), trace_id=event.trace_id
        )
        self.tally[group.rule] += 1
        if detector.bit:
            _wake(home, group.rule, detector.bit)
        at = max(home.swept_until, event.timestamp + detector.lasts)
        home.sweep_at = min(home.sweep_at, at)
        return group

    def open(
        self, trace: TraceState, key: str, group: Group, time: float, note: str | None
    ) -> None:
        """Open a group, or open it again, by what did not come."""
        group.note = note
        group.healed = False
        if not group.is_open:
            group.opened_at = time
            group.at_open = trace.progress()
        self.changed(trace, key, group)
        self.touch(trace.trace_id, key)

    def heal(self, home: TraceState, key: str, group: Group, detector: Detector) -> None:
        """Forget a group that has not fired; mark one that has as ended well, and let it rest."""
        if group.opened_at is None:
            if home.groups.pop(key, None) is not None:
                self.tally[group.rule] -= 1
                if detector.bit:
                    _rest(home, group.rule, detector.bit)
            return
        if not group.healed:
            group.healed = True
            self.changed(home, key, group)
        if detector.silence is None:  # one that waits for another start must hear of its end
            self.rest(home, group, detector)

    def rest(self, home: TraceState, group: Group, detector: Detector) -> None:
        """Let a group be, in which nothing is under way."""
        if detector.bit and not group.rests:
            group.rests = True
            _rest(home, group.rule, detector.bit)

    def wake(self, detector: Detector, group: Group, trace: TraceState) -> None:
        """A group that rested has met another match."""
        group.rests = False
        _wake(trace, group.rule, detector.bit)

    def sweep(self, trace: TraceState, detectors: Mapping[str, Detector]) -> int:
        """Give up the groups in which nothing counts any more; return what is still active.

        A call that failed once and never came again would be asked about for ever.
        """
        now, soonest = trace.last_at, NO_DEADLINE
        for key, group in list(trace.groups.items()):
            detector = detectors[group.rule]
            if detector.lasts == NO_DEADLINE or group.rests:
                continue
            expires = detector.rule.window.expires(group)
            if expires + detector.lasts / 2 >= now:
                if expires < NO_DEADLINE:
                    soonest = min(soonest, now + detector.lasts / 2)
            elif group.opened_at is None:
                self.heal(trace, key, group, detector)
            else:
                self.rest(trace, group, detector)
        # by the second in a trace of hundreds of groups, sweeping would be all that is done
        trace.swept_until = now + len(trace.groups) * SWEEP_PAUSE
        trace.sweep_at = max(soonest, trace.swept_until)
        return trace.active

    def changed(self, home: TraceState, key: str, group: Group) -> None:
        """Note an open group that has changed."""
        self._changed[home.trace_id, key] = group

    def take_changed(self) -> list[Group]:
        """Return the open groups that changed, each once, and begin anew."""
        changed = list(self._changed.values())
        self._changed.clear()
        return changed

    # -- traces ----------------------------------------------------------------------------

    def fetch(self, event: Event) -> TraceState:
        """Return the trace of an event that is not at hand; made where it is seen for the first
        time."""
        trace = self.traces.get(event.trace_id)
        if trace is None:
            if len(self.traces) >= self.max_traces:
                self._evict()
            trace = new_trace(event)
            self.traces.add(trace)
            self.gone.discard(event.trace_id)  # given up a moment ago, and here again
        return trace

    def touch(self, trace_id: str, key: str = "") -> None:
        """Note that a trace must be written, or a group across traces."""
        if self.remembers:
            if trace_id == SHARED:
                self.dirty_groups.add(key)
            else:
                self.dirty.add(trace_id)

    def take_changes(self) -> tuple[set[str], set[str], set[str]]:
        """Return the traces that changed, those that are gone, and the groups across traces that
        changed or are gone; and begin anew."""
        dirty, gone, groups = self.dirty, self.gone, set(self.dirty_groups)
        self.dirty, self.gone = set(), set()
        self.dirty_groups.clear()  # in place: the compiled steps hold it
        return dirty - gone, gone, groups

    def end_trace(self, trace: TraceState) -> None:
        """Take a trace as ended; the one that ended longest ago is sealed for it."""
        self.ended.pop(trace.trace_id, None)
        if trace.open_agents:
            return
        self.ended[trace.trace_id] = None
        if len(self.ended) > MAX_ENDED:
            oldest = next(iter(self.ended))
            del self.ended[oldest]
            ended = self.traces.get(oldest)
            if ended is not None and not ended.open_agents:
                self.tally.subtract(seal(ended))
                self.touch(oldest)

    def _evict(self) -> None:
        """Give up the one per cent of traces that have been idle for longest."""
        idle = self.traces.idlest(max(1, self.max_traces // 100))
        for trace_id in idle:
            self.forget(trace_id)
        self.evicted_traces += len(idle)

    def forget(self, trace_id: str) -> None:
        """Give a trace up."""
        self.tally.subtract(rules_of(self.traces.take(trace_id)))
        self.ended.pop(trace_id, None)
        if self.remembers:
            self.gone.add(trace_id)

    def wait(self, source: str, home: TraceState, key: str, group: Group) -> None:
        """Look at a group when its deadline comes; one look is enough however often it moves."""
        if not group.run:
            group.run = 1
            self.deadlines.push(source, home, group.times[0], key)


def _wake(home: TraceState, rule: str, bit: int) -> None:
    home.awake[rule] = home.awake.get(rule, 0) + 1
    home.active |= bit


def _rest(home: TraceState, rule: str, bit: int) -> None:
    left = home.awake[rule] = home.awake.get(rule, 0) - 1
    if left <= 0:
        del home.awake[rule]
        home.active &= ~bit


def rules_of(trace: TraceState) -> list[str]:
    """Return the rule of each group of a trace."""
    return [group.rule for group in trace.groups.values()]


def seal(trace: TraceState) -> list[str]:
    """Give up what an ended trace's windows remember; its findings and totals stay.

    Returns the rules of the groups that are gone.
    """
    gone = [group.rule for group in trace.groups.values() if not group.is_open]
    kept = {key: group for key, group in trace.groups.items() if group.is_open}
    for group in kept.values():
        group.times, group.numbers, group.things, group.partial = [], [], [], []
        group.seen, group.run = {}, 0
    trace.groups = kept
    if not kept:
        trace.active, trace.awake = 0, {}
        trace.timeline = trace.timeline[:1]
    trace.open_calls, trace.last_arguments, trace.model_order = {}, {}, {}
    trace.failing = {}
    return gone
