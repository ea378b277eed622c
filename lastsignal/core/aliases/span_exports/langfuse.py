"""Langfuse's exports: a trace with its observations, a page of observations, or one alone.

An observation is a span: its type says what it was, its level whether it failed. What came in by
OpenTelemetry keeps those attributes in the metadata, and they say more. Clients that know no type
TOOL write plain SPANs: one is a tool's call where its attributes, or the message that it returned,
say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.langchain.messages import plain, tool_failure
from lastsignal.core.aliases.otel import semantics
from lastsignal.core.aliases.otel.attributes import read_attributes
from lastsignal.core.aliases.otel.decoder import SpanDecoder
from lastsignal.core.aliases.otel.readings import Kind, Reading
from lastsignal.core.aliases.otel.spans import Span, anonymous_id, span_time, untimed_by
from lastsignal.core.events import Status

_ABSENT = msgspec.Raw(b"")
_KINDS: dict[str, Kind] = {
    "AGENT": "agent",
    "EMBEDDING": "model",
    "GENERATION": "model",
    "GUARDRAIL": "audit",
    "RETRIEVER": "tool",
    "TOOL": "tool",
}
_TYPES = frozenset({*_KINDS, "CHAIN", "EVALUATOR", "EVENT", "SPAN"})
_OWN = "langfuse"
"""The attribute under which an observation's own fields are kept for `interpret`."""


class _Document(msgspec.Struct):
    trace: Any = None
    observations: msgspec.Raw = _ABSENT
    timestamp: msgspec.Raw = _ABSENT
    data: msgspec.Raw = _ABSENT
    meta: Any = None


class _Observation(msgspec.Struct):
    id: Any = None
    traceId: Any = msgspec.UNSET
    type: Any = None
    name: Any = None
    parentObservationId: Any = None
    startTime: Any = msgspec.UNSET
    endTime: Any = None
    level: Any = None
    statusMessage: Any = None
    model: Any = None
    usage: Any = None
    usageDetails: Any = None
    costDetails: Any = None
    totalCost: Any = None
    calculatedTotalCost: Any = None
    completionStartTime: Any = None
    input: msgspec.Raw = _ABSENT
    output: msgspec.Raw = _ABSENT
    metadata: msgspec.Raw = _ABSENT


class _Metadata(msgspec.Struct):
    attributes: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Document).decode
_decode_observation = msgspec.json.Decoder(_Observation).decode
_decode_metadata = msgspec.json.Decoder(_Metadata).decode


def recognise(value: Any) -> bool:
    """A trace beside or around its observations, a page of them, or an observation."""
    if not isinstance(value, dict):
        return False
    observations = value.get("observations")
    if isinstance(observations, list):
        is_trace = isinstance(value.get("trace"), dict) or "timestamp" in value
        return _is_observation(observations[0]) if observations else is_trace
    page = value.get("data")
    if isinstance(page, list) and isinstance(value.get("meta"), dict):
        return _is_observation(at(page, 0))
    return _is_observation(value)


def _is_observation(value: object) -> bool:
    kind = at(value, "type")
    return (
        isinstance(kind, str)
        and kind in _TYPES
        and isinstance(value, dict)
        and "traceId" in value
        and "startTime" in value
    )


def _read(record: bytes) -> list[Span] | Drop:
    try:
        document = _decode(record)
    except msgspec.ValidationError:
        raise NotThisDialect from None
    elements = [(0, record)]
    if bytes(document.observations)[:1] == b"[":
        elements = elements_of(record, document.observations)
        if not elements and (isinstance(document.trace, dict) or bytes(document.timestamp)):
            return Drop("empty_document")
    elif bytes(document.data)[:1] == b"[" and isinstance(document.meta, dict):
        elements = elements_of(record, document.data)
    if not elements or _span(elements[0][1], 0) is None:
        raise NotThisDialect
    return [span for offset, data in elements if (span := _span(data, offset)) is not None]


def _span(data: bytes, offset: int) -> Span | None:
    try:
        raw = _decode_observation(data)
    except msgspec.ValidationError:
        return None
    is_named = isinstance(raw.type, str) and raw.type in _TYPES
    if not is_named or raw.traceId is msgspec.UNSET or raw.startTime is msgspec.UNSET:
        return None
    start, end = span_time(raw.startTime), span_time(raw.endTime)
    if end is None and start is not None and _has_answered(raw):
        end = span_time(raw.completionStartTime) or start  # the client never noted the end
    attributes = read_attributes(_attributes_of(raw.metadata), semantics.READS)
    return Span(
        name=text_of(raw.name) or "",
        trace_id=text_of(raw.traceId) or "",
        span_id=text_of(raw.id) or anonymous_id(data),
        parent_id=text_of(raw.parentObservationId),
        start=start,
        end=end,
        untimed=untimed_by((start, raw.startTime), (end, raw.endTime)),
        status="error" if raw.level == "ERROR" else "unset",
        status_message=text_of(raw.statusMessage),
        attributes={**attributes, _OWN: raw},
        offset=offset,
    )


