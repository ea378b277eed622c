"""OpenClaw, and pi beneath it: sessions, trajectories and the telemetry plugin."""

from __future__ import annotations

from lastsignal.core.aliases.openclaw import session, telemetry, trajectory

DIALECTS = (trajectory.DIALECT, session.DIALECT, telemetry.DIALECT)
