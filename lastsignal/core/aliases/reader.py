"""Records of one source → Events: picks the dialect, completes each event, restores order.

A source keeps its dialect until a record does not fit, so recognising costs nothing once settled.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop
from lastsignal.core.aliases.json_values import decode_leniently
from lastsignal.core.aliases.long_names import LONG_RECORD, shorten_names
from lastsignal.core.aliases.recognition import FAULTS, REFUSALS, UNSETTLED, Fault, Recognition
from lastsignal.core.aliases.saved_reader import SavedReader
from lastsignal.core.error_classes import ERROR_CLASSES, classify
from lastsignal.core.events import Event, Status, as_plain
from lastsignal.core.framing.cutter import Record
from lastsignal.core.framing.salvage import salvage

AHEAD_SECONDS = 86_400.0
"""How far ahead of the world, and of the records before it, a record's time counts as damage: one
such record would make every call in its file look as if it had hung. Zones and clocks differ by
less."""
_KEPT_HEADS = 20
_HEAD_BYTES = 2048
_FOR_EVER = float("inf")
_MAX_UNTIMED = 256  # events that wait for a source's first time; then it counts as having none
_SETTLED = frozenset({"started", "completed"})  # statuses that need no judging without an error
_BETWEEN_RECORDS = b" \t\r\n\0,"

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
        self.heads: list[bytes] = []
        """How the first records begin that no dialect has taken: advice looks at them."""
        self.now = _FOR_EVER
        """Epoch seconds, as far as the caller knows: a record from far beyond has no usable
        time."""
        self._ingest_time = ingest_time
        self._framework: str | None = None
        self._disorder = 0.0
        self._recognition = Recognition(source, ladder)
        self._held: list[tuple[float, int, int, Event]] = []
        self._arrivals = 0
        self._untimed: list[Event] = []
        """Held from before the source showed a time: they take the first one, if any comes."""
        self._awaits_time = True

    def read(self, records: Iterable[Record]) -> list[Event]:  # noqa: C901  # calls would cost
        """Return the events that these records complete, in order of time."""
        events: list[Event] = []
        source, clock, seen, decode = self.source, self.clock, 0, self._recognition.decode
        must_hold, latest = self._must_hold, self.now + AHEAD_SECONDS
        for data, offset, line in records:
            seen += 1
            try:
                decoded = decode(data)
            except UNSETTLED:
                decoded = self._read_unsettled(data)
                decode, must_hold = self._recognition.decode, self._must_hold
            except FAULTS as fault:
                decoded = self._recognition.note_fault(self.settled, fault)
            if isinstance(decoded, Drop):
                self.skip(decoded.reason)
                continue
            if len(data) > LONG_RECORD:
                shorten_names(decoded)
            for event in decoded:
                event.source = source
                if event.offset:
                    event.line = line + data.count(b"\n", 0, event.offset)
                    event.offset += offset
                else:
                    event.line, event.offset = line, offset
                timestamp = event.timestamp
                if timestamp > clock:
                    clock = timestamp if timestamp <= latest else self._look_ahead(event, clock)
                elif timestamp != timestamp:  # NaN: the record carries no time
                    self._inherit_time(event, clock)
                if event.framework is None or not event.trace_id:
                    event.framework = event.framework or self._framework
                    event.trace_id = event.trace_id or source
                if event.error_message is not None or event.status not in _SETTLED:
                    judge(event)
            if must_hold:
                decoded, must_hold = self._in_order(decoded, clock), self._must_hold
            events += decoded
        self.clock = clock
        self.records += seen
        self.events += len(events)
        return events

    def finish(self) -> list[Event]:
        """Return what was held for order: the source has ended, or stands still."""
        events = self._release(_FOR_EVER)
        self.events += len(events)
        return events

    def skip(self, reason: str, count: int = 1) -> None:
        """Count input that yields no event."""
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    def save(self) -> bytes:
        """Return all that a restart needs, as MessagePack."""
        settled, is_mixed, decoders = self._recognition.save()
        return msgspec.msgpack.encode(
            SavedReader(
                records=self.records,
                events=self.events,
                skipped=self.skipped,
                formats=list(self.formats),
                clock=self.clock,
                ingest_time=self._ingest_time,
                disorder=self._disorder,
                arrivals=self._arrivals,
                held=[(time, sequence, n, as_plain(one)) for time, sequence, n, one in self._held],
                untimed=[as_plain(event) for event in self._untimed],
                awaits_time=self._awaits_time,
                settled=settled,
                is_mixed=is_mixed,
                decoders=decoders,
            )
        )

    def restore(self, data: bytes) -> None:
        """Take back what `save` gave.

        Raises:
            msgspec.MsgspecError: it is no state of a reader.
        """
        saved = msgspec.msgpack.decode(data, type=SavedReader)
        self.records, self.events, self.skipped = saved.records, saved.events, saved.skipped
        self.formats = dict.fromkeys(saved.formats, 0)
        self.clock, self._ingest_time = saved.clock, saved.ingest_time
        self._arrivals = saved.arrivals
        self._held = [(time, seq, n, Event(**one)) for time, seq, n, one in saved.held]
        self._untimed = [Event(**one) for one in saved.untimed]
        self._awaits_time = saved.awaits_time
        self._recognition.restore(saved.settled, saved.is_mixed, saved.decoders)
        self._settle()
        self._disorder = saved.disorder

    @property
    def ingest_time(self) -> float:
        """Stands for the times of a source that shows none."""
        return self._ingest_time

    @property
    def disorder_seconds(self) -> float:
        """How long events are held for their order."""
        return self._disorder

    @property
    def is_holding(self) -> bool:
        """Whether events are held for their order."""
        return bool(self._held or self._untimed)

    @property
    def settled(self) -> Dialect | None:
        """The dialect of the last record that one has taken."""
        return self._recognition.settled

    @property
    def faults(self) -> list[Fault]:
        """The first mistakes of dialects that this source's records have shown."""
        return self._recognition.faults

    def _read_unsettled(self, data: bytes, is_piece: bool = False) -> Decoded:
        """Read a record that the settled dialect does not take as it is, or has not seen yet."""
        try:
            value, mended = decode_leniently(data)
        except ValueError as error:
            pieces = salvage((data, 0, 1)) if str(error) == "invalid_json" else []
            decoded = self._read_pieces(data, pieces) if pieces else Drop(str(error))
        else:
            decoded = self._recognition.offer(value, mended, is_piece or mended is not data)
        if not isinstance(decoded, Drop) or decoded.reason not in REFUSALS:
            self._settle()
        elif len(self.heads) < _KEPT_HEADS:
            self.heads.append(data[:_HEAD_BYTES])
        return decoded

    def _read_pieces(self, data: bytes, pieces: list[Record]) -> list[Event]:
        """Read the whole objects of a line that is none; what is torn between them is counted."""
        events: list[Event] = []
        torn, end = 0, 0
        for piece, start, _ in [*pieces, (b"", len(data), 0)]:
            torn += bool(data[end:start].strip(_BETWEEN_RECORDS))
            end = start + len(piece)
            decoded = self._read_unsettled(piece, is_piece=True) if piece else []
            if isinstance(decoded, Drop):
                self.skip(decoded.reason)
                continue
            for event in decoded:
                event.offset += start
            events += decoded
        if torn:
            self.skip("torn_line", torn)
        self.records += len(pieces) - 1 + torn
        return events

    def _settle(self) -> None:
        dialect = self.settled
        if dialect is not None:
            self._framework = dialect.framework
            self._disorder = max(self._disorder, dialect.disorder_seconds)
            self.formats.setdefault(dialect.name, 0)

    def _inherit_time(self, event: Event, clock: float) -> None:
        if clock:
            event.timestamp, event.timestamp_source = clock, "inherited"
        else:
            event.timestamp, event.timestamp_source = self._ingest_time, "ingest"

    def _look_ahead(self, event: Event, clock: float) -> float:
        """Take the time of an event that lies far after `now`, or not; return the clock."""
        if not clock or event.timestamp - clock <= AHEAD_SECONDS:
            return event.timestamp  # the world's clock is behind, not the record's ahead
        self._inherit_time(event, clock)
        return clock

    @property
    def _must_hold(self) -> bool:
        return self._awaits_time or self._disorder > 0.0

    def _in_order(self, events: list[Event], clock: float) -> list[Event]:
        """Hold events that others may still come before; return those that can go."""
        if not self._disorder:
            return self._await_time(events)
        self._hold(events)
        return self._release(clock - self._disorder)

    def _await_time(self, events: list[Event]) -> list[Event]:
        """Hold what comes before the source's first time, until that is known."""
        waiting = self._untimed + events
        first = next((one.timestamp for one in waiting if one.timestamp_source != "ingest"), None)
        if first is None and len(waiting) <= _MAX_UNTIMED:
            self._untimed = waiting
            return []
        self._untimed, self._awaits_time = [], False
        for event in waiting if first is not None else ():
            if event.timestamp_source == "ingest":
                event.timestamp, event.timestamp_source = first or 0.0, "inherited"
        return waiting

    def _hold(self, events: list[Event]) -> None:
        for event in events:
            if event.timestamp_source == "ingest" and self._awaits_time:
                self._untimed.append(event)
                continue
            self._arrivals += 1
            heapq.heappush(
                self._held, (event.timestamp, event.sequence or 0, self._arrivals, event)
            )

    def _release(self, watermark: float) -> list[Event]:
        released: list[Event] = []
        held = self._held
        given_up = watermark == _FOR_EVER or len(self._untimed) > _MAX_UNTIMED
        if given_up or (held and held[0][0] <= watermark):
            self._awaits_time = False
            released, self._untimed = self._untimed, []
            for event in released if held else ():
                event.timestamp, event.timestamp_source = held[0][0], "inherited"
        while held and held[0][0] <= watermark:
            released.append(heapq.heappop(held)[3])
        return released


def judge(event: Event) -> None:
    """Settle the status of an event whose record names none, and the class of a failure.

    A retry is judged by the failure that it says it answers.
    """
    if event.status == "started" and event.error_message is None:
        return
    if event.status is None:
        event.status = _DEFAULT_STATUS.get(
            event.event_type, "failed" if event.error_message else "completed"
        )
    failed = event.status == "failed" or (event.event_type == "retry" and event.error_message)
    if failed and event.error_class not in ERROR_CLASSES:
        event.error_class = classify(
            event.event_type, event.http_status, event.error_type, event.error_message
        )
