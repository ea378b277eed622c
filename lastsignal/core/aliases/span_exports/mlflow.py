"""MLflow's traces: `Trace.to_json`, and the artifact `traces.json`, which holds the spans alone.

Spans are OpenTelemetry's, but an attribute's value is JSON inside a text, and a type of MLflow's
own says what the span was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.fields import at, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.otel import semantics
from lastsignal.core.aliases.otel.attributes import read_attributes, read_events
from lastsignal.core.aliases.otel.decoder import SpanDecoder
from lastsignal.core.aliases.otel.readings import Kind, Reading, count, number, text
from lastsignal.core.aliases.otel.spans import (
    Span,
    anonymous_id,
    normalise_id,
    span_status,
    span_time,
    untimed_by,
)

_ABSENT = msgspec.Raw(b"")
_KINDS: dict[str, Kind] = {
    "AGENT": "agent",
    "CHAT_MODEL": "model",
    "EMBEDDING": "model",
    "GUARDRAIL": "audit",
    "LLM": "model",
    "RERANKER": "model",
    "RETRIEVER": "tool",
    "TOOL": "tool",
}
_USAGE = "mlflow.chat.tokenUsage"
_COST = "mlflow.llm.cost"
_READS = frozenset(
    {"mlflow.llm.model", "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.spanType"}
    | {"mlflow.traceRequestId", _COST, _USAGE}
    | semantics.READS
)


class _Document(msgspec.Struct):
    info: Any = None
    data: msgspec.Raw = _ABSENT
    spans: msgspec.Raw = _ABSENT


class _Data(msgspec.Struct):
    spans: msgspec.Raw = _ABSENT


class _Span(msgspec.Struct):
    name: Any = None
    trace_id: Any = None
    span_id: Any = None
    parent_span_id: Any = None
    parent_id: Any = None
    context: Any = None
    start_time_unix_nano: Any = None
    end_time_unix_nano: Any = None
    start_time: Any = None
    end_time: Any = None
    status: Any = None
    status_code: Any = None
    status_message: Any = None
    attributes: msgspec.Raw = _ABSENT
    events: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Document).decode
_decode_data = msgspec.json.Decoder(_Data).decode
_decode_span = msgspec.json.Decoder(_Span).decode
_decode_text = msgspec.json.Decoder().decode


def recognise(value: Any) -> bool:
    """A trace with its info, or a document of spans that name MLflow's attributes."""
    if not isinstance(value, dict):
        return False
    spans = at(value, "data", "spans")
    info = value.get("info")
    if isinstance(spans, list) and isinstance(info, dict):
        return "trace_id" in info or "request_id" in info
    return _is_span(at(value, "spans", 0))


def _is_span(value: object) -> bool:
    attributes = at(value, "attributes")
    return isinstance(attributes, dict) and any(key.startswith("mlflow.") for key in attributes)


def _read(record: bytes) -> list[Span] | Drop:
    try:
        document = _decode(record)
        data = _decode_data(document.data) if bytes(document.data)[:1] == b"{" else _Data()
    except msgspec.ValidationError:
        raise NotThisDialect from None
    info = mapping_of(document.info)
    trace = text_of(info.get("trace_id")) or text_of(info.get("request_id")) or ""
    if ("trace_id" in info or "request_id" in info) and bytes(data.spans)[:1] == b"[":
        elements = elements_of(record, data.spans)
    else:
        elements = elements_of(record, document.spans)
        if not elements or not _is_span(value_of(elements[0][1])):
            raise NotThisDialect
    spans = [span for offset, part in elements if (span := _span(part, offset, trace)) is not None]
    return spans or Drop("empty_document")


def _span(data: bytes, offset: int, trace: str) -> Span | None:
    try:
        raw = _decode_span(data)
    except msgspec.ValidationError:
        return None
    attributes = _unwrapped(read_attributes(raw.attributes, _READS))
    named = trace or text_of(attributes.get("mlflow.traceRequestId"))
    own = normalise_id(raw.trace_id or at(raw.context, "trace_id"))
    begun = raw.start_time_unix_nano or raw.start_time
    ended = raw.end_time_unix_nano or raw.end_time
    start, end = span_time(begun), span_time(ended)
    return Span(
        name=text_of(raw.name) or "",
        trace_id=named or own,
        span_id=normalise_id(raw.span_id or at(raw.context, "span_id")) or anonymous_id(data),
        parent_id=normalise_id(raw.parent_span_id or raw.parent_id) or None,
        start=start,
        end=end,
        untimed=untimed_by((start, begun), (end, ended)),
        status=span_status(at(raw.status, "code") or raw.status_code),
        status_message=text_of(at(raw.status, "message")) or text_of(raw.status_message),
        attributes=attributes,
        events=read_events(raw.events, semantics.EVENT_READS),
        offset=offset,
    )


def _unwrapped(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Take the JSON out of the texts; what is no JSON stands as it is."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        found[name] = value
        if isinstance(value, str):
            try:
                found[name] = _decode_text(value)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                continue
    return found


def interpret(span: Span) -> Reading:
    """Return what a span was by MLflow's own type, or by what other conventions say of it."""
    attributes = span.attributes
    named = text(attributes, "mlflow.spanType")
    kind = _KINDS.get((named or "").upper())
    if kind is None:
        other = semantics.read(span)
        if other.kind != "other":
            return other
        return Reading(kind="chain", operation=span.name, framework="mlflow")
    usage, cost = mapping_of(attributes.get(_USAGE)), mapping_of(attributes.get(_COST))
    model = text(attributes, "mlflow.llm.model") if kind == "model" else None
    is_tool = (named or "").upper() == "TOOL"  # what a retriever finds is content
    return Reading(
        kind=kind,
        operation="guardrail" if kind == "audit" else model or span.name,
        agent=span.name if kind == "agent" else None,
        model=model,
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cost_usd=number(cost, "total_cost"),
        arguments=attributes.get("mlflow.spanInputs") if kind == "tool" else None,
        output=attributes.get("mlflow.spanOutputs") if is_tool else None,
        status="failed" if kind == "audit" and span.status == "error" else None,
        repeats=True,  # attempts at one request are spans beside one another
        framework="mlflow",
    )


DIALECT = Dialect(
    name="mlflow_trace",
    framework="mlflow",
    recognise=recognise,
    decoder=lambda source: SpanDecoder(_read, interpret),
    description="MLflow traces: info and data.spans, or the artifact's spans with mlflow.spanType",
    written_by="MLflow's `trace.to_json()`; a trace's artifact, traces.json",
)
