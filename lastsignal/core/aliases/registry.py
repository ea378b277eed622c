"""The ladder: every dialect, in the order in which a record is offered to it.

Specific layouts stand before general ones; `native` and `flat` close it, for they accept any
record that names what happened.
"""

from __future__ import annotations

from lastsignal.core.aliases import (
    autogen,
    claude,
    codex,
    crewai,
    flat,
    langchain,
    litellm,
    maslab,
    native,
    openai_agents,
    openai_agents_export,
)
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.otel import dialects as otel

LADDER: tuple[Dialect, ...] = (
    *otel.DIALECTS,
    *openai_agents.DIALECTS,
    openai_agents_export.DIALECT,
    *codex.DIALECTS,
    *claude.DIALECTS,
    *maslab.DIALECTS,
    *langchain.DIALECTS,
    *crewai.DIALECTS,
    *autogen.DIALECTS,
    *litellm.DIALECTS,
    native.DIALECT,
    flat.DIALECT,
)
