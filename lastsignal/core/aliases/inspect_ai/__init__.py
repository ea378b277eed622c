"""Inspect AI: eval logs, samples and their events."""

from __future__ import annotations

from lastsignal.core.aliases.inspect_ai import logs

DIALECTS = (logs.DIALECT,)
