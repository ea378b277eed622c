"""Which incident is whose symptom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from lastsignal.core.incidents.model import Incident

MAX_CAUSES = 64  # causes of causes that are followed: rules may explain in a circle


class Causes:
    """The links from symptoms to their causes, and back.

    Args:
        incidents: all of them by id, as the book changes them.
    """

    def __init__(self, incidents: Mapping[str, Incident]) -> None:
        self._incidents = incidents
        self._symptoms: dict[str, set[str]] = {}
        for incident in incidents.values():
            self.link(incident, None)

    def of(self, incident: Incident) -> Iterator[Incident]:
        """Yield the cause, its cause, and so on; a circle comes to the incident itself and ends."""
        one = incident
        for _ in range(MAX_CAUSES):
            cause = self._incidents.get(one.explained_by or "")
            if cause is None:
                return
            yield cause
            if cause is incident:
                return
            one = cause

    def symptoms(self, name: str) -> Set[str]:
        """Return the ids of an incident's own symptoms."""
        return self._symptoms.get(name, set())

    def link(self, incident: Incident, former: str | None) -> None:
        """Note the cause of an incident that had another one, or none, before."""
        if former and former != incident.explained_by:
            self._unlink(incident.id, former)
        if incident.explained_by:
            self._symptoms.setdefault(incident.explained_by, set()).add(incident.id)

    def forget(self, incident: Incident) -> None:
        """Note that an incident is gone."""
        if incident.explained_by:
            self._unlink(incident.id, incident.explained_by)

    def _unlink(self, name: str, cause: str) -> None:
        symptoms = self._symptoms.get(cause, set())
        symptoms.discard(name)
        if not symptoms:
            self._symptoms.pop(cause, None)
