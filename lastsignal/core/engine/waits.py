"""Judging what has not come: ends of calls and runs, heartbeats, whatever a silence waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lastsignal.core.engine.detectors import Detector
from lastsignal.core.engine.program import Program
from lastsignal.core.engine.state import State
from lastsignal.core.engine.traces import NO_DEADLINE, OpenCall, TraceState, mark_of
from lastsignal.core.events import Event
from lastsignal.core.groups import Group, Mark

TRACE_ENDS_HERE = "the trace ends here"
CALL = "\x00"
"""Begins the key of a deadline that is an open call's."""


class Waits:
    """Fires the silences of a program when their time is over.

    Args:
        program: whose silences.
        state: where traces and deadlines are.
    """

    def __init__(self, program: Program, state: State) -> None:
        self._program = program
        self._state = state
        paired = [d for d in program.detectors if d.silence is not None and d.silence.pair]
        self._call_detectors = [d for d in paired if d.silence and d.silence.pair == "call"]
        self._run_detectors = [d for d in paired if d.silence and d.silence.pair == "run"]
        self.patience = min(
            (d.silence.after for d in paired if d.silence is not None), default=NO_DEADLINE
        )
        """The shortest wait for a call or a run."""

    def expect(self, source: str, trace: TraceState, now: float) -> None:
        """Look at a trace's open calls and its run when the shortest wait is over."""
        if self.patience < NO_DEADLINE:
            trace.deadline = now + self.patience
            self._state.deadlines.push(source, trace, trace.deadline, "")

    def judge_all(self, sources: Iterable[str] | None) -> None:
        """Judge every wait that is still open: nothing more will come of these sources."""
        state = self._state
        names = state.deadlines.sources() if sources is None else list(sources)
        waiting: set[str] = set()
        for source in names:
            for _, trace_id, key in state.deadlines.take(source):
                state.traces.tidy()
                trace = state.trace(trace_id)
                if trace is not None:
                    waiting.add(trace_id)
                    trace.waits.pop(key, None)
                    if key and key[0] != CALL:
                        self._judge_group(trace, key, NO_DEADLINE)
        for trace_id in sorted(waiting):
            state.traces.tidy()
            trace = state.trace(trace_id)
            if trace is not None:
                self._judge_trace("", trace, NO_DEADLINE)
        self._judge_ends(None if sources is None else set(names))

    def judge_left(self, trace: TraceState) -> None:
        """Judge the waits of one trace: nothing more will come of it.

        If something does, it waits anew.
        """
        keys = [key for key in trace.waits if key and key[0] != CALL]
        is_waited_for = bool(trace.waits)
        self._state.deadlines.forget(trace)
        for key in keys:
            self._judge_group(trace, key, NO_DEADLINE)
        if is_waited_for:
            self._judge_trace("", trace, NO_DEADLINE)
        for first in trace.open_calls.values():
            for call in [first, *(first.later or ())]:
                call.scheduled = False

    def judge_until(self, source: str, clock: float) -> None:
        """Judge every wait whose time is over by this source's clock."""
        deadlines = self._state.deadlines
        while (next_one := deadlines.pop(source, clock)) is not None:
            self._state.traces.tidy()
            _, trace_id, key = next_one
            trace = self._state.trace(trace_id)
            if trace is None:
                continue
            self._state.touch(trace_id, key)
            trace.waits.pop(key, None)
            if not key:
                again = self._judge_trace(source, trace, clock)
            elif key[0] == CALL:
                again = self._judge_scheduled(trace, key, clock)
            else:
                again = self._judge_group(trace, key, clock)
            if again < NO_DEADLINE:
                deadlines.push(source, trace, again, key)

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
        silence = self._program.by_rule[group.rule].silence
        at_end = clock == NO_DEADLINE
        has_ended = trace.end is not None and not trace.runs
        if silence is None or (at_end and (not silence.at_end or has_ended)):
            return NO_DEADLINE
        until = trace.last_at if at_end else group.times[0]
        group.value = max(0.0, until - group.marks[-1].timestamp)
        group.times = []
        self._state.open(trace, key, group, until, TRACE_ENDS_HERE if at_end else None)
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
                    self._state.deadlines.push(
                        source, trace, due, f"{CALL}{call.offset}{CALL}{key}"
                    )
        due = self._judge_run(trace, clock)
        if due < NO_DEADLINE:
            # a call that begins from here on is due no sooner than after the shortest wait
            trace.deadline = min(due, clock + self.patience)
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
            rule = detector.rule.key
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
        group = trace.groups.get(key) or self._state.create(detector, key, event, trace)
        group.add(mark_of(event, detector.facts(event)), detector.keep)
        group.value = max(group.value or 0.0, until - since)
        self._state.open(trace, key, group, until, TRACE_ENDS_HERE if at_end else None)
        return None

    def _judge_ends(self, sources: set[str] | None) -> None:
        """A trace that stops on a failed call, without any word of an end, ended by it."""
        enough = {d.rule.key: d for d in self._program.detectors if d.ends_trace}
        for trace_id in self._state.traces:
            self._state.traces.tidy()
            trace = self._state.traces[trace_id]
            if (
                trace.last_call_status != "failed"
                or trace.end is not None
                or trace.crash is not None
            ):
                continue
            for key, group in trace.groups.items():
                waits = group.run and (not group.is_open or group.healed)
                if not waits or group.rule not in enough or not is_latest(group, trace):
                    continue
                if sources is not None and group.marks[-1].source not in sources:
                    continue
                self._state.open(trace, key, group, trace.last_at, TRACE_ENDS_HERE)


def is_latest(group: Group, trace: TraceState) -> bool:
    """Whether the group's latest mark is the last word of the run: since then no call has failed,
    nor, where there is only one match, has any of its kind worked. A model may answer the failure
    of a tool; a tool that works after it says that the run got on.

    Models that fail in several ways, one after the other and none of them working in between, are
    all of them the last word; so is a tool's call that is made again and fails in another way. A
    run that a limit has stopped would have gone on after any failed call.
    """
    latest = group.marks[-1]
    if trace.stop is not None and latest.event_type in ("tool_result", "model_call"):
        return False
    place = (latest.timestamp, latest.offset)
    has_worked = trace.worked.get(latest.event_type, place) > place
    if group.run == 1 and has_worked:
        return False
    since: list[Mark] = []
    for mark in reversed(trace.timeline):
        failed = mark.facts is not None and mark.facts.get("status") == "failed"
        if failed and mark.event_type in ("tool_result", "model_call"):
            if place >= (mark.timestamp, mark.offset):
                return not since or (
                    not has_worked and all(_goes_on(later, mark) for later in since)
                )
            since.append(mark)
    return not since


def _goes_on(later: Mark, failed: Mark) -> bool:
    """Whether a later failure is that of the same call, or of the next model that was asked."""
    if later.event_type != failed.event_type:
        return False
    mine, other = later.facts or {}, failed.facts or {}
    return later.event_type == "model_call" or (
        mine.get("arguments_hash") is not None
        and mine.get("arguments_hash") == other.get("arguments_hash")
        and mine.get("operation") == other.get("operation")
    )


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


def still_waits(group: Group, trace: TraceState) -> bool:
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
