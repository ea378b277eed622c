"""OpenAI Agents SDK: what its trace processors and exporters write."""

from __future__ import annotations

from lastsignal.core.aliases.openai_agents.spans import DIALECT

DIALECTS = (DIALECT,)
