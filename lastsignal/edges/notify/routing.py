"""Notices → which target is told what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lastsignal.core.incidents import Incident, Notice, NoticeKind, narrowed, shortened
from lastsignal.edges.notify.targets import Target


def route(notices: Iterable[Notice], targets: Sequence[Target]) -> list[tuple[Notice, list[str]]]:
    """Return what goes into the outbox: each notice with the names of who is told it.

    Who hears of some of a digest's incidents gets a digest of those. Alertmanager is left out: it
    keeps alerts itself, and is told what stands, not what happened.
    """
    routed: list[tuple[Notice, list[str]]] = []
    for notice in notices:
        whole: list[str] = []
        for target in targets:
            if target.kind == "alertmanager":
                continue
            told = narrowed(notice, _Takes(target))
            if told is notice:
                whole.append(target.name)
            elif told is not None:
                routed.append((shortened(told), [target.name]))
        if whole:
            routed.append((shortened(notice), whole))
    return routed


class _Takes:
    """Whether a target is told something of an incident."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __call__(self, kind: NoticeKind, incident: Incident) -> bool:
        if kind == "resolved" and not self._target.send_resolved:
            return False
        return self._target.takes(incident)
