"""The fields of the SDK's traces and spans that are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_text import provider_error

OBJECTS = frozenset({"trace", "trace.span"})
_ABSENT = msgspec.Raw(b"")
_SDK_WRAPPERS = frozenset({"task", "turn"})


class SpanData(msgspec.Struct, gc=False):
    """What a span was of; prompts and outputs stay undecoded."""

    type: Any = None
    name: Any = None
    model: Any = None
    usage: Any = None
    input: msgspec.Raw = _ABSENT
    output: msgspec.Raw = _ABSENT
    data: msgspec.Raw = _ABSENT
    server: Any = None
    triggered: Any = None


class Span(msgspec.Struct, gc=False):
    """A trace, or a span of one."""

    object: str
    id: Any = None
    trace_id: Any = None
    parent_id: Any = None
    workflow_name: Any = None
    group_id: Any = None
    started_at: Any = None
    ended_at: Any = None
    span_data: SpanData = msgspec.field(default_factory=SpanData)
    error: Any = None

    @property
    def error_label(self) -> str:
        """Where the error happened, in the SDK's own words."""
        return text_of(mapping_of(self.error).get("message")) or ""

    @property
    def tells_of_crash(self) -> bool:
        """Whether its error is of the SDK's shape, which has a label in all of its languages."""
        return bool(self.error_label)

    @property
    def wraps(self) -> Mapping[str, Any]:
        """What the SDK's own wrapper around a run or a turn says of it; empty for other spans."""
        data = self.span_data
        if data.type != "custom" or text_of(data.name) not in _SDK_WRAPPERS:
            return {}
        said = mapping_of(value_of(data.data))
        return said if said.get("sdk_span_type") == data.name else {}


class Failure(msgspec.Struct, array_like=True):
    """A failure that has an event and goes on upwards."""

    message: str
    of_model: bool = False
    """A model call may be tried again, and then nothing has failed by it."""
    is_contradicted: bool = False
    """What told of it is not of the shape in which the SDK writes errors."""


class TraceRun(msgspec.Struct, array_like=True):
    """A trace that has been announced."""

    name: str
    runs: int = 0
    """Outermost spans that have ended: one trace may hold several runs."""


class Batch(msgspec.Struct, gc=False):
    """What the exporter sends."""

    data: list[msgspec.Raw]


decode_span = msgspec.json.Decoder(Span).decode
decode_batch = msgspec.json.Decoder(Batch).decode


def recognise(value: Any) -> bool:
    """A trace, a span, or the batch that the exporter sends."""
    if not isinstance(value, dict):
        return False
    kind = value.get("object")
    if isinstance(kind, str):
        return kind in OBJECTS and isinstance(value.get("id"), str)
    batch = list_of(value.get("data"))
    first = batch[0] if batch else None
    return isinstance(first, dict) and "data" not in first and recognise(first)


def error_of(error: object) -> ErrorFields:
    """Read `{message, data: {error}}`: the label says where, the detail what happened."""
    fields = mapping_of(error)
    detail = mapping_of(fields.get("data")).get("error")
    if isinstance(detail, str) and detail:
        provider, inner = provider_error(detail), unwrap_error(detail)
        return ErrorFields(
            message=provider.message or inner.message,
            http_status=provider.http_status,
            type=inner.type or provider.type,
        )
    return unwrap_error(fields.get("message") or error)
