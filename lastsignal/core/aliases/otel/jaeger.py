"""Jaeger's query JSON: `{"data": [{"traceID", "spans": [...]}]}`, or one such trace alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import locate
from lastsignal.core.aliases.fields import amount_of, at, text_of
from lastsignal.core.aliases.otel.attributes import read_tags
from lastsignal.core.aliases.otel.decoder import SpanDecoder
from lastsignal.core.aliases.otel.semantics import EVENT_READS, READS
from lastsignal.core.aliases.otel.spans import (
    Span,
    SpanEvent,
    SpanStatus,
    anonymous_id,
    normalise_id,
    span_kind,
    span_status,
    span_time,
    untimed_by,
)

_ABSENT = msgspec.Raw(b"")
_STATUS_TAGS = frozenset(
    {"otel.status_code", "otel.status_description", "error", "span.kind", "otel.scope.name"}
    | {"otel.library.name"}  # what the scope was called before 2022
)
_EVENT_NAME = frozenset({"event"})


class _Document(msgspec.Struct):
    data: list[msgspec.Raw] | None = None
    spans: list[msgspec.Raw] | None = None


class _Span(msgspec.Struct):
    traceID: Any = None
    spanID: Any = None
    parentSpanID: Any = None
    operationName: Any = None
    references: Any = None
    startTime: Any = None
    duration: Any = None
    tags: msgspec.Raw = _ABSENT
    logs: msgspec.Raw = _ABSENT


class _Log(msgspec.Struct):
    fields: msgspec.Raw = _ABSENT


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_span = msgspec.json.Decoder(_Span).decode
_decode_logs = msgspec.json.Decoder(list[_Log]).decode


def recognise(value: Any) -> bool:
    """Traces with `traceID` and `spans` under `data`, or one of them."""
    traces = at(value, "data")
    if isinstance(traces, list):
        return bool(traces) and _is_trace(traces[0])
    return _is_trace(value)


def _is_trace(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("traceID"), str)
        and isinstance(value.get("spans"), list)
    )


def _read(record: bytes) -> list[Span] | Drop:
    if not recognise(msgspec.json.decode(record)):
        raise NotThisDialect
    return list(_spans(record, 0, depth=0)) or Drop("empty_document")


def _spans(data: bytes, base: int, depth: int) -> Iterator[Span]:
    try:
        document = _decode_document(data)
    except msgspec.ValidationError:
        return
    for offset, element in locate(data, document.spans or (), base):
        span = _span(element, offset)
        if span is not None:
            yield span
    if depth == 0:
        for offset, element in locate(data, document.data or (), base):
            yield from _spans(element, offset, depth=1)


def _span(data: bytes, offset: int) -> Span | None:
    try:
        raw = _decode_span(data)
    except msgspec.ValidationError:
        return None
    tags = read_tags(raw.tags, READS | _STATUS_TAGS)
    start = span_time(raw.startTime)
    duration = amount_of(raw.duration)
    parent = at(raw.references, 0, "spanID") if raw.references else raw.parentSpanID
    return Span(
        name=text_of(raw.operationName) or "",
        trace_id=normalise_id(raw.traceID),
        span_id=normalise_id(raw.spanID) or anonymous_id(data),
        parent_id=normalise_id(parent) or None,
        kind=span_kind(tags.get("span.kind")),
        start=start,
        untimed=untimed_by((start, raw.startTime)),
        end=None if start is None or duration is None else span_time(start + duration / 1e6),
        status=_status(tags),
        status_message=text_of(tags.get("otel.status_description")),
        attributes=tags,
        events=_events(raw.logs),
        scope=text_of(tags.get("otel.scope.name") or tags.get("otel.library.name")) or "",
        offset=offset,
    )


def _status(tags: dict[str, Any]) -> SpanStatus:
    status = span_status(tags.get("otel.status_code"))
    if status == "unset" and tags.get("error") in (True, "true"):
        return "error"
    return status


def _events(raw: msgspec.Raw) -> tuple[SpanEvent, ...]:
    try:
        logs = _decode_logs(raw) if len(bytes(raw)) > 2 else []
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ()
    return tuple(_event(log.fields) for log in logs)


def _event(fields: msgspec.Raw) -> SpanEvent:
    name = text_of(read_tags(fields, _EVENT_NAME).get("event")) or ""
    return SpanEvent(name, read_tags(fields, EVENT_READS.get(name, frozenset())))


DIALECT = Dialect(
    name="jaeger",
    framework="opentelemetry",
    recognise=recognise,
    decoder=lambda source: SpanDecoder(_read),
    description="Jaeger query JSON: traces with traceID, spans, references and processes",
    written_by="Jaeger's page of a trace (Trace JSON), or its API, /api/traces",
)
