"""Spans as the Python SDK prints them (`ReadableSpan.to_json`): one object a span.

Compact or pretty-printed makes no difference here, for framing cuts the objects apart. Copies of
this layout by hand differ in details: ids at the top, times as nanoseconds, no `0x`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Dialect, NotThisDialect
from lastsignal.core.aliases.fields import at, text_of
from lastsignal.core.aliases.otel.attributes import first_byte, read_attributes, read_events
from lastsignal.core.aliases.otel.decoder import SpanDecoder
from lastsignal.core.aliases.otel.semantics import EVENT_READS, READS
from lastsignal.core.aliases.otel.spans import (
    Span,
    anonymous_id,
    normalise_id,
    span_kind,
    span_status,
    span_time,
    untimed_by,
)

_ABSENT = msgspec.Raw(b"")


class _Span(msgspec.Struct):
    name: Any = None
    context: Any = None
    trace_id: Any = None
    span_id: Any = None
    parent_id: Any = None
    parent_span_id: Any = None
    kind: Any = None
    start_time: Any = None
    end_time: Any = None
    status: Any = None
    status_message: Any = None
    attributes: msgspec.Raw = _ABSENT
    events: msgspec.Raw = _ABSENT


_decode_span = msgspec.json.Decoder(_Span).decode


def recognise(value: Any) -> bool:
    """An object with a name, a start, and both ids: in a context, or beside its attributes."""
    if not isinstance(value, dict) or "start_time" not in value:
        return False
    attributes = isinstance(value.get("attributes"), dict)
    return _is_span(value.get("name"), value.get("context"), value, attributes)


def _is_span(name: Any, context: Any, ids: Any, attributes: bool) -> bool:
    if not isinstance(name, str):
        return False
    if isinstance(context, dict):
        ids = context
    elif not attributes:
        return False
    return isinstance(at(ids, "trace_id"), str) and isinstance(at(ids, "span_id"), str)


def read_span(data: bytes, offset: int = 0) -> Span | None:
    """Return one span of this layout; None where the bytes hold something else."""
    try:
        raw = _decode_span(data)
    except msgspec.ValidationError:
        return None
    flat = {"trace_id": raw.trace_id, "span_id": raw.span_id}
    if not _is_span(raw.name, raw.context, flat, first_byte(raw.attributes) == b"{"):
        return None
    status, message = raw.status, raw.status_message
    if isinstance(status, dict):
        message = status.get("description") or status.get("message")
        status = status.get("status_code", status.get("code"))
    start, end = span_time(raw.start_time), span_time(raw.end_time)
    return Span(
        name=raw.name,
        trace_id=normalise_id(at(raw.context, "trace_id") or raw.trace_id),
        span_id=normalise_id(at(raw.context, "span_id") or raw.span_id) or anonymous_id(data),
        parent_id=normalise_id(raw.parent_id or raw.parent_span_id) or None,
        kind=span_kind(raw.kind),
        start=start,
        end=end,
        untimed=untimed_by((start, raw.start_time), (end, raw.end_time)),
        status=span_status(status),
        status_message=text_of(message),
        attributes=read_attributes(raw.attributes, READS),
        events=read_events(raw.events, EVENT_READS),
        offset=offset,
    )


def _read(record: bytes) -> list[Span]:
    span = read_span(record)
    if span is None:
        raise NotThisDialect
    return [span]


DIALECT = Dialect(
    name="otel_sdk",
    framework="opentelemetry",
    recognise=recognise,
    decoder=lambda source: SpanDecoder(_read),
    disorder_seconds=5.0,  # the batch processor's default export interval
    description="OpenTelemetry spans as the Python SDK prints them: one object with a context",
    written_by="OpenTelemetry's ConsoleSpanExporter for Python, with `out` a file",
)
