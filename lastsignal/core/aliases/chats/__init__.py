"""Conversations without ids or times, and what researchers keep beside them."""

from __future__ import annotations

from lastsignal.core.aliases.chats import (
    attribution,
    chat_log,
    magentic_chat,
    mini_swe_messages,
)

DIALECTS = (
    attribution.DIALECT,
    magentic_chat.DIALECT,
    mini_swe_messages.DIALECT,
    chat_log.DIALECT,
)
