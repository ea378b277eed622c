"""Gemini CLI (chats, telemetry, stream), its fork Qwen Code, and Antigravity."""

from __future__ import annotations

from lastsignal.core.aliases.gemini import antigravity, qwen, session, stream, telemetry

DIALECTS = (
    antigravity.DIALECT,
    telemetry.DIALECT,
    qwen.DIALECT,
    session.DIALECT,
    stream.DIALECT,
)
