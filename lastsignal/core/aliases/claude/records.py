"""The fields of Claude Code's records that are read, and the message inside them."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.fields import count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of

ABSENT = msgspec.Raw(b"")


class Line(msgspec.Struct, gc=False):
    """One record of a transcript or of the stream; what is heavy stays undecoded."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    requestId: Any = None
    timestamp: Any = None
    sessionId: Any = None
    session_id: Any = None
    parentUuid: Any = None
    isSidechain: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    forkedFrom: Any = None
    agentId: Any = None
    attributionAgent: Any = None
    parent_tool_use_id: Any = None
    message: msgspec.Raw = ABSENT
    systemPayload: msgspec.Raw = ABSENT
    toolCallResult: msgspec.Raw = ABSENT
    traceSchema: Any = None
    loglines: msgspec.Raw = ABSENT
    isApiErrorMessage: Any = None
    apiErrorStatus: Any = None
    error: Any = None
    retryAttempt: Any = None
    maxRetries: Any = None
    retryInMs: Any = None
    durationMs: Any = None
    costUSD: Any = None
    compactMetadata: Any = None
    preventedContinuation: Any = None
    stopReason: Any = None
    content: Any = None
    toolDenialKind: Any = None
    interruptedMessageId: Any = None
    toolUseResult: msgspec.Raw = ABSENT

    @property
    def is_anothers(self) -> bool:
        """Whether it has a field of Qwen Code's or OpenClaw's records, which share the others."""
        return bool(len(self.systemPayload) or len(self.toolCallResult) or self.traceSchema)


class Message(msgspec.Struct, gc=False):
    """A message of the Messages API."""

    id: Any = None
    model: Any = None
    content: msgspec.Raw = ABSENT
    parts: msgspec.Raw = ABSENT
    stop_reason: Any = msgspec.UNSET
    usage: Any = None


class Block(msgspec.Struct, gc=False):
    """A content block; texts and arguments stay undecoded until they are known to be needed."""

    type: Any = None
    id: Any = None
    name: Any = None
    input: msgspec.Raw = ABSENT
    text: msgspec.Raw = ABSENT
    content: msgspec.Raw = ABSENT
    tool_use_id: Any = None
    is_error: Any = None

    @property
    def is_call(self) -> bool:
        """A request to run a tool: of the agent, of the provider's server or of an MCP server."""
        return isinstance(self.type, str) and self.type.endswith("tool_use")

    @property
    def is_result(self) -> bool:
        """What a tool gave back."""
        return isinstance(self.type, str) and self.type.endswith("tool_result")


_decode_message = msgspec.json.Decoder(Message).decode
_decode_block = msgspec.json.Decoder(Block).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_DAMAGE = (msgspec.MsgspecError, RecursionError, UnicodeError)


def message_of(raw: msgspec.Raw) -> Message | None:
    """Decode a record's message; None where it is no object."""
    try:
        return _decode_message(raw) if bytes(raw) else None
    except _DAMAGE:
        return None


def blocks_of(content: msgspec.Raw) -> list[Block]:
    """Decode the content blocks; a text alone has none, and what is no block is left out."""
    try:
        elements = _decode_array(content) if bytes(content) else []
    except _DAMAGE:
        return []
    blocks: list[Block] = []
    for element in elements:
        try:
            blocks.append(_decode_block(element))
        except _DAMAGE:
            continue
    return blocks


def text_in(content: msgspec.Raw) -> str:
    """Return a content's text: the string itself, or its first text block."""
    value = value_of(content)
    if isinstance(value, list):
        value = next(
            (
                item.get("text")
                for item in value
                if isinstance(item, dict) and item.get("type") == "text"
            ),
            None,
        )
    return value if isinstance(value, str) else ""


def input_tokens(usage: object) -> int | None:
    """All that the model read: the provider counts what came from its cache apart."""
    counts = mapping_of(usage)
    fresh = count_of(counts.get("input_tokens"))
    cached = [
        count_of(counts.get(key))
        for key in ("cache_read_input_tokens", "cache_creation_input_tokens")
    ]
    if fresh is None and not any(cached):
        return None
    return (fresh or 0) + sum(count or 0 for count in cached)


def cache_facts(usage: object) -> dict[str, int]:
    """How much of the input came from, or went into, the provider's cache."""
    counts = mapping_of(usage)
    facts = {
        "cache_read_tokens": count_of(counts.get("cache_read_input_tokens")),
        "cache_creation_tokens": count_of(counts.get("cache_creation_input_tokens")),
    }
    return {name: count for name, count in facts.items() if count}


def model_of(message: Message) -> str | None:
    """Return the model's name; `<synthetic>` is what the client writes in the model's place."""
    name = text_of(message.model)
    return None if name == "<synthetic>" else name
