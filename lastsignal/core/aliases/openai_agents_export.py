"""OpenAI Agents traces gathered into one document, under `traces`.

Trace and span objects are those of the SDK's stream; only here each trace holds its spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import locate
from lastsignal.core.aliases.fields import at
from lastsignal.core.aliases.openai_agents.spans import AgentsDecoder
from lastsignal.core.events import Event


class _Document(msgspec.Struct):
    traces: list[msgspec.Raw]


class _Trace(msgspec.Struct):
    spans: list[msgspec.Raw] = []


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_trace = msgspec.json.Decoder(_Trace).decode


def recognise(value: Any) -> bool:
    """A document whose first trace is an SDK's trace object that holds spans."""
    first = at(value, "traces", 0)
    return at(first, "object") == "trace" and isinstance(at(first, "spans"), list)


class ExportDecoder(AgentsDecoder):
    """Decodes documents of traces, element by element."""

    def decode(self, record: bytes) -> Decoded:
        """Return the events of all traces and spans; see `contract.Decoder`."""
        try:
            traces = _decode_document(record).traces
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if not traces or not recognise({"traces": [msgspec.json.decode(traces[0])]}):
            raise NotThisDialect
        events: list[Event] = []
        for offset, trace in locate(record, traces):
            events += self._gathered(trace, offset)
        events.sort(key=_time)
        return events or Drop("empty_document")

    def _gathered(self, data: bytes, base: int) -> list[Event]:
        try:
            spans = _decode_trace(data).spans
        except msgspec.ValidationError:
            spans = []
        announced = list(self._element(data, base))
        events = [
            event
            for place, span in locate(data, spans, base)
            for event in self._element(span, place)
        ]
        times = [event.timestamp for event in events if event.timestamp == event.timestamp]
        for event in announced:  # a trace object carries no time: it began with its first span
            event.timestamp = min(times, default=event.timestamp)
        return [*announced, *events]

    def _element(self, data: bytes, offset: int) -> Iterator[Event]:
        try:
            decoded = super().decode(data)
        except (NotThisDialect, msgspec.DecodeError):
            return
        for event in decoded if isinstance(decoded, list) else ():
            event.offset = offset
            yield event


def _time(event: Event) -> float:
    return event.timestamp if event.timestamp == event.timestamp else 0.0


DIALECT = Dialect(
    name="openai_agents_export",
    framework="openai_agents",
    recognise=recognise,
    decoder=ExportDecoder,
    is_unique=True,
    description="A document that gathers OpenAI Agents SDK traces, each with its spans",
    written_by="programs that gather what a tracing processor is given, and write it at the end",
)
