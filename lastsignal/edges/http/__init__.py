"""Metrics, health, the API and a status page over HTTP; on loopback unless protected."""

from __future__ import annotations

from lastsignal.edges.http.server import serve
from lastsignal.edges.http.status import HttpError, HttpSettings, Status, check_protection

__all__ = ["HttpError", "HttpSettings", "Status", "check_protection", "serve"]
