"""The ladder: every dialect, in the order in which a record is offered to it.

Specific layouts stand before general ones; `native` and `flat` close it, for they accept any
record that names what happened.
"""

from __future__ import annotations

from lastsignal.core.aliases import (
    autogen,
    chats,
    claude,
    codex,
    crewai,
    flat,
    frameworks,
    gemini,
    harness,
    inspect_ai,
    langchain,
    litellm,
    managed_agents,
    maslab,
    native,
    openai_agents,
    openai_agents_export,
    openclaw,
    opencode,
    openhands,
    span_exports,
)
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.otel import dialects as otel

LADDER: tuple[Dialect, ...] = (
    *otel.DIALECTS,
    *openai_agents.DIALECTS,
    openai_agents_export.DIALECT,
    *codex.DIALECTS,
    *claude.DIALECTS,
    *gemini.DIALECTS,
    *openclaw.DIALECTS,
    *opencode.DIALECTS,
    managed_agents.DIALECT,
    *maslab.DIALECTS,
    *langchain.DIALECTS,
    *crewai.DIALECTS,
    *autogen.DIALECTS,
    *litellm.DIALECTS,
    *span_exports.DIALECTS,
    *openhands.DIALECTS,
    *harness.DIALECTS,
    *inspect_ai.DIALECTS,
    *frameworks.DIALECTS,
    *chats.DIALECTS,
    native.DIALECT,
    flat.DIALECT,
)
