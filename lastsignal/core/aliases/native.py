"""The published trace schema, decoded straight into Events: the fast path.

A record with exact names and types needs one pass of the decoder, and one over its metadata.
Whatever is not exact (other names, ISO times, numbers in strings, unknown words) is left to `flat`,
which knows every alias. What is read here says just what `flat` would say of it, but for what an
event of its type cannot have: a call that begins has cost nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from lastsignal.core.aliases import flat
from lastsignal.core.aliases.contract import Decoded, Dialect, none_is_exact
from lastsignal.core.aliases.error_text import error_in_text
from lastsignal.core.aliases.flat_table import DEFAULT_TABLE, AliasTable
from lastsignal.core.aliases.flat_words import ALIASES
from lastsignal.core.aliases.native_metadata import (
    NONE,
    Amount,
    Count,
    HttpError,
    Name,
    decode_answered,
    decode_asked,
    decode_call,
    decode_called,
    decode_failed,
    decode_other,
    decode_result,
)
from lastsignal.core.aliases.reading.long_names import MAX_NAME
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.error_classes import ERROR_CLASSES
from lastsignal.core.events import EVENT_TYPES, Event, EventType, Status, TimestampSource
from lastsignal.core.judging import judge
from lastsignal.core.timestamps import EARLIEST, LATEST

_ErrorClass = Annotated[str, msgspec.Meta(pattern=f"^(?:{'|'.join(ERROR_CLASSES)})$")]


class _Record(Event, kw_only=True, gc=False, forbid_unknown_fields=True):
    trace_id: Annotated[str, msgspec.Meta(max_length=MAX_NAME)] = ""
    timestamp: Annotated[float, msgspec.Meta(ge=EARLIEST, le=LATEST)]
    status: Status
    framework: Name = "native"
    metadata: msgspec.Raw = NONE  # rules parse it where something asks
    operation: Name | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1, lt=10**15)] | None = None
    agent: Name | None = None
    call_id: Name | None = None
    parent_id: Name | None = None
    error_class: _ErrorClass | None = None
    http_status: HttpError | None = None
    error_type: Name | None = None
    model: Name | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Amount | None = None
    duration_seconds: Amount | None = None
    finish_reason: Name | None = None
    arguments_hash: Name | None = None
    # where a record stands is not for the record to say
    source: str = msgspec.field(default="", name="(source)")
    line: int = msgspec.field(default=0, name="(line)")
    offset: int = msgspec.field(default=0, name="(offset)")
    timestamp_source: TimestampSource = msgspec.field(default="record", name="(timestamp_source)")
    sequence: int | None = msgspec.field(default=None, name="(sequence)")


_decode = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A JSON object whose event_type is one of ours."""
    return isinstance(value, dict) and value.get("event_type") in EVENT_TYPES


class NativeDecoder:
    """Decodes native records; asks `flat` for the inexact ones."""

    def __init__(self, source: str, table: AliasTable = DEFAULT_TABLE) -> None:
        self._flat = flat.FlatDecoder(source, table)
        self.state = self._flat.state
        self.again = self._flat.again
        """Returns the event of a record that is not exact; see `contract.Exact`."""
        self.exact = read_exact if _means_the_same(table) else none_is_exact
        """Returns the event of a record that is; see `contract.Exact`."""

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        event = self.exact(record)
        return self._flat.decode(record) if event is None else [event]


def read_exact(record: bytes) -> Event | None:
    """Return the event of a record with exact names and types, None of any other."""
    try:
        if not record.isascii():
            record.decode()  # metadata are passed over, whatever their bytes are
        event = _decode(record)
        kind = event.event_type
        if event.error_message is not None:
            return _read_failure(event, event.error_message)
        if event.status == "failed" or (kind == "process_error" and event.status == "completed"):
            return None  # its output may tell of what; and no crash has gone well
        if event.metadata is not NONE and not _READERS[kind](event):
            return None
        if event.operation is None and kind == "model_call":
            event.operation = event.model
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return event


