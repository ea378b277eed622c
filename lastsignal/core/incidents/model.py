"""What an incident is, what one message says of incidents, and when somebody is told."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.rules import SEVERITIES, Severity

NoticeKind = Literal["opened", "repeated", "resolved", "digest"]
Told = Literal["open", "resolved"]

Seconds = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class IncidentPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When somebody is told. Lengths of time in seconds."""

    repeat_interval: Seconds = 4 * 3600.0
    """An incident that stays open is told again after this long."""
    resolve_after: Seconds = 30 * 60.0
    """An incident that nothing has added to for this long counts as over."""
    send_resolved: bool = True
    flap_limit: Count = 3
    """Openings within `flap_window` after which an incident is only told when it has calmed."""
    flap_window: Seconds = 15 * 60.0
    storm_limit: Count = 10
    """Messages of any kind within `storm_window`; the last of them is a digest of all the rest."""
    storm_window: Seconds = 60.0
    notify_from: Severity = "warning"
    """Findings below this severity are kept and shown, and nobody is told."""
    keep_resolved: Seconds = 7 * 24 * 3600.0
    """How long a resolved incident stays in the history."""
    max_resolved: Count = 10_000
    """How many resolved incidents stay in the history: the latest ones."""


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
    """When something was last added to it, or to one of its symptoms."""
    resolved_at: float | None = None
    explained_by: str | None = None
    """The incident whose symptom this is: while that is open, nobody is told of this one."""
    acknowledged_at: float | None = None
    told: Told | None = None
    """What was told last."""
    told_at: float | None = None
    told_severity: Severity | None = None
    """The highest severity told since it opened: who heard of it is also told of its end."""
    openings: list[float] = []
    """When it opened and re-opened, within the flap window; the last one always."""
    announced: list[float] = []
    """Messages that count against the storm limit, each with one of the incidents in it: so a book
    rebuilt from stored incidents keeps to the limit too."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What one message says."""

    kind: NoticeKind
    created_at: float
    incidents: list[Incident]
    """One; of a digest all that it tells of, or the first of them: the worst come first."""
    total: int
    """How many incidents a digest is about."""
    by_rule: dict[str, int] = {}
    """Of a digest: how many by rule, the most first."""
    by_kind: dict[str, int] = {}
    """Of a digest: how many were opened, repeated and resolved."""
    kinds: list[NoticeKind] = []
    """Of a digest that has all its incidents: what is told of each of them."""
    folded: int = 0
    """Of a digest: how many messages that a target was too slow for are folded into it."""


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents that nobody wants to hear of for a while."""

    id: str
    matchers: dict[str, str]
    """Field → value, all of which must be equal; fields are rule, severity, trace_id, framework,
    agent, and those of the group. None at all matches everything."""
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


def standing_since(incident: Incident) -> float:
    """Return when the incident opened last, which is also when it last re-opened."""
    return incident.openings[-1] if incident.openings else incident.opened_at


def rank(severity: Severity) -> int:
    """Return how bad a severity is: the higher the worse."""
    return SEVERITIES.index(severity)


def told_severity(incident: Incident) -> Severity:
    """Return the severity that people know the incident by."""
    return incident.told_severity or incident.severity
