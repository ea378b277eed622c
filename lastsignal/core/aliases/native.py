"""The published trace schema, decoded straight into Events: the fast path.

A record with exact names and types needs one pass of the decoder; of its metadata only what an
event of its type can carry is read. Whatever is not exact (aliases, ISO times, numbers in strings,
unknown words) is left to `flat`, which knows every alias.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from lastsignal.core.aliases import flat
from lastsignal.core.aliases.contract import Decoded, Dialect
from lastsignal.core.aliases.error_text import error_in_text
from lastsignal.core.aliases.flat_table import DEFAULT_TABLE, AliasTable
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import EVENT_TYPES, Event
from lastsignal.core.judging import judge
from lastsignal.core.timestamps import EARLIEST, LATEST

_NONE = msgspec.Raw(b"")

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]
_Amount = Annotated[float, msgspec.Meta(ge=0, lt=1e15)]


class _Record(Event, kw_only=True, gc=False):
    framework: str | None = "native"
    metadata: msgspec.Raw = _NONE  # parsed only where something asks
    operation: _Name | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1)] | None = None
    agent: _Name | None = None
    call_id: _Name | None = None
    parent_id: _Name | None = None
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    cost_usd: _Amount | None = None
    duration_seconds: _Amount | None = None


class _CallMetadata(msgspec.Struct, gc=False):
    arguments: Any = None
    args: Any = None
    input: Any = None


class _FailureMetadata(msgspec.Struct, gc=False):
    http_status: int | None = None
    status_code: int | None = None
    error_type: str | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None


class _ModelMetadata(_Usage, gc=False):
    model: _Name | None = None
    cost_usd: _Amount | None = None
    finish_reason: str | None = None
    usage: _Usage | None = None
    tokens: msgspec.Raw = _NONE


_decode = msgspec.json.Decoder(_Record).decode
_decode_call = msgspec.json.Decoder(_CallMetadata).decode
_decode_failure = msgspec.json.Decoder(_FailureMetadata).decode
_decode_model = msgspec.json.Decoder(_ModelMetadata).decode
_NEEDS_OPERATION = frozenset({"tool_call", "tool_result", "retry"})


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
        self.exact = read_exact
        """Returns the event of a record that is; see `contract.Exact`."""

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        event = read_exact(record)
        return self._flat.decode(record) if event is None else [event]


def read_exact(record: bytes) -> Event | None:
    """Return the event of a record with exact names and types, None of any other."""
    try:
        event = _decode(record)
        kind, status = event.event_type, event.status
        if status is None or not EARLIEST <= event.timestamp <= LATEST:
            return None
        if event.operation is None and kind in _NEEDS_OPERATION:
            return None
        if event.error_message is not None:
            _read_error(event)
        elif status == "failed":
            return None
        if kind == "tool_call":
            if event.metadata is not _NONE and event.arguments_hash is None:
                _read_call(event)
        elif kind == "model_call":
            if status != "started" and event.metadata is not _NONE:
                _read_model(event)
        elif kind == "process_error" and status == "completed":
            return None  # whatever it says: a crash has not gone well
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return event


def _read_call(event: _Record) -> None:
    call = _decode_call(event.metadata)
    for value in (call.arguments, call.args, call.input):
        if value is not None:
            event.arguments_hash = hash_arguments(value)
            return


def _read_error(event: _Record) -> None:
    """Read of which class an error is; what goes well has none, whatever the record says."""
    is_retry = event.event_type == "retry"
    if event.status == "completed" or (event.status == "started" and not is_retry):
        event.error_message = None
        return
    if event.status == "failed" or is_retry:
        error = error_in_text(event.error_message or "")
        event.error_message = error.message
        if event.metadata is not _NONE:
            found = _decode_failure(event.metadata)
            event.http_status = event.http_status or found.http_status or found.status_code
            event.error_type = event.error_type or found.error_type
        event.error_type = event.error_type or error.type
        judge(event)


def _read_model(event: _Record) -> None:
    found = _decode_model(event.metadata)
    if found.tokens is not _NONE:
        raise msgspec.ValidationError  # `tokens: {input, output}` and its like: flat knows
    event.model = event.model or found.model
    usage = found.usage or found
    if event.input_tokens is None:
        event.input_tokens = (
            usage.input_tokens if usage.input_tokens is not None else usage.prompt_tokens
        )
    if event.output_tokens is None:
        event.output_tokens = (
            usage.output_tokens if usage.output_tokens is not None else usage.completion_tokens
        )
    if event.cost_usd is None:
        event.cost_usd = found.cost_usd
    event.finish_reason = event.finish_reason or found.finish_reason


DIALECT = Dialect(
    name="native",
    framework="native",
    recognise=recognise,
    decoder=NativeDecoder,
    description="Last Signal's own trace schema: one object a line with event_type and trace_id",
)
