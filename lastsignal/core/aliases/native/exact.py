"""Reads what an exact record says: its own fields, and what people note in the metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lastsignal.core.aliases.error_text import error_in_text, is_no_error
from lastsignal.core.aliases.native.metadata import (
    NONE,
    decode_answered,
    decode_asked,
    decode_call,
    decode_called,
    decode_failed,
    decode_other,
    decode_result,
)
from lastsignal.core.aliases.native.record import ExactRecord, HabitualRecord
from lastsignal.core.aliases.reading.long_names import MAX_NAME
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import EVENT_TYPES, Event, Status
from lastsignal.core.judging import default_status, judge


def _reader(decode: Callable[[bytes], ExactRecord]) -> Callable[[bytes], Event | None]:
    """Return what reads exact records; see `contract.Exact`."""

    def read(record: bytes) -> Event | None:
        try:
            if not record.isascii():
                record.decode()  # metadata are passed over, whatever their bytes are
            event = decode(record)
            kind, status, error = event.event_type, event.status, event.error_message
            if error is not None:
                decode_noted, read_noted = _FAILED
            elif status == "failed" or (kind == "process_error" and status in _UNTOLD):
                return None  # its output may tell of what; and no crash has gone well
            else:
                decode_noted, read_noted = (_BEGUN if status == "started" else _DONE)[kind]
                if status is None:
                    if event.http_status or event.error_type or event.error_class:
                        return None
                    event.status = _IMPLIED[kind]
                    decode_noted, read_noted = _UNJUDGED[kind]
            if event.metadata is not NONE:
                noted = decode_noted(event.metadata)
                if noted is not None and not read_noted(event, noted):
                    return None
            if event.operation is None and kind == "model_call":
                event.operation = event.model
            if error is not None and not _tell_failure(event, status, error):
                return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return event

    return read


def habitual_reader(record_type: type[HabitualRecord]) -> Callable[[bytes], Event | None]:
    """Return what reads the records of a source that has habits; see `contract.Exact`."""
    settle = record_type.settle
    read: Callable[[bytes], Any] = _reader(msgspec.json.Decoder(record_type).decode)

    def read_habitual(record: bytes) -> Event | None:
        event = read(record)
        return event if event is not None and settle(event) else None

    return read_habitual


def _tell_failure(event: ExactRecord, status: Status | None, error: str) -> bool:
    """Say what failed, and why; False leaves the record to `flat`, as all of these do."""
    told = status or "failed"
    if told != "failed" and (event.event_type != "retry" or told == "completed"):
        return False  # what goes well has no error, whatever the record says
    if is_no_error(error):
        return False
    said = error_in_text(error)
    if status is None and not said.message:
        return False
    event.status, event.error_message = told, said.message
    event.error_type = event.error_type or said.type
    judge(event)
    return len(said.type or "") <= MAX_NAME


# To set a field takes five times as long as to look at one: what is not told is left as it is.


def _read_other(event: ExactRecord, noted: Any) -> bool:
    if noted.call_id is not None and event.call_id is None:
        event.call_id = noted.call_id
    if noted.agent is not None and event.agent is None:
        event.agent = noted.agent
    return True


def _read_call(event: ExactRecord, noted: Any) -> bool:
    _read_other(event, noted)
    if event.arguments_hash is None:
        arguments = noted.arguments
        if arguments is None or arguments == "":
            others = (noted.args, noted.input, noted.parameters)
            arguments = next((one for one in others if one is not None and one != ""), None)
        if arguments is not None:
            event.arguments_hash = hash_arguments(arguments)
    return True


def _read_result(event: ExactRecord, noted: Any, is_said_ok: bool = True) -> bool:
    _read_other(event, noted)
    if event.duration_seconds is None:
        _read_duration(event, noted)
    is_told = noted.output is not NONE or noted.result is not NONE
    return not (is_told and event.status == "completed" and _hides_failure(noted, is_said_ok))


def _read_unjudged(event: ExactRecord, noted: Any) -> bool:
    """Read a result of which no status says how the call went."""
    return _read_result(event, noted, is_said_ok=False)


def _hides_failure(noted: Any, is_said_ok: bool) -> bool:
    """Whether an output tells of a failure that the record's status does not."""
    for raw in (noted.output, noted.result):
        value = None if raw is NONE else msgspec.json.decode(raw)
        if value is not None and value != "":
            return failure_in_output(value, is_said_ok=is_said_ok) is not None
    return False


def _read_duration(event: ExactRecord, noted: Any) -> None:
    seconds = noted.duration_seconds
    if seconds is None:
        milliseconds = noted.latency_ms if noted.duration_ms is None else noted.duration_ms
        if milliseconds is None:
            return
        seconds = milliseconds / 1000.0
    event.duration_seconds = seconds


def _read_failed(event: ExactRecord, noted: Any) -> bool:
    event.http_status = event.http_status or noted.status_code or noted.http_status
    event.error_type = event.error_type or noted.error_type
    return _read_answered(event, noted)


def _read_asked(event: ExactRecord, noted: Any) -> bool:
    _read_other(event, noted)
    if noted.model is not None and event.model is None:
        event.model = noted.model
    return True


def _read_answered(event: ExactRecord, noted: Any) -> bool:
    """Read what a call has taken: of each name the first that is there."""
    _read_other(event, noted)
    if noted.model is not None and event.model is None:
        event.model = noted.model
    if noted.finish_reason is not None and event.finish_reason is None:
        event.finish_reason = noted.finish_reason
    if event.duration_seconds is None:
        _read_duration(event, noted)
    usage = noted.usage
    if event.input_tokens is None:
        count = noted.prompt_tokens if noted.input_tokens is None else noted.input_tokens
        if count is None and usage is not None:
            count = usage.prompt_tokens if usage.input_tokens is None else usage.input_tokens
        if count is not None:
            event.input_tokens = count
    if event.output_tokens is None:
        count = noted.completion_tokens if noted.output_tokens is None else noted.output_tokens
        if count is None and usage is not None:
            count = usage.completion_tokens if usage.output_tokens is None else usage.output_tokens
        if count is not None:
            event.output_tokens = count
    if event.cost_usd is None:
        cost = noted.cost if noted.cost_usd is None else noted.cost_usd
        if cost is not None:
            event.cost_usd = cost
    return True


_Steps = tuple[Callable[[msgspec.Raw], Any], Callable[[ExactRecord, Any], bool]]
"""What decodes the metadata of an event, and reads them."""
_OTHERS: dict[str, _Steps] = dict.fromkeys(EVENT_TYPES, (decode_other, _read_other))
_BEGUN = _OTHERS | {
    "tool_call": (decode_call, _read_call),
    "tool_result": (decode_result, _read_result),
    "model_call": (decode_asked, _read_asked),
}
"""Where something is said to begin."""
_DONE = _BEGUN | {
    "tool_call": (decode_called, _read_call),
    "model_call": (decode_answered, _read_answered),
}
"""Where it is over, or may be: an error in the metadata decides."""
_UNJUDGED = _DONE | {"tool_result": (decode_result, _read_unjudged)}
"""Where no status says how it went."""
_FAILED: _Steps = (decode_failed, _read_failed)
_UNTOLD = (None, "completed")
_IMPLIED = {kind: default_status(kind) for kind in EVENT_TYPES}

read_exact = _reader(msgspec.json.Decoder(ExactRecord).decode)
