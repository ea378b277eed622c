"""Many incidents in one message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from lastsignal.core.incidents.model import Incident, Notice, NoticeKind, rank, told_severity

MAX_DIGEST_INCIDENTS = 20
"""Incidents that a digest lists once it leaves; it still counts all."""


def digest_of(told: Iterable[tuple[NoticeKind, Incident]], now: float) -> Notice:
    """Return one notice of all these incidents; `shortened` keeps the worst of them."""
    ordered = sorted(told, key=lambda item: _worst_first(item[1]))
    return Notice(
        kind="digest",
        created_at=now,
        incidents=[msgspec.structs.replace(incident) for _, incident in ordered],
        total=len(ordered),
        by_rule=_most_first(Counter(incident.rule for _, incident in ordered)),
        by_kind=_most_first(Counter(kind for kind, _ in ordered)),
        kinds=[kind for kind, _ in ordered],
    )


def narrowed(notice: Notice, keep: Callable[[NoticeKind, Incident], bool]) -> Notice | None:
    """Return what a notice says of some of its incidents only; None if it says nothing of them.

    A digest must be as the book made it: with all of its incidents.
    """
    told = zip(notice.kinds or [notice.kind], notice.incidents, strict=True)
    kept = [(kind, incident) for kind, incident in told if keep(kind, incident)]
    if len(kept) == len(notice.incidents):
        return notice
    if len(kept) > 1:
        return digest_of(kept, notice.created_at)
    for kind, incident in kept:
        return Notice(kind=kind, created_at=notice.created_at, incidents=[incident], total=1)
    return None


def shortened(notice: Notice) -> Notice:
    """Return a notice with no more in it than a message says: to be stored and sent."""
    if notice.kind != "digest":
        return notice
    listed = notice.incidents[:MAX_DIGEST_INCIDENTS]
    return msgspec.structs.replace(
        notice, incidents=[_body(incident) for incident in listed], kinds=[]
    )


def folded(notices: Iterable[Notice], now: float) -> Notice:
    """Return one digest instead of several notices that wait, oldest first.

    The counts are exact; an incident that several of them name is listed as the latest of them
    knows it.
    """
    latest: dict[str, Incident] = {}
    by_rule: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    total = messages = 0
    created_at = now
    for notice in notices:
        created_at = min(created_at, notice.created_at)
        total += notice.total
        messages += notice.folded or 1
        for incident in notice.incidents:
            latest[incident.id] = incident
        by_kind.update(notice.by_kind or {notice.kind: notice.total})
        by_rule.update(notice.by_rule or Counter(one.rule for one in notice.incidents))
    ordered = sorted(latest.values(), key=_worst_first)
    return Notice(
        kind="digest",
        created_at=created_at,  # the age of what is unsent is that of the oldest in it
        incidents=[_body(incident) for incident in ordered[:MAX_DIGEST_INCIDENTS]],
        total=total,
        by_rule=_most_first(by_rule),
        by_kind=_most_first(by_kind),
        folded=messages,
    )


def _worst_first(incident: Incident) -> tuple[bool, int, float, str]:
    over = incident.state == "resolved"
    return (over, -rank(told_severity(incident)), incident.opened_at, incident.id)


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _body(incident: Incident) -> Incident:
    """Return the incident without the evidence that no digest shows."""
    return msgspec.structs.replace(incident, evidence=[])
