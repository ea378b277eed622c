"""A notice as JSON, for web hooks: everything redacted, and bounded."""

from __future__ import annotations

from typing import Any

from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.incidents import Incident, Notice, told_severity
from lastsignal.core.redaction import redact_values
from lastsignal.edges.notify.wording import clean

VERSION = 1

_NAME, _TEXT, _EXCERPT = 200, 4000, 2000


def document_of(notice: Notice) -> dict[str, Any]:
    """Return the notice for machines; its times are epoch seconds."""
    return {
        "kind": notice.kind,
        "created_at": notice.created_at,
        "total": notice.total,
        "by_rule": notice.by_rule,
        "by_kind": notice.by_kind,
        "folded": notice.folded,
        "incidents": [_incident(one) for one in notice.incidents],
    }


def _incident(one: Incident) -> dict[str, Any]:
    group = {name: str(value) for name, value in one.group.items() if value is not None}
    return {
        "id": one.id,
        "rule": one.rule,
        "severity": told_severity(one),
        "category": one.category,
        "state": one.state,
        "title": clean(one.title, _NAME),
        "summary": clean(one.summary, _TEXT),
        "cause": clean(one.cause, _TEXT),
        "remedy": clean(one.remedy, _TEXT),
        "trace_id": clean(one.trace_id, _NAME),
        "framework": clean(one.framework, _NAME) if one.framework else None,
        "agents": [clean(name, _NAME) for name in one.agents[:20]],
        "group": {name: clean(text, _NAME) for name, text in redact_values(group).items()},
        "count": one.count,
        "first_seen": one.first_seen,
        "last_seen": one.last_seen,
        "opened_at": one.opened_at,
        "resolved_at": one.resolved_at,
        "explained_by": one.explained_by,
        "evidence": [_evidence(mark) for mark in one.evidence],
    }


def _evidence(mark: Evidence) -> dict[str, Any]:
    return {
        "source": clean(mark.source, _TEXT),
        "line": mark.line,
        "offset": mark.offset,
        "event_type": mark.event_type,
        "timestamp": mark.timestamp,
        "excerpt": clean(mark.excerpt, _EXCERPT),
    }