def _has_answered(raw: _Observation) -> bool:
    return bytes(raw.output) not in (b"", b"null") or bool(count_of(at(raw.usageDetails, "output")))


def _attributes_of(metadata: msgspec.Raw) -> msgspec.Raw:
    """Return OpenTelemetry's attributes in an observation's metadata, JSON or JSON in a text."""
    data = bytes(metadata)
    if data[:1] == b'"':
        text = value_of(metadata)
        data = text.encode("utf-8", "replace") if isinstance(text, str) else b""
    try:
        return _decode_metadata(data).attributes if data[:1] == b"{" else _ABSENT
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return _ABSENT


def interpret(span: Span) -> Reading:
    """Return what an observation was: by its type, in the words of its attributes."""
    raw: _Observation = span.attributes[_OWN]
    told = semantics.read(span)
    kind = _KINDS.get(raw.type)
    message = _tool_message(raw) if raw.type == "SPAN" else {}
    if raw.type == "SPAN" and (message or told.kind == "tool"):
        kind = "tool"
    if kind is None:
        if raw.type == "EVENT":
            return Reading(kind="other")
        framework = told.framework or "langfuse"
        if told.kind in ("agent", "chain"):
            return msgspec.structs.replace(told, framework=framework)
        return Reading(kind="chain", operation=span.name, framework=framework)
    known = told if told.kind == kind else Reading(kind=kind)
    model = known.model or text_of(raw.model)
    named = known.operation or text_of(message.get("name")) or span.name or None
    is_tool = kind == "tool" and raw.type != "RETRIEVER"
    hidden = tool_failure(message) if message else None
    return msgspec.structs.replace(
        known,
        operation="guardrail" if kind == "audit" else (kind == "model" and model) or named,
        agent=known.agent or (named if kind == "agent" else None),
        model=model if kind == "model" else None,
        input_tokens=_tokens(raw, "input", "promptTokens"),
        output_tokens=_tokens(raw, "output", "completionTokens"),
        cost_usd=_cost(raw),
        arguments=value_of(raw.input) if is_tool else None,
        output=value_of(raw.output) if is_tool else None,
        status=_status_of(span, kind, hidden) or known.status,
        error=hidden[1] if hidden else known.error,
        framework=known.framework or "langfuse",
    )


def _tool_message(raw: _Observation) -> Mapping[str, Any]:
    """Return the message in which LangChain hands a tool's result on; empty where there is none."""
    if b"tool_call_id" not in bytes(raw.output):
        return {}
    output = value_of(raw.output)
    if isinstance(output, str):
        output = value_of(output.encode("utf-8", "replace"))
    message = plain(output)
    is_result = message.get("type") == "tool" and bool(text_of(message.get("tool_call_id")))
    return message if is_result else {}


def _status_of(span: Span, kind: Kind, hidden: tuple[Status, ErrorFields] | None) -> Status | None:
    if kind == "audit" and span.status == "error":
        return "failed"
    return hidden[0] if hidden else None


def _tokens(raw: _Observation, side: str, old_name: str) -> int | None:
    """Return how many tokens went in or came out.

    Those of a kind with a name of its own (cached, thought, heard) are left out of the plain count,
    unless the plain counts alone make up the total.
    """
    details, usage = mapping_of(raw.usageDetails), mapping_of(raw.usage)
    plain_in, plain_out = (count_of(details.get(name)) or 0 for name in ("input", "output"))
    found = count_of(details.get(side, details.get(old_name)))
    kinds = [count_of(many) or 0 for name, many in details.items() if side in name and name != side]
    if kinds and plain_in + plain_out != count_of(details.get("total")):
        found = (found or 0) + sum(kinds)
    return count_of(usage.get(side, usage.get(old_name))) if found is None else found


def _cost(raw: _Observation) -> float | None:
    costs = (at(raw.costDetails, "total"), raw.totalCost, raw.calculatedTotalCost)
    return next((cost for cost in map(amount_of, costs) if cost is not None), None)


DIALECT = Dialect(
    name="langfuse_trace",
    framework="langfuse",
    recognise=recognise,
    decoder=lambda source: SpanDecoder(_read, interpret),
    description="Langfuse exports: trace and observations, or observations one by one",
    written_by="Langfuse's download of a trace, its API, or its export of observations",
)
