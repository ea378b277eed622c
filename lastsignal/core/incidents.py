"""Findings over time → incidents: opened once, updated, resolved; who is told, and how often.

Pure: `now` (epoch seconds of the wall clock) is an argument, and all state is in `Incident` values
that a store keeps. Identity is the finding's: a replay or a restart finds the same incident.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from lastsignal.core.findings import Evidence, Finding
from lastsignal.core.rules import Severity

NoticeKind = Literal["opened", "repeated", "resolved", "digest"]

MAX_DIGEST_LINES = 20


class IncidentPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When somebody is told. Lengths of time in seconds."""

    repeat_interval: float = 4 * 3600.0
    """An incident that stays open is told again after this long."""
    resolve_after: float = 30 * 60.0
    """An incident that nothing has added to for this long counts as over."""
    send_resolved: bool = True
    flap_limit: int = 3
    """Openings within `flap_window` after which an incident is only told when it has calmed."""
    flap_window: float = 15 * 60.0
    storm_limit: int = 10
    """Notices of opened incidents within `storm_window`; what is beyond goes into one digest."""
    storm_window: float = 60.0
    notify_from: Severity = "warning"
    """Findings below this severity are kept and shown, and nobody is told."""
    keep_resolved: float = 7 * 24 * 3600.0
    """How long a resolved incident stays in the history."""


