"""What is to be told of an incident now, and when that may change by time alone."""

from __future__ import annotations

from collections.abc import Mapping

from lastsignal.core.incidents.causes import Causes
from lastsignal.core.incidents.model import (
    Incident,
    IncidentPolicy,
    NoticeKind,
    Silence,
    rank,
    told_severity,
)

Due = tuple[NoticeKind | None, float | None]
"""What is due, and when to ask again; None: only something that happens can change it."""


class Telling:
    """The rules of telling, in their order.

    Args:
        policy: when somebody is told.
        causes: which incident is whose symptom.
        silences: as the book changes them.
    """

    def __init__(
        self,
        policy: IncidentPolicy,
        causes: Causes,
        silences: Mapping[str, Silence],
    ) -> None:
        self.policy = policy
        self._causes = causes
        self._silences = silences

    def due(self, incident: Incident, now: float) -> Due:
        """Return what is to be told: ended, muted, flapping, new, worse, still there."""
        if incident.state == "resolved":
            return ("resolved" if incident.told == "open" else None), None
        if not self._is_tellable(incident) or incident.acknowledged_at is not None:
            return None, None
        until = self.silenced_until(incident, now)
        if until is not None:
            return None, until
        if self.is_inhibited(incident):
            return None, None
        if incident.told != "open":
            calm = self._calm_at(incident, now)
            return ("opened", None) if calm is None else (None, calm)
        if rank(incident.severity) > rank(told_severity(incident)):
            return "opened", None
        again = (incident.told_at or 0.0) + self.policy.repeat_interval
        return ("repeated", None) if now >= again else (None, again)

    def settle(self, incident: Incident, now: float) -> bool:
        """Take the end of an incident as told where nobody wants to hear it; say whether so."""
        if incident.told != "open":
            return False
        if self.policy.send_resolved and self.silenced_until(incident, now) is None:
            return False
        incident.told = "resolved"  # else an opening after this would not be told as one
        return True

    def silenced_until(self, incident: Incident, now: float) -> float | None:
        """Return until when the silences that hold now all end; None if none holds."""
        ends = [one.until for one in self._silences.values() if one.until > now]
        if not ends:
            return None
        return max(
            (s.until for s in self._silences.values() if s.until > now and s.matches(incident)),
            default=None,
        )

    def is_inhibited(self, incident: Incident) -> bool:
        """Whether the cause is open, and such that people are told of it instead."""
        causes = list(self._causes.of(incident))
        if not causes or causes[0].state != "open" or not self._is_tellable(causes[0]):
            return False
        # in a circle each explains the other: then both are told, rather than neither
        return causes[-1] is not incident

    def _is_tellable(self, incident: Incident) -> bool:
        return rank(incident.severity) >= rank(self.policy.notify_from)

    def _calm_at(self, incident: Incident, now: float) -> float | None:
        """Return when an incident that opens again and again counts as calm; None: it is."""
        limit = self.policy.flap_limit
        if len(incident.openings) <= limit:
            return None
        calm = incident.openings[-limit - 1] + self.policy.flap_window
        return calm if now < calm else None
