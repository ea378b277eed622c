"""What an incident takes from its finding."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.incidents.model import Incident


class Context(msgspec.Struct, frozen=True):
    """What is known of a finding's trace beside it."""

    framework: str | None
    agents: Iterable[str]
    explained_by: str | None


def incident_of(finding: Finding, context: Context, now: float) -> Incident:
    """Return the incident that a finding opens."""
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
    update(incident, finding, context)
    return incident


def update(incident: Incident, finding: Finding, context: Context) -> bool:
    """Bring what an incident says up to date; say whether that shows more of the same trouble."""
    grew = finding.last_seen > incident.last_seen or finding.count > incident.count
    if not (grew or finding.healed) and finding.count < incident.count:
        return False  # what is read again from the start is behind what is known
    if not finding.healed:  # what healed is lowered; the history keeps how bad it was
        incident.severity = finding.severity
    incident.summary, incident.cause = finding.summary, finding.cause
    incident.remedy, incident.evidence = finding.remedy, finding.evidence
    incident.count, incident.last_seen = finding.count, finding.last_seen
    incident.trace_id = finding.trace_id
    incident.framework, incident.agents = context.framework, list(context.agents)
    incident.explained_by = context.explained_by
    return grew and not finding.healed
