"""OTLP in JSON: an export request a line or a file, Tempo's `batches`, camelCase or snake_case.

The specification wants hex ids and enums as numbers; programs that let protobuf write its own
JSON give base64 ids, enum names and, if told so, snake_case. All are read alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import locate
from lastsignal.core.aliases.fields import at, count_of, text_of
from lastsignal.core.aliases.otel.attributes import read_attributes, read_events
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
_REMOTE_PARENT = 0x300
"""Bits of a span's flags: whether its parent is remote is known, and it is."""
_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_LOGS = ("resourceLogs", "resource_logs")
_METRICS = ("resourceMetrics", "resource_metrics")
_SCOPES = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
)

_Elements = list[msgspec.Raw] | None


class _Request(msgspec.Struct):
    resourceSpans: _Elements = None
    resource_spans: _Elements = None
    batches: _Elements = None
    trace: msgspec.Raw = _ABSENT


class _Resource(msgspec.Struct):
    scopeSpans: _Elements = None
    scope_spans: _Elements = None
    instrumentationLibrarySpans: _Elements = None
    instrumentation_library_spans: _Elements = None


class _Scope(msgspec.Struct):
    spans: _Elements = None
    scope: Any = None
    instrumentationLibrary: Any = None
    instrumentation_library: Any = None


class _Span(msgspec.Struct):
    name: Any = None
    traceId: Any = None
    trace_id: Any = None
    spanId: Any = None
    span_id: Any = None
    parentSpanId: Any = None
    parent_span_id: Any = None
    kind: Any = None
    flags: Any = None
    startTimeUnixNano: Any = None
    start_time_unix_nano: Any = None
    endTimeUnixNano: Any = None
    end_time_unix_nano: Any = None
    status: Any = None
    attributes: msgspec.Raw = _ABSENT
    events: msgspec.Raw = _ABSENT


_decode_request = msgspec.json.Decoder(_Request).decode
_decode_resource = msgspec.json.Decoder(_Resource).decode
_decode_scope = msgspec.json.Decoder(_Scope).decode
_decode_span = msgspec.json.Decoder(_Span).decode


def recognise(value: Any) -> bool:
    """An export request for spans, logs or metrics, or Tempo's rendering of one."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), list) for key in (*_RESOURCES[:2], *_LOGS, *_METRICS)):
        return True
    batches = value.get("batches")
    if isinstance(batches, list) and batches and isinstance(batches[0], dict):
        return any(key in batches[0] for key in _SCOPES)
    return isinstance(at(value, "trace", "resourceSpans"), list)


def _read(record: bytes) -> list[Span] | Drop:
    try:
        request = _decode_request(record)
        if request.resourceSpans is None and len(request.trace):
            request = _decode_request(request.trace)
    except msgspec.ValidationError:
        request = _Request()
    resources = request.resourceSpans or request.resource_spans or request.batches
    if resources is None:
        return _without_spans(record)
    return list(_spans(record, resources)) or Drop("empty_document")


def _without_spans(record: bytes) -> Drop:
    value = msgspec.json.decode(record)
    if not recognise(value):
        raise NotThisDialect
    if any(key in value for key in _LOGS):
        return Drop("otlp_logs")
    return Drop("otlp_metrics" if any(key in value for key in _METRICS) else "empty_document")


def _spans(record: bytes, resources: Iterable[msgspec.Raw]) -> Iterator[Span]:
    for at_resource, resource in locate(record, resources):
        try:
            found = _decode_resource(resource)
        except msgspec.ValidationError:
            continue
        scopes = (
            found.scopeSpans
            or found.scope_spans
            or found.instrumentationLibrarySpans
            or found.instrumentation_library_spans
        )
        for at_scope, scope in locate(resource, scopes or (), at_resource):
            yield from _scope_spans(scope, at_scope)


def _scope_spans(data: bytes, base: int) -> Iterator[Span]:
    try:
        scope = _decode_scope(data)
    except msgspec.ValidationError:
        return
    library = scope.scope or scope.instrumentationLibrary or scope.instrumentation_library
    name = text_of(at(library, "name")) or ""
    for offset, element in locate(data, scope.spans or (), base):
        try:
            yield _span(element, name, offset)
        except msgspec.ValidationError:
            continue


def _span(data: bytes, scope: str, offset: int) -> Span:
    raw = _decode_span(data)
    status = raw.status
    begun = raw.startTimeUnixNano or raw.start_time_unix_nano
    ended = raw.endTimeUnixNano or raw.end_time_unix_nano
    start, end = span_time(begun), span_time(ended)
    return Span(
        name=text_of(raw.name) or "",
        trace_id=normalise_id(raw.traceId or raw.trace_id),
        span_id=normalise_id(raw.spanId or raw.span_id) or anonymous_id(data),
        parent_id=normalise_id(raw.parentSpanId or raw.parent_span_id) or None,
        kind=span_kind(raw.kind),
        has_remote_parent=(count_of(raw.flags) or 0) & _REMOTE_PARENT == _REMOTE_PARENT,
        start=start,
        end=end,
        untimed=untimed_by((start, begun), (end, ended)),
        status=span_status(at(status, "code")),
        status_message=text_of(at(status, "message")),
        attributes=read_attributes(raw.attributes, READS),
        events=read_events(raw.events, EVENT_READS),
        scope=scope,
        offset=offset,
    )


DIALECT = Dialect(
    name="otlp",
    framework="opentelemetry",
    recognise=recognise,
    decoder=lambda source: SpanDecoder(_read),
    disorder_seconds=5.0,  # the batch processor's default export interval
    description="OTLP in JSON: resourceSpans (any casing, hex or base64 ids) or Tempo's batches",
    written_by="the OpenTelemetry Collector's `file` exporter; Tempo's API, /api/traces/ID",
)
