"""The rule engine: events in, findings out; pure, exact in event time, and restartable.

Findings live in the groups of the rules that fired (`Group.is_open`); `diagnosis` turns them
into what people read. State is held per trace, and once for all rules that span traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lastsignal.core.engine.calls import ACCOUNTS, Account, audit, end_agent
from lastsignal.core.engine.detectors import Detector
from lastsignal.core.engine.memory import Memory
from lastsignal.core.engine.program import Program
from lastsignal.core.engine.shelf import MAX_LIVE, Shelf
from lastsignal.core.engine.state import State
from lastsignal.core.engine.steps import Hooks, Step
from lastsignal.core.engine.traces import NO_DEADLINE, TraceState, mark_of
from lastsignal.core.engine.waits import Waits, is_latest, still_waits
from lastsignal.core.events import LEFT_OFF, Event
from lastsignal.core.groups import HEAL, NOTE, OPEN, REST, Group, Signal
from lastsignal.core.rules import Rule
from lastsignal.core.rules.windows import Answer


class Engine:
    """Runs compiled rules over events.

    Args:
        rules: what to look for.
        max_traces: open traces kept; beyond it those idle for longest are given up and counted.
        remembers: note which traces change, for a store that writes only these.
        max_live: of these traces, how many are kept as objects; the others take less memory.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        max_traces: int = 200_000,
        *,
        remembers: bool = False,
        max_live: int = MAX_LIVE,
    ) -> None:
        self.rules = list(rules)
        self.state = State(max_traces, remembers, max_live)
        hooks = Hooks(
            self.state.create,
            self.state.wake,
            self._signal,
            self._settle,
            self._sweep,
            self.state.dirty_groups.add if remembers else None,
            self.state.shared,
        )
        self.program = Program(rules, hooks)
        self.memory = Memory(self.rules, self.program, self.state)
        """What outlives this engine."""
        self._waits = Waits(self.program, self.state)
        self._plans: dict[str, tuple[Account, dict[str | None, Step | None]]] = {
            event_type: (ACCOUNTS[event_type], steps)
            for event_type, steps in self.program.cells.items()
        }
        self._plans["agent_end"] = (self._end_agent, self.program.cells["agent_end"])
        self._plans["audit"] = (self._audit, self.program.cells["audit"])

    @property
    def traces(self) -> Shelf:
        """The traces that are known, by id."""
        return self.state.traces

    @property
    def copies(self) -> list[Event]:
        """Of the events that were fed last, those that had been told before: they count nothing."""
        return self.state.copies.latest

    def shared_groups(self, trace_id: str | None = None) -> list[Group]:
        """Return the groups of rules across traces that have fired (in this trace)."""
        return [
            group
            for group in self.state.shared.groups.values()
            if group.is_open and (trace_id is None or group.trace_id == trace_id)
        ]

    def feed(self, events: Iterable[Event]) -> list[Group]:
        """Take events in order; return the open groups that changed, each once."""
        state, plans = self.state, self._plans
        traces, clocks, deadlines = state.traces.live, state.clocks, state.deadlines
        dirty, no_deadline = state.dirty if state.remembers else None, NO_DEADLINE
        source, clock = None, 0.0
        copies = state.copies
        copies.latest = []
        for event in events:
            timestamp = event.timestamp
            if event.source != source:
                clock = self._turn_to(event.source, source, clock)
                source = event.source
            if timestamp > clock:
                clock = timestamp
                if clock > deadlines.soonest:
                    self._waits.judge_until(source, clock)
                    deadlines.feed(source)
            trace = traces.get(event.trace_id) or state.fetch(event)
            trace.events += 1
            if timestamp > trace.last_at:
                trace.last_at = timestamp
            elif timestamp < trace.started_at and event.timestamp_source != "ingest":
                trace.started_at = timestamp  # a span is told when it ends
            account, steps = plans[event.event_type]
            if (event.identity is not None and copies.knows(event, trace)) or account(event, trace):
                continue
            step = steps[event.status]
            if step is not None:
                step(event, trace)
            if trace.deadline == no_deadline and (trace.open_calls or trace.open_agents):
                self._waits.expect(source, trace, timestamp)
            if dirty is not None:
                dirty.add(trace.trace_id)
        if source is not None:
            clocks[source] = clock
        deadlines.feed(None)
        state.traces.tidy()
        return state.take_changed()

    def advance(self, source: str, time: float) -> list[Group]:
        """Move a source's clock on: it stands at its end while the world goes on."""
        if time > self.state.clocks.get(source, 0.0):
            self.state.clocks[source] = time
            self._waits.judge_until(source, time)
            self.state.traces.tidy()
        return self.state.take_changed()

    def finish(self, sources: Iterable[str] | None = None) -> list[Group]:
        """Judge every wait that is still open: nothing more will come."""
        self._waits.judge_all(sources)
        return self.state.take_changed()

    def _turn_to(self, source: str, former: str | None, clock: float) -> float:
        """Return the clock of the source that is fed from here on; keep that of the former one."""
        clocks = self.state.clocks
        if former is not None:
            clocks[former] = clock
        self.state.deadlines.feed(source)
        return clocks.get(source, 0.0)

    def _end_agent(self, event: Event, trace: TraceState) -> None:
        end_agent(event, trace)
        self.state.end_trace(trace)

    def _audit(self, event: Event, trace: TraceState) -> bool:
        """A policy speaks, or a session has been left: nothing more will come of its trace."""
        if event.operation != LEFT_OFF:
            audit(event, trace)
            return False
        trace.events -= 1
        self._waits.judge_left(trace)
        self.state.touch(trace.trace_id)
        return True

    # -- what the compiled steps call back -------------------------------------------------

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
        home = self.state.home(detector, trace)
        if signal is HEAL:
            if not (detector.silence and detector.silence.pair and still_waits(group, trace)):
                self.state.heal(home, key, group, detector)
            if detector.silence is not None and group.times:
                self.state.wait(event.source, home, key, group)
            return
        if signal is REST:
            self.state.rest(home, group, detector)
            return
        group.trace_id = event.trace_id
        if signal is OPEN:
            group.healed = False
        else:
            group.add(mark_of(event, detector.facts(event)), detector.keep)
        if signal is not NOTE and not group.is_open:
            group.opened_at = event.timestamp
            group.at_open = trace.progress()
        if group.is_open:
            self.state.changed(home, key, group)
        if detector.silence is not None and group.times:
            self.state.wait(event.source, home, key, group)

    def _sweep(self, trace: TraceState) -> int:
        return self.state.sweep(trace, self.program.by_rule)

    def _settle(self, detector: Detector, answer: Answer, event: Event, trace: TraceState) -> None:
        """Put an event to every group of a rule; the end of a run opens only what failed last.

        The end of a sub-agent is no end of the run: its parent may know what to do.
        """
        for key, group in list(trace.groups.items()):
            if group.rule == detector.rule.key:
                signal = answer(group, event)
                if detector.ends_trace and signal is OPEN:
                    if trace.runs or not is_latest(group, trace):
                        continue
                if signal:
                    self._signal(detector, key, group, signal, event, trace)
