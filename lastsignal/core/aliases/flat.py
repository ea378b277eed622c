"""Flat records of custom loops: the native schema with every alias that is in use.

A record is taken when it names what happened: an event type that is known by some name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import http_status_of, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, attempt_of, count_of, status_of, text_of
from lastsignal.core.aliases.flat_words import ALIASES, EVENT_WORDS
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import UNTIMED, Event, EventType, Status
from lastsignal.core.timestamps import parse_timestamp

_decode = msgspec.json.Decoder().decode
_MAPPED = frozenset(name for names in ALIASES.values() for name in names)


@dataclass(frozen=True, slots=True)
class AliasTable:
    """Which names mean what; the built-in table plus what a configuration adds."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: ALIASES)
    event_words: Mapping[str, tuple[EventType, Status | None]] = field(
        default_factory=lambda: EVENT_WORDS
    )

    def find(self, record: Mapping[str, Any], name: str) -> Any:
        """Return the first non-empty value among the names of a field."""
        for alias in self.fields[name]:
            value = record.get(alias)
            if value is None and "." in alias:
                value = at(record, *alias.split("."))
            if value is not None and value != "":
                return value
        return None

    def event_type(self, record: Mapping[str, Any]) -> tuple[EventType, Status | None] | None:
        """Return what happened, None where no alias names a known event type."""
        for alias in self.fields["event_type"]:
            value = record.get(alias)
            if isinstance(value, str):
                known = self.event_words.get(
                    value.strip().lower().replace(".", "_").replace("-", "_").replace(" ", "_")
                )
                if known is not None:
                    return known
        return None


DEFAULT_TABLE = AliasTable()


def recognise(value: Any) -> bool:
    """A JSON object that names an event type by any alias, and that has something more to say."""
    return (
        isinstance(value, dict) and len(value) > 1 and DEFAULT_TABLE.event_type(value) is not None
    )


class FlatDecoder:
    """Decodes one flat record into one event."""

    state = None

    def __init__(self, source: str, table: AliasTable = DEFAULT_TABLE) -> None:
        self._table = table

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        value = _decode(record)
        if not isinstance(value, dict):
            raise NotThisDialect
        named = self._table.event_type(value)
        if named is None:
            if isinstance(value.get("event_type"), str):
                return Drop("unknown_event_type")
            raise NotThisDialect
        return [self._event(value, *named)]

    def _event(
        self, record: dict[str, Any], event_type: EventType, implied: Status | None
    ) -> Event:
        find = self._table.find
        error = unwrap_error(find(record, "error_message"))
        timestamp = parse_timestamp(find(record, "timestamp"))
        event = Event(
            timestamp=UNTIMED if timestamp is None else timestamp,
            trace_id=text_of(find(record, "trace_id")) or "",
            event_type=event_type,
            operation=text_of(find(record, "operation")),
            error_message=error.message,
            attempt=attempt_of(find(record, "attempt")),
            metadata=self._metadata(record),
            agent=text_of(find(record, "agent")),
            call_id=text_of(find(record, "call_id")),
            parent_id=text_of(find(record, "parent_id")),
            http_status=http_status_of(find(record, "http_status")) or error.http_status,
            error_type=text_of(find(record, "error_type")) or error.type,
            model=text_of(find(record, "model")),
            input_tokens=count_of(find(record, "input_tokens")),
            output_tokens=count_of(find(record, "output_tokens")),
            cost_usd=amount_of(find(record, "cost_usd")),
            duration_seconds=self._duration(record),
            finish_reason=text_of(find(record, "finish_reason")),
            arguments_hash=hash_arguments(find(record, "arguments")),
        )
        self._judge(event, record, implied)
        return event

    def _judge(self, event: Event, record: Mapping[str, Any], implied: Status | None) -> None:
        """Settle status and error: a status word, the event's own word, what the output says."""
        status = status_of(self._table.find(record, "status"))
        if status is None and event.http_status is None:
            event.http_status = http_status_of(record.get("status"))
        if (
            event.event_type == "tool_result"
            and status in (None, "completed")
            and not event.error_message
        ):
            hidden = failure_in_output(self._table.find(record, "output"))
            if hidden is not None:
                status = "failed"
                event.error_message = hidden.message
                event.http_status = event.http_status or hidden.http_status
                event.error_type = event.error_type or hidden.type
        if status is None:
            status = "failed" if event.error_message else implied
        elif status == "completed" and implied == "failed":
            status = implied
        event.status = status
        if event.event_type == "model_call":
            event.operation = event.operation or event.model
        if status == "completed" or (status == "started" and event.event_type != "retry"):
            event.error_message = None

    def _duration(self, record: Mapping[str, Any]) -> float | None:
        seconds = amount_of(self._table.find(record, "duration_seconds"))
        if seconds is None:
            milliseconds = amount_of(self._table.find(record, "duration_ms"))
            seconds = None if milliseconds is None else milliseconds / 1000.0
        return seconds

    @staticmethod
    def _metadata(record: Mapping[str, Any]) -> dict[str, Any]:
        """Everything without a field of its own: kept, so that a rule of the user's can read it."""
        metadata = record.get("metadata")
        rest = {
            key: value for key, value in record.items() if key not in _MAPPED and key != "metadata"
        }
        return {**rest, **metadata} if isinstance(metadata, dict) else rest


DIALECT = Dialect(
    name="flat",
    framework="custom",
    recognise=recognise,
    decoder=FlatDecoder,
    description="One flat object a line that names an event type by any known alias",
)
