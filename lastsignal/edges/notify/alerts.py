"""Incidents → alerts as Alertmanager knows them: by their labels, so these are few and steady.

What grows without bound is no label, but for the trace id where the incident is that of a trace.
Incidents that share all labels are one alert, which ends when the last of them does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from lastsignal.core.incidents import Incident, labels_of, standing_since, told_severity
from lastsignal.core.redaction import redact_values
from lastsignal.edges.notify.wording import clean

BOUNDED = frozenset(
    {
        "agent", "alertname", "category", "error_class", "error_type", "event_type", "framework",
        "http_status", "model", "operation", "provider", "rule", "severity", "status",
    }
)  # fmt: skip
"""Labels whose values are few, or as few as an installation's agents, tools and models."""

MAX_EVIDENCE = 5
MAX_LISTED = 10

_NAME, _SENTENCE, _PARAGRAPH, _EXCERPT = 200, 400, 1200, 300
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

LabelSet = tuple[tuple[str, str], ...]
"""Labels in their order: the identity of an alert."""


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert: what Alertmanager is told of it."""

    labels: LabelSet
    incidents: tuple[Incident, ...]
    """Those that share the labels, the one that opened first at the beginning."""
    starts_at: float
    ends_at: float | None
    """When the last of them ended; None while one stands."""


def gather(incidents: Iterable[tuple[LabelSet, Incident]]) -> dict[LabelSet, Alert]:
    """Return the alerts of incidents whose labels are known."""
    shared: dict[LabelSet, list[Incident]] = {}
    for labels, incident in incidents:
        shared.setdefault(labels, []).append(incident)
    return {labels: _alert(labels, found) for labels, found in shared.items()}


def label_set(incident: Incident, extra: Mapping[str, str]) -> LabelSet:
    """Return the labels that an incident's alert has."""
    labels = {name: text for name, text in labels_of(incident).items() if name in BOUNDED}
    # the severity that people know it by: another one would make it another alert
    labels["severity"] = told_severity(incident)
    if "trace_id" in incident.group:
        labels["trace_id"] = incident.trace_id
    cleaned = {name: clean(text, _NAME) for name, text in redact_values(labels).items()}
    named = {name: text for name, text in extra.items() if _LABEL_NAME.fullmatch(name)}
    return tuple(sorted((name, text) for name, text in {**cleaned, **named}.items() if text))


def posted(alert: Alert, stands_until: float) -> dict[str, Any]:
    """Return an alert as `POST /api/v2/alerts` takes it.

    Args:
        alert: what is told.
        stands_until: when Alertmanager takes it as over if it hears nothing more.
    """
    return {
        "labels": dict(alert.labels),
        "annotations": annotations_of(alert),
        "startsAt": _rfc3339(alert.starts_at),
        # an alert that ends before it starts is refused
        "endsAt": _rfc3339(
            stands_until if alert.ends_at is None else max(alert.ends_at, alert.starts_at + 0.001)
        ),
    }


def trial_alert(labels: Mapping[str, str], starts_at: float, ends_at: float) -> dict[str, Any]:
    """Return the alert that shows whether Alertmanager takes any."""
    named = {name: text for name, text in labels.items() if _LABEL_NAME.fullmatch(name)}
    return {
        "labels": {"alertname": "lastsignal_test", "severity": "info", **named},
        "annotations": {"summary": "Test of Last Signal", "description": "It ends by itself."},
        "startsAt": _rfc3339(starts_at),
        "endsAt": _rfc3339(ends_at),
    }


def annotations_of(alert: Alert) -> dict[str, str]:
    """Return what people read in a notification of Alertmanager."""
    one = next((i for i in alert.incidents if i.state == "open"), alert.incidents[-1])
    ids = [incident.id for incident in alert.incidents[:MAX_LISTED]]
    texts = {
        "summary": f"{clean(one.title, _NAME)}: {clean(one.summary, _SENTENCE)}",
        "description": clean(one.cause, _PARAGRAPH),
        "remedy": clean(one.remedy, _PARAGRAPH),
        "evidence": "\n".join(_evidence(one)),
        "trace": clean(one.trace_id, _NAME),
        "incidents": ", ".join(ids),
        "look_further": f"lastsignal incidents show {one.id}",
    }
    return {name: text for name, text in texts.items() if text}


def _alert(labels: LabelSet, found: list[Incident]) -> Alert:
    found.sort(key=lambda one: (standing_since(one), one.id))
    open_ones = [one for one in found if one.state == "open"]
    ends = [one.resolved_at or one.updated_at for one in found]
    return Alert(
        labels=labels,
        incidents=tuple(found),
        starts_at=standing_since((open_ones or found)[0]),
        ends_at=None if open_ones else max(ends),
    )


def _evidence(incident: Incident) -> Iterable[str]:
    for mark in incident.evidence[:MAX_EVIDENCE]:
        place = f"{clean(mark.source, _EXCERPT)}:{mark.line}"
        yield f"{place} {clean(mark.excerpt, _EXCERPT)}".rstrip()


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
