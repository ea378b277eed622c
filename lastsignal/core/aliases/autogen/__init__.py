"""AutoGen: the core's event log, AgentChat's messages, Magentic-One's log, 0.2's file logger."""

from __future__ import annotations

from lastsignal.core.aliases.autogen import agentchat, core_events, file_logger, magentic_one

DIALECTS = (
    core_events.DIALECT,
    magentic_one.DIALECT,
    agentchat.DIALECT,
    file_logger.DIALECT,
)
