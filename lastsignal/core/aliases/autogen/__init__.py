"""AutoGen: the core's event log, AgentChat's messages, Magentic-One's log, 0.2's file logger; and
AG2, which went on from it."""

from __future__ import annotations

from lastsignal.core.aliases.autogen import (
    ag2_events,
    agentchat,
    core_events,
    file_logger,
    magentic_one,
)

DIALECTS = (
    ag2_events.DIALECT,
    core_events.DIALECT,
    magentic_one.DIALECT,
    agentchat.DIALECT,
    file_logger.DIALECT,
)
