"""LiteLLM: the standard logging payload of its callbacks, and the JSON log of the application."""

from __future__ import annotations

from lastsignal.core.aliases.litellm import app_log, payload

DIALECTS = (payload.DIALECT, app_log.DIALECT)
