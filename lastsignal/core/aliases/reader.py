"""Records of one source → Events: picks the dialect, completes each event, restores order.

A source keeps its dialect until a record does not fit, so recognising costs nothing once settled.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import msgspec

from lastsignal.core.aliases.contract import (
    Decoded,
    Decoder,
    Dialect,
    Drop,
    NotThisDialect,
)
from lastsignal.core.aliases.json_values import decode_leniently
from lastsignal.core.error_classes import ERROR_CLASSES, classify
from lastsignal.core.events import Event, Status

Record = tuple[bytes, int, int]
"""(bytes, byte offset, 1-based line) of one record."""

UNSETTLED = (NotThisDialect, msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What sends a record back to the ladder: another layout, or JSON that needs the lenient way."""

_DEFAULT_STATUS: dict[str, Status] = {
    "agent_start": "started",
    "tool_call": "started",
    "retry": "started",
    "process_error": "failed",
}


class Reader:
    """Turns the records of one source into Events.

    Args:
        source: the name that findings show; also the trace id of records that carry none.
        ladder: dialects in the order in which a record is offered to them.
        ingest_time: epoch seconds given to events of a source that never shows a time. One
            constant for the source: order is all that such a file tells, and a window must not see
            the speed of reading.
    """

    def __init__(self, source: str, ladder: tuple[Dialect, ...], ingest_time: float) -> None:
        self.source = source
        self.records = 0
        self.events = 0
        self.skipped: dict[str, int] = {}
        self.formats: dict[str, int] = {}
        self.clock = 0.0
        """The highest record time seen; 0.0 before the first."""
        self._ladder = ladder
        self._ingest_time = ingest_time
        self._framework: str | None = None
        self._disorder = 0.0
        self._decode: Callable[[bytes], Decoded] = _no_dialect_yet
        self._decoders: dict[str, Decoder] = {}
        self._held: list[tuple[float, int, int, Event]] = []
        self._arrivals = 0
        self._untimed: list[Event] = []
        """Held from before the source showed a time: they take the first one, if any comes."""

    def read(self, records: Iterable[Record]) -> list[Event]:
        """Return the events that these records complete, in order of time."""
        events: list[Event] = []
        source, clock, seen, decode = self.source, self.clock, 0, self._decode
        for data, offset, line in records:
            seen += 1
            try:
                decoded = decode(data)
            except UNSETTLED:
                decoded = self._decode_unsettled(data)
                decode = self._decode
            if isinstance(decoded, Drop):
                self.skip(decoded.reason)
                continue
            for event in decoded:
                event.source = source
                if event.offset:
                    event.line = line + data.count(b"\n", 0, event.offset)
                    event.offset += offset
                else:
                    event.line, event.offset = line, offset
                timestamp = event.timestamp
                if timestamp > clock:
                    clock = timestamp
                elif timestamp != timestamp:  # NaN: the record carries no time
                    self._inherit_time(event, clock)
                if event.framework is None:
                    event.framework = self._framework
                if not event.trace_id:
                    event.trace_id = source
                if event.status != "completed" and (
                    event.status != "started" or event.error_message is not None
                ):
                    judge(event)
            if self._disorder:
                self._hold(decoded)
                decoded = self._release(clock - self._disorder)
            events += decoded
        self.clock = clock
        self.records += seen
        self.events += len(events)
        return events

    def finish(self) -> list[Event]:
        """Return what was held for order: the source has ended, or stands still."""
        events = self._release(float("inf"))
        self.events += len(events)
        return events

    def skip(self, reason: str, count: int = 1) -> None:
        """Count input that yields no event."""
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    def _decode_unsettled(self, data: bytes) -> list[Event] | Drop:
        try:
            value, data = decode_leniently(data)
        except ValueError as error:
            return Drop(str(error))
        for dialect in self._ladder:
            if not dialect.recognise(value):
                continue
            decoder = self._decoders.get(dialect.name)
            if decoder is None:
                decoder = self._decoders[dialect.name] = dialect.decoder(self.source)
            try:
                decoded = decoder.decode(data)
            except (NotThisDialect, msgspec.DecodeError):
                continue
            self._settle(dialect, decoder)
            return decoded
        return Drop("unrecognised_record" if isinstance(value, dict | list) else "not_an_object")

    def _settle(self, dialect: Dialect, decoder: Decoder) -> None:
        self._decode, self._framework = decoder.decode, dialect.framework
        self._disorder = max(self._disorder, dialect.disorder_seconds)
        self.formats.setdefault(dialect.name, 0)

    def _inherit_time(self, event: Event, clock: float) -> None:
        if clock:
            event.timestamp, event.timestamp_source = clock, "inherited"
        else:
            event.timestamp, event.timestamp_source = self._ingest_time, "ingest"

    def _hold(self, events: list[Event]) -> None:
        for event in events:
            if event.timestamp_source == "ingest":
                self._untimed.append(event)
                continue
            self._arrivals += 1
            heapq.heappush(
                self._held, (event.timestamp, event.sequence or 0, self._arrivals, event)
            )

    def _release(self, watermark: float) -> list[Event]:
        released: list[Event] = []
        held = self._held
        if self._untimed and (watermark == float("inf") or (held and held[0][0] <= watermark)):
            released, self._untimed = self._untimed, []
            for event in released if held else ():
                event.timestamp, event.timestamp_source = held[0][0], "inherited"
        while held and held[0][0] <= watermark:
            released.append(heapq.heappop(held)[3])
        return released


def _no_dialect_yet(record: bytes) -> Decoded:
    raise NotThisDialect


def judge(event: Event) -> None:
    """Settle the status of an event whose record names none, and the class of a failure.

    A retry is judged by the failure that it says it answers.
    """
    if event.status is None:
        event.status = _DEFAULT_STATUS.get(
            event.event_type, "failed" if event.error_message else "completed"
        )
    failed = event.status == "failed" or (event.event_type == "retry" and event.error_message)
    if failed and event.error_class not in ERROR_CLASSES:
        event.error_class = classify(
            event.event_type, event.http_status, event.error_type, event.error_message
        )
