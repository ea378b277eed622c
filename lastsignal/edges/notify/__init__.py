"""Telling people and Alertmanager of incidents, without ever holding up the reading of traces.

    notices → route → outbox (the store) → Worker → compose → Sender → one target
    incidents that stand → AlertmanagerWorker → Alertmanager

What leaves the machine is redacted; what is configured as a secret shows nowhere.
"""

from __future__ import annotations

from lastsignal.edges.notify.notifier import Notifier
from lastsignal.edges.notify.observer import Observer
from lastsignal.edges.notify.outbox import Outbox, Row
from lastsignal.edges.notify.routing import route
from lastsignal.edges.notify.surroundings import Surroundings
from lastsignal.edges.notify.targets import Retries, Route, Secret, Target
from lastsignal.edges.notify.trial import Trial, try_targets

__all__ = [
    "Notifier",
    "Observer",
    "Outbox",
    "Retries",
    "Route",
    "Row",
    "Secret",
    "Surroundings",
    "Target",
    "Trial",
    "route",
    "try_targets",
]
