"""OpenHands: the SDK's events, those of the first generation, and logs of its model calls."""

from __future__ import annotations

from lastsignal.core.aliases.openhands import events, legacy, llm_log

DIALECTS = (events.DIALECT, legacy.DIALECT, llm_log.DIALECT)
