"""LiteLLM's own log with `JSON_LOGS=true`: `{message, level, timestamp}`.

Most lines are chatter. Told nowhere else: that a request is tried again, and a LiteLLM exception
that reached the log as an error.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import error_in_text
from lastsignal.core.aliases.fields import text_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})
_ERRORS = frozenset({"ERROR", "CRITICAL"})
_EVENT_KEYS = frozenset({"event_type", "type", "event", "kind", "event_name", "action"})
_RETRY = re.compile(r"Retrying request to (\S{1,200}) in (\d{1,6}(?:\.\d{1,9})?) seconds")
_EXCEPTION = re.compile(r"\blitellm\.(?:exceptions\.)?([A-Z]\w*): ")
_MODEL = re.compile(r"\bmodel=([\w./:@-]{1,200})")
_SAME_SECONDS = 2.0
"""One failure is logged on its way up, several times in a row."""


class _Line(msgspec.Struct, gc=False):
    message: str
    level: str
    timestamp: Any = None
    trace_id: Any = None
    session_id: Any = None


class AppLogState(msgspec.Struct):
    """The failure logged last."""

    message: str = ""
    at: float = 0.0


_decode = msgspec.json.Decoder(_Line).decode


def recognise(value: Any) -> bool:
    """A log line: message, level and time, and no name of an event."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("message"), str)
        and isinstance(value.get("level"), str)
        and value["level"] in _LEVELS
        and isinstance(value.get("timestamp"), str)
        and _EVENT_KEYS.isdisjoint(value)
    )


class AppLogDecoder:
    """Decodes the log of one process."""

    def __init__(self, source: str) -> None:
        self.state = AppLogState()

    def decode(self, record: bytes) -> Decoded:
        """Return the retry or the failure that a line tells of; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if line.level not in _LEVELS:
            raise NotThisDialect
        retry = _RETRY.match(line.message)
        if retry is not None:
            event = _event(line, event_type="retry", status="started")
            event.operation = retry[1]
            event.metadata = {"delay_seconds": float(retry[2])}
            return [event]
        found = _EXCEPTION.search(line.message) if line.level in _ERRORS else None
        if found is None:
            return Drop("log_line")
        return self._failure(line, found)

    def _failure(self, line: _Line, found: re.Match[str]) -> Decoded:
        error = error_in_text(line.message[found.start() :])
        event = _event(line, event_type="model_call", status="failed")
        model = _MODEL.search(line.message)
        event.model = model[1] if model else None
        event.operation = event.model or "model"
        event.error_message, event.error_type = error.message, found[1]
        event.http_status = provider_error(error.message).http_status
        state = self.state
        is_same = state.message == (error.message or "") and (
            not event.timestamp > state.at + _SAME_SECONDS
        )
        state.message = error.message or ""
        state.at = event.timestamp if event.timestamp == event.timestamp else state.at
        return Drop("repeated_error") if is_same else [event]


def _event(line: _Line, **fields: Any) -> Event:
    timestamp = time_of(line.timestamp)
    return Event(
        timestamp=timestamp,
        trace_id=text_of(line.trace_id) or text_of(line.session_id) or "",
        **fields,
    )


DIALECT = Dialect(
    name="litellm_app_log",
    framework="litellm",
    recognise=recognise,
    decoder=AppLogDecoder,
    is_unique=True,
    description="LiteLLM's log with JSON_LOGS=true: message, level, timestamp",
    written_by="LiteLLM's proxy with `json_logs: true`, to stderr",
)