def _read_failure(event: _Record, error: str) -> Event | None:
    status, kind = event.status, event.event_type
    if status != "failed" and (kind != "retry" or status == "completed"):
        return None  # what goes well has no error, whatever the record says
    if event.metadata is not NONE:
        found = decode_failed(event.metadata)
        _read_who(event, found)
        _read_usage(event, found)
        event.http_status = event.http_status or found.status_code or found.http_status
        event.error_type = event.error_type or found.error_type
    if event.operation is None and kind == "model_call":
        event.operation = event.model
    said = error_in_text(error)
    event.error_message = said.message
    if len(said.type or "") > MAX_NAME:
        return None
    event.error_type = event.error_type or said.type
    judge(event)
    return event


def _read_other(event: _Record) -> bool:
    found = decode_other(event.metadata)
    if found.call_id or found.agent:
        _read_who(event, found)
    return True


def _read_call(event: _Record) -> bool:
    decode = decode_call if event.status == "started" else decode_called
    found = decode(event.metadata)
    if found.call_id or found.agent:
        _read_who(event, found)
    if event.arguments_hash is None:
        for value in (found.arguments, found.args, found.input, found.parameters):
            if value is not None and value != "":
                event.arguments_hash = hash_arguments(value)
                break
    return True


def _read_result(event: _Record) -> bool:
    found = decode_result(event.metadata)
    if found.call_id or found.agent:
        _read_who(event, found)
    if event.duration_seconds is None:
        event.duration_seconds = _duration(found)
    is_told = found.output is not NONE or found.result is not NONE
    return not (is_told and event.status == "completed" and _hides_failure(found))


def _hides_failure(found: Any) -> bool:
    """Whether an output tells of a failure that the record's status does not."""
    for raw in (found.output, found.result):
        value = None if raw is NONE else msgspec.json.decode(raw)
        if value is not None and value != "":
            return failure_in_output(value) is not None
    return False


def _read_model(event: _Record) -> bool:
    if event.status == "started":
        found = decode_asked(event.metadata)
        if event.model is None:
            event.model = found.model
    else:
        found = decode_answered(event.metadata)
        _read_usage(event, found)
    if found.call_id or found.agent:
        _read_who(event, found)
    return True


_READERS: dict[EventType, Callable[[_Record], bool]] = {
    **dict.fromkeys(EVENT_TYPES, _read_other),
    "tool_call": _read_call,
    "tool_result": _read_result,
    "model_call": _read_model,
}
"""Reads what the metadata of an event say that went well; False leaves the record to `flat`."""


def _read_who(event: _Record, found: Any) -> None:
    event.call_id = event.call_id or found.call_id
    event.agent = event.agent or found.agent


def _duration(found: Any) -> float | None:
    seconds: float | None = found.duration_seconds
    if seconds is not None:
        return seconds
    milliseconds = found.latency_ms if found.duration_ms is None else found.duration_ms
    return None if milliseconds is None else milliseconds / 1000.0


def _read_usage(event: _Record, found: Any) -> None:
    """Read what a call has taken: of each name the first that is there."""
    usage = found.usage
    if event.duration_seconds is None:
        event.duration_seconds = _duration(found)
    if event.input_tokens is None:
        count = found.prompt_tokens if found.input_tokens is None else found.input_tokens
        if count is None and usage is not None:
            count = usage.prompt_tokens if usage.input_tokens is None else usage.input_tokens
        event.input_tokens = count
    if event.output_tokens is None:
        count = found.completion_tokens if found.output_tokens is None else found.output_tokens
        if count is None and usage is not None:
            count = usage.output_tokens
            count = usage.completion_tokens if count is None else count
        event.output_tokens = count
    if event.cost_usd is None:
        event.cost_usd = found.cost if found.cost_usd is None else found.cost_usd
    if event.model is None:
        event.model = found.model
    if event.finish_reason is None:
        event.finish_reason = found.finish_reason


def _means_the_same(table: AliasTable) -> bool:
    """Whether the names and words of exact records mean in this table what they mean in ours."""
    if table is DEFAULT_TABLE:
        return True
    exact = set(_Record.__struct_encode_fields__)
    for name, paths in table.fields.items():
        here = [path for path in paths if path.split(".")[0] in exact]
        if here != [path for path in ALIASES[name] if path.split(".")[0] in exact]:
            return False
    words = DEFAULT_TABLE.event_words
    return all(table.event_words[kind] == words[kind] for kind in EVENT_TYPES)


DIALECT = Dialect(
    name="native",
    framework="native",
    recognise=recognise,
    decoder=NativeDecoder,
    description="Last Signal's own trace schema: one object a line with event_type and trace_id",
)
