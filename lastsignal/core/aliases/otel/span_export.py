"""SDK-like spans gathered into one document, under `spans` or under `traces[].spans`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Dialect, NotThisDialect
from lastsignal.core.aliases.elements import locate
from lastsignal.core.aliases.otel import sdk
from lastsignal.core.aliases.otel.decoder import SpanDecoder
from lastsignal.core.aliases.otel.spans import Span


class _Document(msgspec.Struct):
    spans: list[msgspec.Raw] | None = None
    traces: list[msgspec.Raw] | None = None


_decode_document = msgspec.json.Decoder(_Document).decode


def recognise(value: Any) -> bool:
    """A document whose first span is one of the SDK's layout."""
    if not isinstance(value, dict):
        return False
    spans, traces = value.get("spans"), value.get("traces")
    if isinstance(traces, list) and traces and isinstance(traces[0], dict):
        spans = traces[0].get("spans")
    return isinstance(spans, list) and bool(spans) and sdk.recognise(spans[0])


def _read(record: bytes) -> list[Span]:
    spans = list(_spans(record, 0, depth=0))
    if not spans:
        raise NotThisDialect
    return spans


def _spans(data: bytes, base: int, depth: int) -> Iterator[Span]:
    try:
        document = _decode_document(data)
    except msgspec.ValidationError:
        return
    for offset, element in locate(data, document.spans or (), base):
        span = sdk.read_span(element, offset)
        if span is not None:
            yield span
    if depth == 0:
        for offset, element in locate(data, document.traces or (), base):
            yield from _spans(element, offset, depth=1)


DIALECT = Dialect(
    name="otel_span_export",
    framework="opentelemetry",
    recognise=recognise,
    decoder=lambda source: SpanDecoder(_read),
    description="A document that gathers SDK-like spans under `spans`, or under `traces`",
    written_by="programs that gather an SDK's spans and write them at the end",
)