class Incident(msgspec.Struct, kw_only=True):
    """A finding with a life: the unit that people acknowledge and silence."""

    id: str
    rule: str
    severity: Severity
    category: str
    trace_id: str
    framework: str | None = None
    agents: list[str] = []
    title: str
    summary: str
    cause: str
    remedy: str
    group: dict[str, Any]
    count: int
    first_seen: float
    """Event time, as `last_seen`."""
    last_seen: float
    evidence: list[Evidence] = []
    state: Literal["open", "resolved"] = "open"
    opened_at: float
    """Wall clock, as all times below."""
    updated_at: float
    resolved_at: float | None = None
    explained_by: str | None = None
    """The incident whose symptom this is: while that is open, nobody is told of this one."""
    acknowledged_at: float | None = None
    told: Literal["open", "resolved"] | None = None
    """What was told last."""
    told_at: float | None = None
    openings: list[float] = []
    """When it opened and re-opened, within the flap window."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What one message says."""

    kind: NoticeKind
    created_at: float
    incidents: list[Incident]
    """One, but for a digest: there the worst and newest, `total` says how many there are."""
    total: int
    by_rule: dict[str, int] = {}
    """Of a digest: how many by rule."""


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents that nobody wants to hear of for a while."""

    id: str
    matchers: dict[str, str]
    """Field → value, all of which must be equal; fields are rule, severity, trace_id, framework,
    agent, and those of the group."""
    until: float
    comment: str = ""

    def matches(self, incident: Incident) -> bool:
        """Whether the incident is silenced by this."""
        labels = labels_of(incident)
        for name, value in self.matchers.items():
            if name == "agent" and value in incident.agents:
                continue
            if labels.get(name) != value:
                return False
        return True


class IncidentBook:
    """All incidents that are open or in the history, and the rules of telling.

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
        """Incidents that a store has not written yet."""
        self._told = sorted(
            one.told_at for one in self.incidents.values() if one.told_at and one.told == "open"
        )

    def observe(
        self,
        finding: Finding,
        now: float,
        *,
        framework: str | None = None,
        agents: Iterable[str] = (),
        explained_by: str | None = None,
    ) -> None:
        """Take the present state of a finding; `take_notices` says what follows from it."""
        incident = self.incidents.get(finding.id)
        if incident is None:
            if finding.healed:
                return
            incident = Incident(
                id=finding.id,
                rule=finding.rule,
                severity=finding.severity,
                category=finding.category,
                trace_id=finding.trace_id,
                title=finding.title,
                summary=finding.summary,
                cause=finding.cause,
                remedy=finding.remedy,
                group=finding.group,
                count=finding.count,
                first_seen=finding.first_seen,
                last_seen=finding.last_seen,
                opened_at=now,
                updated_at=now,
                openings=[now],
            )
            self.incidents[finding.id] = incident
        grew = finding.count > incident.count
        incident.framework, incident.agents = framework, list(agents)
        incident.severity, incident.summary = finding.severity, finding.summary
        incident.cause, incident.remedy = finding.cause, finding.remedy
        incident.count, incident.last_seen = finding.count, finding.last_seen
        incident.evidence, incident.explained_by = finding.evidence, explained_by
        incident.trace_id = finding.trace_id
        if finding.healed:
            self._resolve(incident, now)
        elif incident.state == "resolved" and grew:
            self._reopen(incident, now)
        incident.updated_at = now
        self.changed.add(incident.id)

    def take_notices(self, now: float) -> list[Notice]:
        """Return what is to be told now, and mark it as told: write both in one transaction."""
        self._expire(now)
        opened, others = [], []
        for incident in self.incidents.values():
            kind = self._due(incident, now)
            if kind == "opened":
                opened.append(incident)
            elif kind is not None:
                others.append((kind, incident))
        notices = [self._tell(kind, [incident], now) for kind, incident in others]
        return notices + self._tell_opened(opened, now)

    def acknowledge(self, incident_id: str, now: float) -> Incident:
        """Take an incident as known: it is not repeated.

        Raises:
            KeyError: there is no such incident.
        """
        incident = self.incidents[incident_id]
        incident.acknowledged_at = now
        self.changed.add(incident_id)
        return incident

    def is_silenced(self, incident: Incident, now: float) -> bool:
        """Whether a silence holds for the incident now."""
        return any(s.until > now and s.matches(incident) for s in self.silences.values())

    def is_inhibited(self, incident: Incident) -> bool:
        """Whether the incident's cause is open: that one is told instead."""
        cause = self.incidents.get(incident.explained_by or "")
        return cause is not None and cause.state == "open"

    # -- life ------------------------------------------------------------------------------

    def _resolve(self, incident: Incident, now: float) -> None:
        if incident.state == "open":
            incident.state, incident.resolved_at = "resolved", now
            self.changed.add(incident.id)

    def _reopen(self, incident: Incident, now: float) -> None:
        incident.state, incident.resolved_at, incident.acknowledged_at = "open", None, None
        horizon = now - self.policy.flap_window
        incident.openings = [at for at in incident.openings if at > horizon][-100:]
        incident.openings.append(now)

    def _expire(self, now: float) -> None:
        for incident in list(self.incidents.values()):
            if incident.state == "open" and now - incident.updated_at > self.policy.resolve_after:
                self._resolve(incident, now)
            elif (
                incident.state == "resolved"
                and incident.resolved_at is not None
                and now - incident.resolved_at > self.policy.keep_resolved
            ):
                del self.incidents[incident.id]
                self.changed.add(incident.id)

    # -- telling ---------------------------------------------------------------------------

    def _due(self, incident: Incident, now: float) -> NoticeKind | None:
        """Return what is to be told of an incident, None for nothing."""
        policy = self.policy
        if incident.state == "resolved":
            return "resolved" if incident.told == "open" and policy.send_resolved else None
        if _rank(incident.severity) < _rank(policy.notify_from):
            return None
        if self.is_silenced(incident, now) or self.is_inhibited(incident):
            return None
        if incident.told != "open":
            return None if self._flaps(incident, now) else "opened"
        if incident.acknowledged_at is not None or incident.told_at is None:
            return None
        return "repeated" if now - incident.told_at >= policy.repeat_interval else None

    def _flaps(self, incident: Incident, now: float) -> bool:
        recent = [at for at in incident.openings if now - at < self.policy.flap_window]
        return len(recent) > self.policy.flap_limit

    def _tell_opened(self, opened: list[Incident], now: float) -> list[Notice]:
        """Tell each by itself up to the storm limit, then one digest a window for the rest."""
        self._told = [at for at in self._told if now - at < self.policy.storm_window]
        room = max(0, self.policy.storm_limit - len(self._told))
        opened.sort(key=lambda one: (-_rank(one.severity), one.opened_at, one.id))
        if len(opened) <= room:
            return [self._tell("opened", [incident], now) for incident in opened]
        if room:
            alone, rest = opened[: room - 1], opened[room - 1 :]
            return [self._tell("opened", [one], now) for one in alone] + [
                self._tell("digest", rest, now)
            ]
        return []  # told in the digest of the next window; until then it stays untold in the store

    def _tell(self, kind: NoticeKind, incidents: list[Incident], now: float) -> Notice:
        for incident in incidents:
            incident.told = "resolved" if kind == "resolved" else "open"
            incident.told_at = now
            self.changed.add(incident.id)
        if kind in ("opened", "digest"):
            self._told.append(now)
        return Notice(
            kind=kind,
            created_at=now,
            incidents=[msgspec.structs.replace(one) for one in incidents[:MAX_DIGEST_LINES]],
            total=len(incidents),
            by_rule=dict(Counter(one.rule for one in incidents)) if kind == "digest" else {},
        )


def labels_of(incident: Incident) -> dict[str, str]:
    """Return the labels of an incident: what matchers, routes and Alertmanager see."""
    labels = {name: str(value) for name, value in incident.group.items() if value is not None}
    labels.update(
        alertname=incident.rule,
        rule=incident.rule,
        severity=incident.severity,
        category=incident.category,
        trace_id=incident.trace_id,
    )
    if incident.framework:
        labels["framework"] = incident.framework
    if incident.agents:
        labels["agent"] = incident.agents[0]
    return labels


def _rank(severity: Severity) -> int:
    return ("info", "warning", "critical").index(severity)
