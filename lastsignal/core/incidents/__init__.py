"""Findings over time → incidents: opened once, updated, resolved; who is told, and how often."""

from __future__ import annotations

from lastsignal.core.incidents.book import IncidentBook, Transition
from lastsignal.core.incidents.digest import (
    MAX_DIGEST_INCIDENTS,
    digest_of,
    folded,
    narrowed,
    shortened,
)
from lastsignal.core.incidents.model import (
    Incident,
    IncidentPolicy,
    Notice,
    NoticeKind,
    Silence,
    labels_of,
    rank,
    standing_since,
    told_severity,
)

__all__ = [
    "MAX_DIGEST_INCIDENTS",
    "Incident",
    "IncidentBook",
    "IncidentPolicy",
    "Notice",
    "NoticeKind",
    "Silence",
    "Transition",
    "digest_of",
    "folded",
    "labels_of",
    "narrowed",
    "rank",
    "shortened",
    "standing_since",
    "told_severity",
]
