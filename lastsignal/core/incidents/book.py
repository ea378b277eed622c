"""All incidents that are open or in the history: how they live, and who hears of them when.

Pure: `now` (epoch seconds of the wall clock) is an argument, and all state is in `Incident` values
that a store keeps. Identity is the finding's: a replay or a restart finds the same incident, and a
book rebuilt from its stored incidents goes on exactly where the other one stood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

import msgspec

from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.incidents.agenda import Agenda
from lastsignal.core.incidents.causes import Causes
from lastsignal.core.incidents.clock import clamped, latest_time
from lastsignal.core.incidents.model import (
    Incident,
    IncidentPolicy,
    Notice,
    NoticeKind,
    Silence,
)
from lastsignal.core.incidents.storm import Storm
from lastsignal.core.incidents.taking import Context, incident_of, update
from lastsignal.core.incidents.telling import Telling

Transition = Literal["opened", "reopened", "resolved"]

CLOCK_JITTER = 1.0  # seconds that a clock may step back and still count as the same moment
RECENTLY = 15 * 60.0  # seconds for which systems that may have restarted are told of an end again


class IncidentBook:
    """The incidents and the rules of telling.

    Args:
        policy: when somebody is told.
        incidents: what a store has kept.
        silences: what a store has kept.
    """

    def __init__(
        self,
        policy: IncidentPolicy,
        incidents: Iterable[Incident] = (),
        silences: Iterable[Silence] = (),
    ) -> None:
        self.policy = policy
        self.incidents = {incident.id: incident for incident in incidents}
        self.silences = {silence.id: silence for silence in silences}
        self.changed: set[str] = set()
        """Incidents that a store has not written yet; one that is gone is to be deleted."""
        self.transitions: Counter[tuple[Transition, str]] = Counter()
        """What happened since the start, by rule: for counting."""
        self._latest = max(map(latest_time, self.incidents.values()), default=0.0)
        self._agenda = Agenda()
        self._causes = Causes(self.incidents)
        self._waiting: set[str] = set()
        self._history = self._resolved_in_order()
        self._telling = Telling(policy, self._causes, self.silences)
        self._storm = Storm(policy, self.incidents.values())
        self._look_at_all()

    def observe(
        self,
        finding: Finding,
        now: float,
        *,
        framework: str | None = None,
        agents: Iterable[str] = (),
        explained_by: str | None = None,
    ) -> Transition | None:
        """Take the present state of a finding; `take_notices` says what follows from it."""
        now = self._arrive(now)
        context = Context(framework, agents, explained_by)
        incident = self.incidents.get(finding.id)
        if incident is None:
            # one that healed before anybody looked stands in the history, and nobody is told of it:
            # what is kept must not depend on when the book was looked at
            opened = self._open(incident_of(finding, context, now))
            if finding.healed:
                self._resolve(self.incidents[finding.id], now)
            return opened
        before, cause = msgspec.structs.astuple(incident), incident.explained_by
        grew = update(incident, finding, context)
        self._causes.link(incident, cause)
        happened: Transition | None = None
        if finding.healed:
            happened = self._resolve(incident, now)
        elif grew:
            happened = self._reopen(incident, now)
            incident.updated_at = now
        self._keep_causes(incident)
        if msgspec.structs.astuple(incident) != before:
            self.changed.add(incident.id)
            self._agenda.put(incident.id, now)
        return happened

    def take_notices(self, now: float) -> list[Notice]:
        """Return what is to be told now, and mark it as told: write both in one transaction.

        A digest holds all of its incidents, so that each target can be told of those that it
        routes; `shortened` cuts it to what a message lists.
        """
        now = self._arrive(now)
        while (name := self._agenda.take(now)) is not None:
            self._review(self.incidents[name], now)
        notices = self._tell(now)
        self._shorten_history()
        return notices

    def acknowledge(self, incident_id: str, now: float) -> Incident:
        """Take an incident as known: nobody is told of it until it ends or opens again.

        Raises:
            KeyError: there is no such incident.
        """
        now = self._arrive(now)
        incident = self.incidents[incident_id]
        incident.acknowledged_at = now
        self.changed.add(incident_id)
        return incident

    def silence(self, silence: Silence) -> None:
        """Tell nobody of what the silence matches; the same id replaces an earlier silence."""
        self.silences[silence.id] = silence
        self._look_at_all()

    def unsilence(self, silence_id: str) -> None:
        """End a silence.

        Raises:
            KeyError: there is no such silence.
        """
        del self.silences[silence_id]
        self._look_at_all()

    def follow(self, policy: IncidentPolicy) -> None:
        """Tell by another policy from now on."""
        self.policy = self._telling.policy = self._storm.policy = policy
        self._look_at_all()

    def is_silenced(self, incident: Incident, now: float) -> bool:
        """Whether a silence holds for the incident now."""
        return self._telling.silenced_until(incident, now) is not None

    def is_inhibited(self, incident: Incident) -> bool:
        """Whether the incident's cause is open and told of instead."""
        return self._telling.is_inhibited(incident)

    def standing(self, now: float) -> list[Incident]:
        """Return what a system that keeps alerts itself is to know now.

        That is what was told of and stands, and of it what ended a short while ago. So such a
        system sees no symptom, no flapping and no silenced incident either.
        """
        return [
            one
            for one in self.incidents.values()
            if (
                one.told == "open" and not self.is_silenced(one, now)
                if one.state == "open"
                else one.told is not None and now - (one.resolved_at or 0.0) < RECENTLY
            )
        ]

    # -- life ------------------------------------------------------------------------------

    def _open(self, incident: Incident) -> Transition:
        self.incidents[incident.id] = incident
        self.changed.add(incident.id)
        self.transitions["opened", incident.rule] += 1
        self._causes.link(incident, None)
        self._keep_causes(incident)
        self._agenda.put(incident.id, incident.opened_at)
        return "opened"

    def _reopen(self, incident: Incident, now: float) -> Transition | None:
        if incident.state == "open":
            return None
        incident.state, incident.resolved_at, incident.acknowledged_at = "open", None, None
        horizon = now - self.policy.flap_window
        # more of them than the limit change nothing
        recent = [at for at in incident.openings if at > horizon][-self.policy.flap_limit :]
        incident.openings = [*recent, now]
        if incident.told == "resolved":
            incident.told_severity = None
        self._history.pop(incident.id, None)
        self.transitions["reopened", incident.rule] += 1
        return "reopened"

    def _resolve(self, incident: Incident, now: float) -> Transition | None:
        if incident.state == "resolved":
            return None
        incident.state, incident.resolved_at = "resolved", now
        self.changed.add(incident.id)
        self.transitions["resolved", incident.rule] += 1
        self._history[incident.id] = None
        for name in self._causes.symptoms(incident.id):
            self._agenda.put(name, now)  # what was a symptom stands for itself now
        return "resolved"

    def _forget(self, incident: Incident) -> None:
        del self.incidents[incident.id]
        self.changed.add(incident.id)
        self._agenda.drop(incident.id)
        self._waiting.discard(incident.id)
        self._history.pop(incident.id, None)
        self._causes.forget(incident)

    def _keep_causes(self, incident: Incident) -> None:
        """Let what adds to a symptom add to its cause, which must not end before it.

        Else the cause would count as over a moment before its last symptom, and somebody would be
        told of that symptom as if it were new.
        """
        if incident.state == "resolved":
            return
        for cause in self._causes.of(incident):
            if cause.state == "resolved":
                return
            if cause.updated_at < incident.updated_at:
                cause.updated_at = incident.updated_at
                self.changed.add(cause.id)

    def _review(self, incident: Incident, now: float) -> None:
        """Let time pass for one incident, and say when to look at it again."""
        over = incident.updated_at + self.policy.resolve_after
        if incident.state == "open" and now >= over:
            self._resolve(incident, now)
        if incident.state == "resolved" and self._telling.settle(incident, now):
            self.changed.add(incident.id)
        gone = self._gone_at(incident)
        if gone is not None and now >= gone:
            self._forget(incident)
            return
        kind, again = self._telling.due(incident, now)
        if kind is not None:
            self._waiting.add(incident.id)
        for time in (over if incident.state == "open" else None, gone, again):
            if time is not None:
                self._agenda.put(incident.id, time)

    def _gone_at(self, incident: Incident) -> float | None:
        """Return when the incident leaves the history; None while somebody is yet to be told."""
        if incident.resolved_at is None or incident.told == "open":
            return None
        return incident.resolved_at + self.policy.keep_resolved

    def _shorten_history(self) -> None:
        while len(self._history) > self.policy.max_resolved:
            incident = self.incidents[next(iter(self._history))]
            if incident.told == "open":
                return  # somebody is yet to be told of its end
            self._forget(incident)

    def _resolved_in_order(self) -> dict[str, None]:
        over = [one for one in self.incidents.values() if one.state == "resolved"]
        return dict.fromkeys(one.id for one in sorted(over, key=lambda one: one.resolved_at or 0.0))

    # -- telling ---------------------------------------------------------------------------

    def _tell(self, now: float) -> list[Notice]:
        if not self._waiting or not self._storm.room(now):
            return []  # what waits is untold in the store as well, and comes with the next digest
        due: list[tuple[NoticeKind, Incident]] = []
        for name in self._waiting:
            incident = self.incidents[name]
            kind, _ = self._telling.due(incident, now)
            if kind is not None:
                due.append((kind, incident))
            self._agenda.put(name, now)
        self._waiting.clear()
        self.changed.update(incident.id for _, incident in due)
        return self._storm.tell(due, now)

    def _look_at_all(self) -> None:
        for name in self.incidents:
            self._agenda.put(name, 0.0)

    def _arrive(self, now: float) -> float:
        """Return the present, after what a clock that was set back would else keep waiting."""
        if now < self._latest - CLOCK_JITTER:
            for incident in self.incidents.values():
                if clamped(incident, now):
                    self.changed.add(incident.id)
            self._storm.clamp(now)
            self._look_at_all()
            self._latest = now
        self._latest = max(self._latest, now)
        return self._latest
