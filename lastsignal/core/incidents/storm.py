"""At most so many messages a window; what is beyond goes into one digest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from lastsignal.core.incidents.digest import digest_of
from lastsignal.core.incidents.model import (
    Incident,
    IncidentPolicy,
    Notice,
    NoticeKind,
    rank,
    told_severity,
)

_URGENCY: dict[NoticeKind, int] = {"opened": 0, "resolved": 1, "repeated": 2}


class Storm:
    """The messages of the last window.

    Args:
        policy: how many are allowed.
        incidents: what a store has kept; they know the messages that were sent.
    """

    def __init__(self, policy: IncidentPolicy, incidents: Iterable[Incident]) -> None:
        self.policy = policy
        self._sent = deque(sorted(at for one in incidents for at in one.announced))

    def room(self, now: float) -> int:
        """Return how many messages may be sent now."""
        while self._sent and self._sent[0] + self.policy.storm_window <= now:
            self._sent.popleft()
        return max(0, self.policy.storm_limit - len(self._sent))

    def tell(self, due: Sequence[tuple[NoticeKind, Incident]], now: float) -> list[Notice]:
        """Return each by itself while there is room, the most urgent first; the rest together."""
        room = self.room(now)
        ordered = sorted(due, key=_urgent_first)
        alone = ordered if len(ordered) <= room else ordered[: room - 1]
        rest = ordered[len(alone) :]
        for kind, incident in ordered:
            _mark(incident, kind, now)
        notices = [self._single(kind, incident, now) for kind, incident in alone]
        if rest:
            self._announce(rest[0][1], now)
            notices.append(digest_of(rest, now))
        return notices

    def clamp(self, now: float) -> None:
        """Take what was sent in a future that a clock has left as sent now."""
        self._sent = deque(min(at, now) for at in self._sent)

    def _single(self, kind: NoticeKind, incident: Incident, now: float) -> Notice:
        self._announce(incident, now)
        body = msgspec.structs.replace(incident)
        return Notice(kind=kind, created_at=now, incidents=[body], total=1)

    def _announce(self, incident: Incident, now: float) -> None:
        self._sent.append(now)
        horizon = now - self.policy.storm_window
        incident.announced = [*(at for at in incident.announced if at > horizon), now]


def _mark(incident: Incident, kind: NoticeKind, now: float) -> None:
    incident.told_at = now
    if kind == "resolved":
        incident.told = "resolved"
    else:
        incident.told = "open"
        known, present = told_severity(incident), incident.severity
        incident.told_severity = present if rank(present) > rank(known) else known


def _urgent_first(item: tuple[NoticeKind, Incident]) -> tuple[int, int, float, str]:
    kind, incident = item
    return (_URGENCY[kind], -rank(told_severity(incident)), incident.opened_at, incident.id)
