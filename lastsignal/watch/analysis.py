"""Events → findings → incidents → notices: what one commit is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lastsignal.core.diagnosis import Diagnosis, diagnose_trace
from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.groups import Group
from lastsignal.core.incidents import Incident, IncidentBook, Notice, Silence
from lastsignal.core.rules import Rule
from lastsignal.edges.store import (
    Acknowledge,
    Changes,
    EndSilence,
    Request,
    Saved,
    StartSilence,
)

MAX_COUNTED = 10_000  # traces remembered, so that one that ends twice is counted once


class Analysis:
    """The engine and the book of incidents, and what has changed in them since the last commit.

    Args:
        rules: the detectors.
        book: the incidents.
        max_traces: see `Engine`.
    """

    def __init__(self, rules: Sequence[Rule], book: IncidentBook, max_traces: int) -> None:
        self.engine = Engine(rules, max_traces, remembers=True)
        self.book = book
        self.opened: list[Incident] = []
        """Incidents that are new, until somebody takes them."""
        self.unevaluable: Counter[str] = Counter()
        """Traces that ended and that a rule could not judge, by rule, until somebody takes them."""
        self._max_traces = max_traces
        self._ended: dict[str, None] = {}
        """Traces that were counted when they ended."""
        self._changed: dict[str, None] = {}
        """Traces whose findings changed."""
        self._silences: dict[str, Silence | None] = {}
        """Silences that changed."""

    def restore(self, saved: Saved) -> None:
        """Take back what a store has kept.

        Raises:
            msgspec.MsgspecError: it is no state of ours.
        """
        if saved.engine is not None:
            self.engine.memory.restore(saved.engine, saved.traces, saved.groups)

    def feed(self, events: Sequence[Event]) -> bool:
        """Take events; return whether a finding has opened or changed."""
        found = self._note(self.engine.feed(events))
        for event in events:
            if event.event_type == "agent_end":
                self._count_unevaluable(event.trace_id)
        return found

    def advance(self, source: str, now: float) -> bool:
        """Let the clock of a source that stands at its end go on."""
        if self.engine.state.deadlines.next(source) >= now:
            return False  # there may be thousands of files, most of which nobody waits for
        return self._note(self.engine.advance(source, now))

    def finish(self) -> None:
        """Judge what is still open: nothing more will come."""
        self._note(self.engine.finish())

    def replace_rules(self, rules: Sequence[Rule]) -> None:
        """Go on with other rules; those that did not change keep what they remember."""
        engine = Engine(rules, self._max_traces, remembers=True)
        engine.memory.take_over(self.engine.memory)
        self.engine = engine

    def conclude(self, now: float) -> list[Notice]:
        """Bring the incidents up to date; return what is to be told."""
        for trace_id in self._changed:
            self.engine.traces.tidy()
            trace = self.engine.traces.get(trace_id)
            if trace is not None:
                shared = self.engine.shared_groups(trace_id)
                self._observe(diagnose_trace(self.engine, trace, shared), now)
        self._changed.clear()
        return self.book.take_notices(now)

    def carry_out(self, request: Request, now: float) -> None:
        """Do what somebody has asked for; what is no more needs nothing done."""
        try:
            match request:
                case Acknowledge():
                    self.book.acknowledge(request.incident_id, now)
                case StartSilence():
                    self.book.silence(request.silence)
                    self._silences[request.silence.id] = request.silence
                case EndSilence():
                    self.book.unsilence(request.silence_id)
                    self._silences[request.silence_id] = None
        except KeyError:
            return

    def take_changes(self) -> Changes:
        """Return what a commit writes of rules and incidents, and begin anew."""
        dirty, gone, keys = self.engine.state.take_changes()
        traces: dict[str, bytes | None] = dict.fromkeys(gone)
        for trace_id in dirty:
            if trace_id in self.engine.traces:
                traces[trace_id] = self.engine.memory.trace(trace_id)
        shared = self.engine.state.shared.groups
        groups = {key: self.engine.memory.group(key) if key in shared else None for key in keys}
        incidents = {name: self.book.incidents.get(name) for name in self.book.changed}
        self.book.changed = set()
        silences, self._silences = self._silences, {}
        return Changes(
            traces=traces,
            groups=groups,
            engine=self.engine.memory.header(),
            incidents=incidents,
            silences=silences,
        )

    def _observe(self, diagnosis: Diagnosis, now: float) -> None:
        cause = diagnosis.cause
        symptoms = {finding.id for finding in diagnosis.symptoms}
        for finding in diagnosis.findings():
            explained = cause is not None and finding.id in symptoms
            self._observe_one(finding, diagnosis, cause.id if cause and explained else None, now)

    def _observe_one(
        self, finding: Finding, diagnosis: Diagnosis, explained_by: str | None, now: float
    ) -> None:
        happened = self.book.observe(
            finding,
            now,
            framework=diagnosis.framework,
            agents=diagnosis.agents,
            explained_by=explained_by,
        )
        if happened == "opened":
            self.opened.append(self.book.incidents[finding.id])

    def _count_unevaluable(self, trace_id: str) -> None:
        trace = self.engine.traces.get(trace_id)
        if trace is None or trace.open_agents or not trace.events or trace_id in self._ended:
            return
        self._ended[trace_id] = None
        if len(self._ended) > MAX_COUNTED:
            del self._ended[next(iter(self._ended))]
        self.unevaluable.update(self.engine.program.not_checked(trace))

    def _note(self, groups: list[Group]) -> bool:
        for group in groups:
            self._changed[group.trace_id] = None
        return bool(groups)
