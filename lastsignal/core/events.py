"""Event: the one vocabulary that rules may speak.

The first eight fields are the published trace schema; the others are what the alias layer, the
reader and the call table add. An Event is built once per record and not kept: what outlives it
(evidence, window entries) copies the few values that it needs.
"""

from __future__ import annotations

from math import nan
from typing import Any, Literal, get_args

import msgspec

from lastsignal.core.packing import keepable

EventType = Literal[
    "agent_start",
    "model_call",
    "tool_call",
    "tool_result",
    "retry",
    "agent_end",
    "process_error",
    "audit",
]
Status = Literal["started", "completed", "failed", "aborted"]
TimestampSource = Literal["record", "wrapper", "inherited", "ingest"]

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
STATUSES: tuple[Status, ...] = get_args(Status)

UNTIMED = nan
"""The timestamp of an event whose record carries none, until the reader inherits one."""

GOES_ON = "goes_on"
"""Key in the metadata of an agent's start: it takes back the end before it, which was none."""

TOLD_LATE = "told_late"
"""Key in the metadata of an agent's start that comes behind what happened after it, as where a span
is told when it ends: calls that it may enclose have gone well already."""

USED_SO_FAR = "used_so_far"
"""Operation of the audit that tells what a trace has used up to then, of all that was told before
it, too: what the trace's calls have told is not added to it."""

LEFT_OFF = "left_off"
"""Operation of the audit which says that nothing more will come of a trace: it is over, or cut."""

WITHIN_TRACE = "/"
"""Begins the identity of an event that other traces may have the like of."""

Metadata = dict[str, Any]


class Event(msgspec.Struct, kw_only=True, gc=False):
    """One thing that an agent did, or that happened to it."""

    # -- the published schema ---------------------------------------------------------------
    timestamp: float = UNTIMED
    """Epoch seconds."""
    trace_id: str = ""
    """The run; empty until the reader falls back to the source's name."""
    event_type: EventType
    operation: str | None = None
    """The tool, action or model; for agent events the agent or workflow."""
    status: Status | None = None
    error_message: str | None = None
    """First line of the failure's text, without a traceback."""
    attempt: int | None = None
    """1-indexed."""
    metadata: Metadata | msgspec.Raw | bytes | None = None
    """Whatever else the record says; where it is still JSON it is parsed on demand, see
    `metadata_of`."""

    # -- who and which call -----------------------------------------------------------------
    agent: str | None = None
    call_id: str | None = None
    """Pairs a start with its end: the same on both."""
    parent_id: str | None = None
    """`call_id` of the enclosing call or agent."""

    # -- why it failed ----------------------------------------------------------------------
    error_class: str | None = None
    """One of `error_classes.ERROR_CLASSES`; decided once, by the reader, for failed events."""
    http_status: int | None = None
    error_type: str | None = None
    """Exception type or the framework's own error code, as written."""

    # -- what it used -----------------------------------------------------------------------
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    duration_seconds: float | None = None
    finish_reason: str | None = None
    arguments_hash: str | None = None
    """Of the canonicalised arguments: equal for equal calls, see `arguments.hash_arguments`."""

    # -- where it came from -----------------------------------------------------------------
    framework: str | None = None
    source: str = ""
    line: int = 0
    """1-based line of `offset` in the (decompressed) source."""
    offset: int = 0
    """Byte offset of the record in the (decompressed) source; a decoder that takes several
    events from one record sets it relative to the record's first byte."""
    timestamp_source: TimestampSource = "record"
    """From a decoder that gives no timestamp, `inherited` says that the record has one which is
    unusable."""
    sequence: int | None = None
    """The framework's own order of emission where it has one: sorts before time."""
    identity: str | None = None
    """What a copy of it shares, in this source or in another one, in its trace or in one that goes
    on with it: it counts once. With `WITHIN_TRACE` in front it holds for its trace only."""

    def parse_metadata(self) -> Metadata:
        """Return the metadata as they were written; an unusable payload counts as empty."""
        metadata = self.metadata
        if isinstance(metadata, dict):
            return metadata
        try:
            return _decode_metadata(metadata) if metadata is not None and bytes(metadata) else {}
        except (msgspec.MsgspecError, RecursionError):
            return {}

    def unparsed_metadata(self) -> bytes:
        """Return the metadata that nothing has asked for yet, as JSON: what `parse_metadata` takes
        for them."""
        metadata = self.metadata
        return b"" if metadata is None or isinstance(metadata, dict) else bytes(metadata)


PUBLISHED_NAMES = frozenset(Event.__struct_fields__) - {
    "source",
    "line",
    "offset",
    "timestamp_source",
    "sequence",
    "identity",
}
"""What a record may say of its event by the event's own names: all but where it came from."""

_decode_metadata = msgspec.json.Decoder(Metadata).decode


def metadata_of(event: Event) -> Metadata:
    """Return the event's metadata as a dict, parsed when something first asks."""
    metadata = event.metadata
    if not isinstance(metadata, dict):
        metadata = event.metadata = event.parse_metadata()
    return metadata


def as_plain(event: Event) -> dict[str, Any]:
    """Return the fields of an event that say something, as plain values: `Event(**plain)` is it."""
    metadata = metadata_of(event)
    plain = {
        name: value
        for name in Event.__struct_fields__
        if name != "metadata" and (value := getattr(event, name)) is not None
    }
    return {**plain, "metadata": metadata} if metadata else plain


def metadata_value(event: Event, path: str) -> Any:
    """Return a metadata value by dotted path, as it can be kept; None where there is none."""
    value: Any = metadata_of(event)
    if path in value:
        return keepable(value[path])
    for step in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return keepable(value)
