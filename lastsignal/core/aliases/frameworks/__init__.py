"""Agent frameworks whose own dumps are one small layout each."""

from __future__ import annotations

from lastsignal.core.aliases.frameworks import (
    aider,
    google_adk,
    llamaindex,
    pydantic_ai,
    smolagents,
    strands_session,
)

DIALECTS = (
    google_adk.DIALECT,
    llamaindex.DIALECT,
    smolagents.DIALECT,
    pydantic_ai.DIALECT,
    strands_session.DIALECT,
    aider.DIALECT,
)
