"""Flat records of custom loops: the native schema with every alias that is in use.

A record is taken when it names what happened: an event type that is known by some name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import http_status_of, unwrap_error
from lastsignal.core.aliases.fields import (
    amount_of,
    attempt_of,
    code_name_of,
    count_of,
    error_class_of,
    label_of,
    text_of,
)
from lastsignal.core.aliases.flat_doubts import (
    answers_call,
    looks_flat,
    says_what_crashed,
)
from lastsignal.core.aliases.flat_limits import read_limit
from lastsignal.core.aliases.flat_table import DEFAULT_TABLE, AliasTable, Happened
from lastsignal.core.aliases.flat_totals import Total, price_of
from lastsignal.core.aliases.flat_verdict import ENDS, LEVELS, speaks_ill, speaks_well, verdict_of
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import EVENT_TYPES, UNTIMED, Event, EventType, Status

_MAX_SHAPES = 64
"""Records with free names would fill any memory; the first ones show what else is in a source."""

_PRINTED = frozenset({"arguments_hash", "error_class", "framework"})
"""What only events have that were printed by `normalize`: read by the same names."""

_PRICED = frozenset({"model_call", "tool_result"})
_WHY = ("detail", "details", "reason", "description")
_SAID = ("content", "message", "msg")
"""Where the text of a failure stands beside a word, a level or a flag that only says it is one."""

_decode = msgspec.json.Decoder().decode


def recogniser(table: AliasTable) -> Callable[[Any], bool]:
    """Return the predicate of records whose event type a table knows."""

    def recognise(value: Any) -> bool:
        """A JSON object that names what happened by any alias, and has something more to say."""
        return isinstance(value, dict) and len(value) > 1 and table.event_type(value) is not None

    return recognise


class Shapes(msgspec.Struct):
    """Which kinds of records of a source were found to be flat ones, and what they add up."""

    known: list[int] = msgspec.field(default_factory=list)
    """Checksums of their names and of what they tell; at most `_MAX_SHAPES`."""
    totals: dict[str, Total] = msgspec.field(default_factory=dict)
    """Of each run what was told of its cost so far; see `flat_totals`."""


class FlatDecoder:
    """Decodes one flat record into one event.

    Args:
        source: not needed: a flat record says all by itself.
        table: which names mean what.
        ours: whether it reads what has an event type of our schema, or what has none.
    """

    def __init__(
        self, source: str, table: AliasTable = DEFAULT_TABLE, *, ours: bool = False
    ) -> None:
        self.state = Shapes()
        self._ours = ours
        self._table = table
        self._mapped = table.mapped | _PRINTED

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        return self._take(*self._read(record))

    def among_others(self, record: bytes, is_mixed: bool) -> Decoded:
        """Return what `decode` does of what is no other layout's; see `contract.Wary`."""
        value, named = self._read(record)
        if DEFAULT_TABLE.event_type(value) != named:
            return self._take(value, named)  # a word that a user has given is no chance
        is_doubted = is_mixed or (named is not None and self._is_only_called_crash(value, named))
        if is_doubted and not looks_flat(value, self._table):
            raise NotThisDialect
        is_called_crash = is_mixed and named is not None and named[0] == "process_error"
        if is_called_crash and answers_call(value, self._table):
            raise NotThisDialect
        return self._take(value, named)

    def again(self, record: bytes) -> Decoded:
        """Return what `decode` does for a kind of record that was seen; see `contract.General`."""
        value, named = self._read(record)
        known = self.state.known
        if _shape(value, named) not in known:
            is_ours = value.get("event_type") in EVENT_TYPES
            if len(known) < _MAX_SHAPES or (named is not None and is_ours is not self._ours):
                raise NotThisDialect
        return self.tell(value, named) if named else Drop("unknown_event_type")

    def _take(self, value: dict[str, Any], named: Happened | None) -> Decoded:
        """Return a record's event, and know records of its kind from here on."""
        known, shape = self.state.known, _shape(value, named)
        if shape not in known and len(known) < _MAX_SHAPES:
            known.append(shape)
        return self.tell(value, named) if named else Drop("unknown_event_type")

    def tell(self, record: dict[str, Any], named: Happened) -> list[Event]:
        """Return what a record says, beside those before it, once it is known what happened."""
        event = self.event_of(record, *named)
        if event.cost_usd is not None and event.event_type in _PRICED:
            total = self._table.total(record)
            if total is not None:
                event.cost_usd = price_of(self.state.totals, event.trace_id, total)
        return [event]

    def _read(self, record: bytes) -> tuple[dict[str, Any], Happened | None]:
        value = _decode(record)
        if not isinstance(value, dict):
            raise NotThisDialect
        named = self._table.event_type(value)
        if named is None and not isinstance(value.get("event_type"), str):
            raise NotThisDialect
        return value, named

    def event_of(
        self, record: dict[str, Any], event_type: EventType, implied: Status | None
    ) -> Event:
        """Return a record's event, once it is known what happened."""
        find, read = self._table.find, self._table.read
        error = unwrap_error(find(record, "error_message"))
        timestamp = self._table.timestamp(record)
        event = Event(
            timestamp=UNTIMED if timestamp is None else timestamp,
            trace_id=read(record, "trace_id", text_of) or "",
            event_type=event_type,
            operation=read(record, "operation", label_of),
            error_message=error.message,
            attempt=read(record, "attempt", attempt_of),
            metadata=self._metadata(record),
            agent=read(record, "agent", text_of),
            call_id=read(record, "call_id", text_of),
            parent_id=read(record, "parent_id", text_of),
            http_status=read(record, "http_status", http_status_of) or error.http_status,
            error_type=read(record, "error_type", text_of)
            or error.type
            or read(record, "http_status", code_name_of),
            model=read(record, "model", text_of),
            input_tokens=read(record, "input_tokens", count_of),
            output_tokens=read(record, "output_tokens", count_of),
            cost_usd=read(record, "cost_usd", amount_of),
            duration_seconds=self._duration(record),
            finish_reason=read(record, "finish_reason", text_of),
            arguments_hash=text_of(record.get("arguments_hash"))
            or hash_arguments(find(record, "arguments")),
            error_class=error_class_of(record.get("error_class")),
            framework=text_of(record.get("framework")),
        )
        if timestamp is None and find(record, "timestamp") is not None:
            event.timestamp_source = "inherited"  # what the record says is no time
        self._judge(event, record, implied)
        if event_type == "audit":
            read_limit(event, record, implied, self._table)
        return event

    def _judge(self, event: Event, record: Mapping[str, Any], implied: Status | None) -> None:
        """Settle status and error: a status word, the event's own word, what the output says."""
        word = self._table.status(record)
        if word is None and event.http_status is None:
            event.http_status = http_status_of(record.get("status"))
        status = verdict_of(record, word, event)
        if (
            event.event_type == "tool_result"
            and status in (None, "completed")
            and not event.error_message
        ):
            hidden = failure_in_output(
                self._table.find(record, "output"),
                is_said_ok=status == "completed" or speaks_well(record),
            )
            if hidden is not None:
                status = "failed"
                event.error_message = hidden.message
                event.http_status = event.http_status or hidden.http_status
                event.error_type = event.error_type or hidden.type
        if status is None:
            status = "failed" if event.error_message else implied
        elif status == "failed" and _is_timeout(self._table.find(record, "status")):
            event.error_type = event.error_type or "timeout"
        elif status == "completed" and implied == "failed":
            status = implied
        event.status = status
        if event.event_type == "process_error" and not _is_borne_out(event, record, word, implied):
            event.event_type = "agent_end"  # it has failed: more is not known
            event.status = implied or status
        if status == "failed" and not event.error_message and event.event_type in ENDS:
            self._read_reason(event, record)
        if event.event_type == "model_call":
            event.operation = event.operation or event.model
        if status == "completed" or (status == "started" and event.event_type != "retry"):
            event.error_message = None

    def _read_reason(self, event: Event, record: Mapping[str, Any]) -> None:
        """Of a call that is said to have failed, what it has answered is what went wrong.

        The text of a run's end is its answer, unless a level says that it is logged as an error.
        """
        texts = [record.get(name) for name in _WHY]
        if event.event_type == "tool_result":
            texts.append(self._table.find(record, "output"))
        if event.event_type != "agent_end" or speaks_ill(record, LEVELS):
            texts += [record.get(name) for name in _SAID]
        text = next((one for one in texts if isinstance(one, str) and one.strip()), None)
        if text is not None:
            error = unwrap_error(text)
            event.error_message = error.message
            event.error_type = event.error_type or error.type

    def _is_only_called_crash(self, record: dict[str, Any], named: Happened) -> bool:
        """Whether one word is all that tells of a crash."""
        is_called = named[0] == "process_error"
        return is_called and self.event_of(record, *named).event_type != "process_error"

    def _duration(self, record: Mapping[str, Any]) -> float | None:
        seconds = self._table.read(record, "duration_seconds", amount_of)
        if seconds is None:
            milliseconds = self._table.read(record, "duration_ms", amount_of)
            seconds = None if milliseconds is None else milliseconds / 1000.0
        return seconds

    def _metadata(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Everything without a field of its own: kept, so that a rule of the user's can read it.

        What is null says nothing, and reads like what is not there.
        """
        metadata = record.get("metadata")
        rest = {
            key: value
            for key, value in record.items()
            if value is not None and key not in self._mapped and key != "metadata"
        }
        return {**rest, **metadata} if isinstance(metadata, dict) else rest


def _is_borne_out(
    event: Event, record: Mapping[str, Any], word: Status | None, implied: Status | None
) -> bool:
    """Whether more than one word tells of a crash.

    The word of our own schema, and one that a user has given, is enough where none denies it.
    """
    if says_what_crashed(event, record):
        return True
    is_given = DEFAULT_TABLE.event_type(record) != (event.event_type, implied)
    is_enough = is_given or record.get("event_type") == "process_error"
    return word in ("failed", "aborted") or (is_enough and word != "completed")


def _is_timeout(word: object) -> bool:
    return isinstance(word, str) and word.lower().replace("_", "") in ("timeout", "timedout")


def _shape(record: Mapping[str, Any], named: Happened | None) -> int:
    happened = named[0] if named else ""
    is_ours = record.get("event_type") == happened  # else it may be of another dialect
    return crc32("\n".join((happened, str(is_ours), *record)).encode("utf-8", "replace"))


DIALECT = Dialect(
    name="flat",
    framework="custom",
    recognise=recogniser(DEFAULT_TABLE),
    decoder=FlatDecoder,
    description="One flat object a line that names an event type by any known alias",
    written_by="agents of your own that log JSON: structlog, pino, logging with a JSON formatter",
)
