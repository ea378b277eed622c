"""A wall clock that is set back: what lies in its future since is taken as now.

Else an incident told at "in an hour" would be repeated an hour late, and a storm's limit would
hold for that hour.
"""

from __future__ import annotations

from lastsignal.core.incidents.model import Incident


def latest_time(incident: Incident) -> float:
    """Return the latest moment of the wall clock that an incident knows."""
    times = (incident.resolved_at, incident.acknowledged_at, incident.told_at)
    return max(incident.opened_at, incident.updated_at, *(time or 0.0 for time in times))


def clamped(incident: Incident, now: float) -> bool:
    """Bring an incident's times that are in the future to now; say whether there were any."""
    if latest_time(incident) <= now:
        return False
    incident.opened_at = min(incident.opened_at, now)
    incident.updated_at = min(incident.updated_at, now)
    incident.resolved_at = _earlier(incident.resolved_at, now)
    incident.acknowledged_at = _earlier(incident.acknowledged_at, now)
    incident.told_at = _earlier(incident.told_at, now)
    incident.openings = [min(at, now) for at in incident.openings]
    incident.announced = [min(at, now) for at in incident.announced]
    return True


def _earlier(time: float | None, now: float) -> float | None:
    return None if time is None else min(time, now)
