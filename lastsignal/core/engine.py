"""The rule engine: events in, findings out; pure, exact in event time, and restartable.

Findings live in the groups of the rules that fired (`Group.is_open`); `findings.py` turns them
into what people read. State is held per trace, and once for all rules that span traces.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from lastsignal.core.calls import ACCOUNTS
from lastsignal.core.events import Event
from lastsignal.core.groups import Group, Signal
from lastsignal.core.program import Detector, Hooks, Program
from lastsignal.core.rules import Rule
from lastsignal.core.traces import (
    MAX_GROUPS,
    MAX_SHARED_GROUPS,
    NO_DEADLINE,
    OpenCall,
    TraceState,
    mark_of,
    new_trace,
)
from lastsignal.core.windows import Answer

TRACE_ENDS_HERE = "the trace ends here"
SHARED = ""
"""The trace id under which state across traces is kept; no event has it."""

Deadline = tuple[float, str, str]
"""(event time, trace id, key): the key of a group, of an open call after `CALL`, or empty."""

CALL = "\x00"


class Engine:
    """Runs compiled rules over events.

    Args:
        rules: what to look for.
        max_traces: open traces kept; beyond it those idle for longest are given up and counted.
        remembers: note which traces change, for a store that writes only these.
    """

    def __init__(
        self, rules: Sequence[Rule], max_traces: int = 200_000, *, remembers: bool = False
    ) -> None:
        self.rules = list(rules)
        self.shared = TraceState(trace_id=SHARED, started_at=0.0, last_at=0.0)
        self.program = Program(rules, Hooks(self._create, self._signal, self._settle, self.shared))
        self.traces: dict[str, TraceState] = {}
        self.evicted_traces = 0
        self.dirty: set[str] = set()
        """Traces whose state changed since the last `take_dirty`."""
        self._max_traces = max_traces
        self._remembers = remembers
        self._clocks: dict[str, float] = {}
        self._deadlines: dict[str, list[Deadline]] = {}
        self._fed: str | None = None
        self._soonest = NO_DEADLINE
        """The next deadline of the source that is being fed."""
        self._changed: dict[tuple[str, str], Group] = {}
        self._plans = {
            event_type: (ACCOUNTS[event_type], steps)
            for event_type, steps in self.program.cells.items()
        }
        paired = [d for d in self.program.detectors if d.silence is not None and d.silence.pair]
        self._call_detectors = [d for d in paired if d.silence and d.silence.pair == "call"]
        self._run_detectors = [d for d in paired if d.silence and d.silence.pair == "run"]
        self._patience = min(
            (d.silence.after for d in paired if d.silence is not None), default=NO_DEADLINE
        )

    # -- events ----------------------------------------------------------------------------

    def feed(self, events: Iterable[Event]) -> list[Group]:
        """Take events in order; return the open groups that changed, each once."""
        traces, plans, patience = self.traces, self._plans, self._patience
        dirty = self.dirty if self._remembers else None
        source, clock = None, 0.0
        for event in events:
            timestamp = event.timestamp
            if event.source != source:
                if source is not None:
                    self._clocks[source] = clock
                source = event.source
                clock = self._clocks.get(source, 0.0)
                self._fed, self._soonest = source, self._next_deadline(source)
            if timestamp > clock:
                clock = timestamp
                if clock > self._soonest:
                    self._judge_until(source, clock)
                    self._soonest = self._next_deadline(source)
            trace = traces.get(event.trace_id)
            if trace is None:
                trace = self._open_trace(event)
            trace.events += 1
            if timestamp > trace.last_at:
                trace.last_at = timestamp
            account, steps = plans[event.event_type]
            account(event, trace)
            step = steps[event.status]
            if step is not None:
                step(event, trace)
            if (
                trace.deadline == NO_DEADLINE
                and (trace.open_calls or trace.open_agents)
                and patience < NO_DEADLINE
            ):
                trace.deadline = timestamp + patience
                self._push(source, (trace.deadline, trace.trace_id, ""))
            if dirty is not None:
                dirty.add(trace.trace_id)
        if source is not None:
            self._clocks[source] = clock
        self._fed = None
        return self._take_changed()

    def advance(self, source: str, time: float) -> list[Group]:
        """Move a source's clock on: it stands at its end while the world goes on."""
        if time > self._clocks.get(source, 0.0):
            self._clocks[source] = time
            self._judge_until(source, time)
        return self._take_changed()

    def finish(self, sources: Iterable[str] | None = None) -> list[Group]:
        """Judge every wait that is still open: nothing more will come."""
        names = list(self._deadlines) if sources is None else list(sources)
        waiting: set[str] = set()
        for source in names:
            for _, trace_id, key in self._deadlines.pop(source, []):
                trace = self._trace(trace_id)
                if trace is not None:
                    waiting.add(trace_id)
                    if key and key[0] != CALL:
                        self._judge_group(trace, key, NO_DEADLINE)
        for trace_id in sorted(waiting):
            trace = self._trace(trace_id)
            if trace is not None:
                self._judge_trace("", trace, NO_DEADLINE)
        self._judge_ends(None if sources is None else set(names))
        return self._take_changed()

    # -- state -----------------------------------------------------------------------------

    def take_dirty(self) -> set[str]:
        """Return the traces that changed since the last call, and begin anew."""
        dirty, self.dirty = self.dirty, set()
        return dirty

    def snapshot(self) -> bytes:
        """Return everything that a restart needs, as MessagePack."""
        return msgspec.msgpack.encode(
            _Snapshot(
                traces=list(self.traces.values()),
                shared=self.shared,
                clocks=self._clocks,
                deadlines=self._deadlines,
                fingerprints={rule.id: rule.fingerprint for rule in self.rules},
                evicted_traces=self.evicted_traces,
            )
        )

    def restore(self, data: bytes) -> None:
        """Take a snapshot back; the state of rules that changed since is left out.

        Raises:
            msgspec.MsgspecError: it is no snapshot of ours.
        """
        snapshot = msgspec.msgpack.decode(data, type=_Snapshot)
        self.traces = {trace.trace_id: trace for trace in snapshot.traces}
        for name in snapshot.shared.__struct_fields__:  # in place: the compiled steps hold it
            setattr(self.shared, name, getattr(snapshot.shared, name))
        self._clocks, self._deadlines = snapshot.clocks, snapshot.deadlines
        self.evicted_traces = snapshot.evicted_traces
        same = {
            rule.id for rule in self.rules if snapshot.fingerprints.get(rule.id) == rule.fingerprint
        }
        for trace in [*self.traces.values(), self.shared]:
            self._keep_groups(trace, same)

    def _keep_groups(self, trace: TraceState, same: set[str]) -> None:
        trace.groups = {key: group for key, group in trace.groups.items() if group.rule in same}
        trace.active = 0
        for group in trace.groups.values():
            trace.active |= self.program.by_rule[group.rule].bit

    # -- groups ----------------------------------------------------------------------------

    def _create(self, detector: Detector, key: str, event: Event, trace: TraceState) -> Group:
        """Make a group, giving up an old one where a trace has too many."""
        home = trace if detector.rule.within_trace else self.shared
        limit = MAX_GROUPS if home is trace else MAX_SHARED_GROUPS
        groups = home.groups
        if len(groups) >= limit:
            stale = next((k for k, g in groups.items() if not g.is_open), next(iter(groups)))
            del groups[stale]
            home.evicted += 1
        group = groups[key] = Group(
            rule=detector.rule.id, values=detector.values(event), trace_id=event.trace_id
        )
        home.active |= detector.bit
        return group

    def _signal(
        self,
        detector: Detector,
        key: str,
        group: Group,
        signal: Signal,
        event: Event,
        trace: TraceState,
    ) -> None:
        """Keep what a window's answer says is worth keeping."""
        home = trace if detector.rule.within_trace else self.shared
        if signal is Signal.HEAL:
            if not (detector.silence and detector.silence.pair and _still_waits(group, trace)):
                self._heal(home, key, group)
            if detector.silence is not None and group.times:
                self._wait(event.source, home, key, group)
            return
        group.trace_id = event.trace_id
        if signal is Signal.OPEN:
            group.healed = False
        else:
            group.add(mark_of(event, detector.facts(event)), detector.keep)
        if signal is not Signal.NOTE and not group.is_open:
            group.opened_at = event.timestamp
            group.at_open = trace.progress()
        if group.is_open:
            self._changed[home.trace_id, key] = group
        if detector.silence is not None and group.times:
            self._wait(event.source, home, key, group)

    def _settle(self, detector: Detector, answer: Answer, event: Event, trace: TraceState) -> None:
        """Put an event to every group of a rule; the end of a run opens only what failed last."""
        for key, group in list(trace.groups.items()):
            if group.rule == detector.rule.id:
                signal = answer(group, event)
                if detector.ends_trace and signal is Signal.OPEN and not _is_latest(group, trace):
                    continue
                if signal:
                    self._signal(detector, key, group, signal, event, trace)

    def _heal(self, home: TraceState, key: str, group: Group) -> None:
        if not group.is_open:
            home.groups.pop(key, None)
            if not any(other.rule == group.rule for other in home.groups.values()):
                home.active &= ~self.program.by_rule[group.rule].bit
        elif not group.healed:
            group.healed = True
            self._changed[home.trace_id, key] = group

    def _take_changed(self) -> list[Group]:
        changed = list(self._changed.values())
        self._changed.clear()
        return changed

    # -- traces ----------------------------------------------------------------------------

    def _trace(self, trace_id: str) -> TraceState | None:
        return self.shared if trace_id == SHARED else self.traces.get(trace_id)

    def _open_trace(self, event: Event) -> TraceState:
        if len(self.traces) >= self._max_traces:
            self._evict()
        trace = self.traces[event.trace_id] = new_trace(event)
        return trace

    def _evict(self) -> None:
        """Give up the one per cent of traces that have been idle for longest."""
        count = max(1, self._max_traces // 100)
        idle = heapq.nsmallest(count, self.traces.values(), key=lambda trace: trace.last_at)
        for trace in idle:
            del self.traces[trace.trace_id]
            self.dirty.add(trace.trace_id)
        self.evicted_traces += len(idle)

    # -- silence ---------------------------------------------------------------------------

    def _push(self, source: str, deadline: Deadline) -> None:
        heapq.heappush(self._deadlines.setdefault(source, []), deadline)
        if source == self._fed and deadline[0] < self._soonest:
            self._soonest = deadline[0]

    def _next_deadline(self, source: str) -> float:
        heap = self._deadlines.get(source)
        return heap[0][0] if heap else NO_DEADLINE

    def _wait(self, source: str, home: TraceState, key: str, group: Group) -> None:
        """Look at a group when its deadline comes; one look is enough however often it moves."""
        if not group.run:
            group.run = 1
            self._push(source, (group.times[0], home.trace_id, key))

    def _judge_until(self, source: str, clock: float) -> None:
        """Judge every wait whose time is over by this source's clock."""
        heap = self._deadlines.get(source)
        while heap and heap[0][0] < clock:
            _, trace_id, key = heapq.heappop(heap)
            trace = self._trace(trace_id)
            if trace is None:
                continue
            if not key:
                again = self._judge_trace(source, trace, clock)
            elif key[0] == CALL:
                again = self._judge_scheduled(trace, key, clock)
            else:
                again = self._judge_group(trace, key, clock)
            if again < NO_DEADLINE:
                self._push(source, (again, trace_id, key))
                heap = self._deadlines[source]

    def _judge_group(self, trace: TraceState, key: str, clock: float) -> float:
        """Fire a silence whose deadline has passed; return when to look again."""
        group = trace.groups.get(key)
        if group is None:
            return NO_DEADLINE
        if group.times and group.times[0] >= clock:
            return group.times[0]
        group.run = 0
        if not group.times or (group.is_open and not group.healed):
            return NO_DEADLINE
        silence = self.program.by_rule[group.rule].silence
        at_end = clock == NO_DEADLINE
        if silence is None or (at_end and (not silence.at_end or trace.end is not None)):
            return NO_DEADLINE
        until = trace.last_at if at_end else group.times[0]
        group.value = max(0.0, until - group.marks[-1].timestamp)
        group.times = []
        self._open(trace, key, group, until, TRACE_ENDS_HERE if at_end else None)
        return NO_DEADLINE

    def _judge_trace(self, source: str, trace: TraceState, clock: float) -> float:
        """Judge the open calls that have no deadline yet, and the run; return when to look again.

        A trace may hold a thousand open calls: each is looked at once here, then on its own.
        """
        trace.deadline = NO_DEADLINE
        for key, call in _waiting(trace):
            if not call.scheduled or clock == NO_DEADLINE:
                due = self._judge_call(trace, call, clock)
                if due < NO_DEADLINE:
                    call.scheduled = True
                    self._push(source, (due, trace.trace_id, f"{CALL}{call.offset}{CALL}{key}"))
        due = self._judge_run(trace, clock)
        if due < NO_DEADLINE:
            # a call that begins from here on is due no sooner than after the shortest wait
            trace.deadline = min(due, clock + self._patience)
        return trace.deadline

    def _judge_scheduled(self, trace: TraceState, name: str, clock: float) -> float:
        _, offset, key = name.split(CALL, 2)
        for known, call in _waiting(trace, key):
            if call.offset == int(offset) and known == key:
                due = self._judge_call(trace, call, clock)
                call.scheduled = due < NO_DEADLINE
                return due
        return NO_DEADLINE

    def _judge_call(self, trace: TraceState, call: OpenCall, clock: float) -> float:
        """Fire for a call that has waited too long; return when to look again."""
        event = _event_of(call, trace)
        again = NO_DEADLINE
        for detector in self._call_detectors:
            rule = detector.rule.id
            if call.reported is None or rule not in call.reported:
                due = self._judge_wait(detector, event, trace, call.timestamp, clock)
                if due is None:
                    call.reported = [*(call.reported or ()), rule]
                else:
                    again = min(again, due)
        return again

    def _judge_run(self, trace: TraceState, clock: float) -> float:
        """Fire for a run that has been silent too long; return when to look again."""
        again = NO_DEADLINE
        if trace.runs:
            event = _start_of(trace)
            for detector in self._run_detectors:
                group = trace.groups.get(detector.key(detector.values(event)))
                if group is None or not group.is_open or group.healed:
                    due = self._judge_wait(detector, event, trace, trace.last_at, clock)
                    again = again if due is None else min(again, due)
        return again

    def _judge_wait(
        self, detector: Detector, event: Event, trace: TraceState, since: float, clock: float
    ) -> float | None:
        """Fire where the wait that began with `event` is over; else return when to look again."""
        silence, watches = detector.silence, detector.watches
        assert silence is not None
        assert watches is not None
        at_end, due = clock == NO_DEADLINE, since + silence.after
        if (at_end and not silence.at_end) or not watches(event):
            return NO_DEADLINE
        if due >= clock:
            return due
        until = trace.last_at if at_end else due
        key = detector.key(detector.values(event))
        group = trace.groups.get(key) or self._create(detector, key, event, trace)
        group.add(mark_of(event, detector.facts(event)), detector.keep)
        group.value = max(group.value or 0.0, until - since)
        self._open(trace, key, group, until, TRACE_ENDS_HERE if at_end else None)
        return None

    def _open(
        self, trace: TraceState, key: str, group: Group, time: float, note: str | None
    ) -> None:
        """Open a group, or open it again, by what did not come."""
        group.note = note
        group.healed = False
        if not group.is_open:
            group.opened_at = time
            group.at_open = trace.progress()
        self._changed[trace.trace_id, key] = group
        self.dirty.add(trace.trace_id)

    def _judge_ends(self, sources: set[str] | None) -> None:
        """A trace that stops on a failed call, without any word of an end, ended by it."""
        enough = {d.rule.id: d for d in self.program.detectors if d.ends_trace}
        for trace in self.traces.values():
            if (
                trace.last_call_status != "failed"
                or trace.end is not None
                or trace.crash is not None
            ):
                continue
            for key, group in trace.groups.items():
                waits = group.run and (not group.is_open or group.healed)
                if not waits or group.rule not in enough or not _is_latest(group, trace):
                    continue
                if sources is not None and group.marks[-1].source not in sources:
                    continue
                self._open(trace, key, group, trace.last_at, TRACE_ENDS_HERE)


class _Snapshot(msgspec.Struct):
    traces: list[TraceState]
    shared: TraceState
    clocks: dict[str, float]
    deadlines: dict[str, list[Deadline]]
    fingerprints: dict[str, str]
    evicted_traces: int


def _is_latest(group: Group, trace: TraceState) -> bool:
    """Whether no call has failed since the group's latest mark."""
    latest = group.marks[-1]
    for mark in reversed(trace.timeline):
        if mark.event_type in ("tool_result", "model_call"):
            failed = mark.facts is not None and mark.facts.get("status") == "failed"
            if failed:
                return (latest.timestamp, latest.offset) >= (mark.timestamp, mark.offset)
    return True


def _waiting(trace: TraceState, only: str | None = None) -> Iterator[tuple[str, OpenCall]]:
    """Yield the open calls whose silence means something, by the names under which they wait.

    An agent that has called its model since has moved on: the end was not recorded, or was lost.
    """
    names = list(trace.open_calls) if only is None else [only]
    for name in names:
        first = trace.open_calls.get(name)
        for call in [first, *(first.later or ())] if first is not None else ():
            if not call.implied and trace.model_order.get(call.agent or "", 0) <= call.order:
                yield name, call


def _still_waits(group: Group, trace: TraceState) -> bool:
    """Whether a call that the group reports is still open: another of its operation has ended."""
    reported = {(mark.source, mark.offset) for mark in group.marks}
    return any(
        (call.source, call.offset) in reported
        for first in trace.open_calls.values()
        for call in [first, *(first.later or ())]
    )


def _start_of(trace: TraceState) -> Event:
    """Return the event with which a run that has not ended began."""
    mark = trace.open_agents[trace.root or ""]
    return Event(
        timestamp=mark.timestamp,
        trace_id=trace.trace_id,
        event_type="agent_start",
        status="started",
        agent=next(iter(trace.agents), None),
        framework=trace.framework,
        source=mark.source,
        line=mark.line,
        offset=mark.offset,
    )


def _event_of(call: OpenCall, trace: TraceState) -> Event:
    return Event(
        timestamp=call.timestamp,
        trace_id=trace.trace_id,
        event_type="model_call" if call.event_type == "model_call" else "tool_call",
        operation=call.operation,
        status="started",
        attempt=call.attempt,
        agent=call.agent,
        call_id=call.call_id,
        arguments_hash=call.arguments_hash,
        framework=trace.framework,
        source=call.source,
        line=call.line,
        offset=call.offset,
    )
