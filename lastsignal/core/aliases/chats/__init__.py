"""Conversations without ids or times, and what researchers keep beside them."""

from __future__ import annotations

from lastsignal.core.aliases.chats import attribution, chat_log, magentic_chat

DIALECTS = (
    attribution.DIALECT,
    magentic_chat.DIALECT,
    chat_log.DIALECT,
)
