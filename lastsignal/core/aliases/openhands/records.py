"""The fields of OpenHands' SDK events that are read, and which records are such events."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.fields import at

_ABSENT = msgspec.Raw(b"")
_SOURCES = frozenset({"agent", "user", "environment", "hook"})
_KIND_CLASSES = {"auth": "auth", "quota": "quota", "rate_limit": "rate_limit"}
DROPPED = {
    "Condensation": "condensation",
    "CondensationRequest": "condensation",
    "CondensationSummaryEvent": "condensation",
    "HookExecutionEvent": "hook",
    "PauseEvent": "pause",
    "StreamingDeltaEvent": "stream_chunk",
    "SystemPromptEvent": "prompt",
    "SystemPromptUpdateEvent": "prompt",
    "TokenEvent": "tokens",
}
"""Kinds that tell nothing of their own, with the reason."""


class SdkEvent(msgspec.Struct, gc=False):
    """The fields of all kinds of events that are read; texts and payloads stay undecoded."""

    kind: Any = None
    source: Any = None
    timestamp: Any = None
    id: Any = None
    tool_name: Any = None
    tool_call_id: Any = None
    tool_call: Any = None
    action: msgspec.Raw = _ABSENT
    llm_response_id: Any = None
    observation: msgspec.Raw = _ABSENT
    rejection_reason: Any = None
    error: Any = None
    code: Any = None
    detail: Any = None
    classification: Any = None
    key: Any = None
    value: msgspec.Raw = _ABSENT
    title: Any = None
    status: Any = None
    is_error: Any = None
    raw_input: msgspec.Raw = _ABSENT
    raw_output: Any = None
    blocked: Any = None
    reason: Any = None
    log_data: Any = None
    model_name: Any = None
    execution_status: Any = msgspec.UNSET
    persistence_dir: Any = msgspec.UNSET
    agent: msgspec.Raw = _ABSENT

    @property
    def is_state(self) -> bool:
        """Whether this is no event but the state of a conversation."""
        is_whole = bytes(self.agent)[:1] == b"{" and self.persistence_dir is not msgspec.UNSET
        return is_whole and self.execution_status is not msgspec.UNSET


decode_event = msgspec.json.Decoder(SdkEvent).decode


def is_event(kind: object, source: object) -> bool:
    """Whether these are the kind and the source of an event."""
    if not isinstance(kind, str) or not isinstance(source, str) or source not in _SOURCES:
        return False
    return kind.endswith("Event") or kind in DROPPED or kind == "UserRejectObservation"


def class_of(event: SdkEvent) -> str | None:
    """Return the class of an error that the SDK itself has classified."""
    kind = at(event.classification, "kind")
    return _KIND_CLASSES.get(kind) if isinstance(kind, str) else None
