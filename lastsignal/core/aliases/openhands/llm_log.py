"""OpenHands' logs of model calls: one file a call, written whether it answered or failed.

A folder of such files is one conversation's, so it names the trace.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import write_usage
from lastsignal.core.aliases.contract import Decoded, Dialect, NotThisDialect
from lastsignal.core.aliases.error_text import unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_FILE = re.compile(r"([^/]+)-\d{9,}(?:\.\d+)?(?:-\w+)?(?:-error)?\.json$")
_FOLDER = re.compile(r"(.+)/[^/]+\.json$")


class LogEntry(msgspec.Struct):
    """The fields of an entry that are read: not what was asked, nor what was answered."""

    latency_sec: Any
    timestamp: Any
    cost: Any = None
    messages: msgspec.Raw = _ABSENT
    input: msgspec.Raw = _ABSENT
    response: msgspec.Raw = _ABSENT
    error: Any = None


class _Response(msgspec.Struct):
    id: Any = None
    model: Any = None
    usage: Any = None
    choices: Any = None
    status: Any = None


_decode = msgspec.json.Decoder(LogEntry).decode
_decode_response = msgspec.json.Decoder(_Response).decode


def recognise(value: Any) -> bool:
    """An entry: what was sent, how long it took, and the response or the error."""
    return (
        isinstance(value, dict)
        and "latency_sec" in value
        and "timestamp" in value
        and ("messages" in value or "input" in value)
        and ("response" in value or "error" in value)
    )


def call_events(data: bytes, model: str | None, **place: Any) -> list[Event]:
    """Return the start and the end of the call that an entry tells of.

    Raises:
        msgspec.ValidationError: it is no entry.
    """
    entry = _decode(data)
    response = _response_of(entry)
    model = model_of(response) or model
    ended, seconds = time_of(entry.timestamp), amount_of(entry.latency_sec)
    place |= {
        "event_type": "model_call",
        "operation": model or "model",
        "model": model,
        "call_id": text_of(response.id),
    }
    end = Event(timestamp=ended, status="completed", **place)
    error = unwrap_error(entry.error)
    if error.message and not list_of(response.choices):  # what was answered has not failed
        error.write(end)
    else:
        write_usage(end, response.usage)
        end.cost_usd = amount_of(entry.cost)
        end.finish_reason = text_of(at(response.choices, 0, "finish_reason"))
    if ended != ended or seconds is None or seconds < 0:
        return [end]
    end.duration_seconds = seconds
    return [Event(timestamp=ended - seconds, status="started", **place), end]


def model_of(response: _Response) -> str | None:
    """Return the response's model, without the proxy that it was asked through."""
    return (text_of(response.model) or "").removeprefix("litellm_proxy/") or None


def _response_of(entry: LogEntry) -> _Response:
    try:
        return _decode_response(entry.response) if bytes(entry.response) else _Response()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return _Response(id=at(mapping_of(value_of(entry.response)), "id"))


class LlmLogDecoder:
    """Decodes whole entries."""

    state = None

    def __init__(self, source: str) -> None:
        place = source.replace("\\", "/")
        folder, file = _FOLDER.match(place), _FILE.search(place)
        self._trace_id = folder[1] if folder and file else ""
        self._model = file[1].replace("__", "/").removeprefix("litellm_proxy/") if file else None

    def decode(self, record: bytes) -> Decoded:
        """Return the call's start and end; see `contract.Decoder`."""
        try:
            entry = _decode(record)
            if not (bytes(entry.messages) or bytes(entry.input)):
                raise NotThisDialect
            if not bytes(entry.response) and entry.error is None:
                raise NotThisDialect
            return call_events(record, self._model, trace_id=self._trace_id)
        except msgspec.ValidationError:
            raise NotThisDialect from None


DIALECT = Dialect(
    name="openhands_llm_log",
    framework="openhands",
    recognise=recognise,
    decoder=LlmLogDecoder,
    is_unique=True,
    description="OpenHands llm logs: messages, response or error, cost, latency_sec",
    written_by="OpenHands with `log_completions`, a file for each call",
)
