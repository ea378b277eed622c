"""Records of one source → Events: picks the dialect, completes each event, restores order.

A source keeps its dialect until a record does not fit, so recognising costs nothing once settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import asdict

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, Extents, none_is_exact
from lastsignal.core.aliases.json_values import decode_leniently, fault_in
from lastsignal.core.aliases.reading.long_names import LONG_RECORD, shorten_names
from lastsignal.core.aliases.reading.mended import Mended
from lastsignal.core.aliases.reading.order import Order
from lastsignal.core.aliases.reading.recognition import (
    FAULTS,
    REFUSALS,
    UNSETTLED,
    Fault,
    Recognition,
)
from lastsignal.core.aliases.reading.repeated_keys import next_look, repeats_a_key
from lastsignal.core.aliases.reading.repeats import Repeats, identify
from lastsignal.core.aliases.reading.saved_reader import SavedReader
from lastsignal.core.aliases.reading.sessions import Sessions
from lastsignal.core.aliases.reading.source_clock import LEAST_ZONE, SourceClock
from lastsignal.core.aliases.reading.unnamed import UnnamedModels, UnnamedTraces
from lastsignal.core.events import Event
from lastsignal.core.framing.records import Record, Unwrapped
from lastsignal.core.framing.salvage import salvage
from lastsignal.core.judging import judge
from lastsignal.core.packing import pack

_KEPT_HEADS = 20
_HEAD_BYTES = 2048
_SETTLED = frozenset({"started", "completed"})  # statuses that need no judging without an error
_OF_MODELS = frozenset({"model_call", "retry"})
_BETWEEN_RECORDS = b" \t\r\n\0,"


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
        self.heads: list[bytes] = []
        """How the first records begin that no dialect has taken: advice looks at them."""
        self._mended = Mended()
        self._clock = SourceClock(ingest_time, self._mended.add)
        self._framework: str | None = None
        self._recognition = Recognition(source, ladder)
        self._met = 0  # records, as they were cut
        self._repeating: bytes | None = None  # the latest record that holds a key twice
        self._unnamed = UnnamedTraces(source)
        self._models = UnnamedModels()
        self._sessions = Sessions()
        self._repeats = Repeats()
        self._order = Order()

    def read(self, records: Iterable[Record]) -> list[Event]:
        """Return the events that these records complete, in order of time."""
        events: list[Event] = []
        source, times = self.source, self._clock
        clock, latest = times.highest, times.latest
        exact, seen = self._exact, 0
        look = next_look(self._met)
        for record in records:
            data, offset, line = record
            seen += 1
            if seen == look:
                look += self._look_closely(data, line, seen)
            try:
                event = exact(data)
            except UNSETTLED:
                event = None
            if event is None:
                times.highest = clock
                events += self._read_any(record)
                clock, exact = times.highest, self._exact
                continue
            event.source, event.line, event.offset = source, line, offset
            timestamp = event.timestamp
            if timestamp > clock:
                clock = timestamp if timestamp <= latest else times.leap(event, clock)
            elif timestamp < times.lent - LEAST_ZONE:
                clock = times.turn_back(timestamp)
            if not event.trace_id:
                self._unnamed.name(event)
            events.append(event)
        times.highest = clock
        self._met += seen
        self.records += seen
        self.events += len(events)
        return events

    def finish(self) -> list[Event]:
        """Return what was held for order: the source has ended, or stands still."""
        events = self._order.give_up()
        self.events += len(events)
        return events

    def skip(self, reason: str, count: int = 1) -> None:
        """Count input that yields no event."""
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    def save(self) -> bytes:
        """Return all that a restart needs, as MessagePack."""
        settled, is_mixed, decoders = self._recognition.save()
        return pack(
            SavedReader(
                records=self.records,
                events=self.events,
                skipped=self.skipped,
                mended=self._mended.counts,
                first_mended=self._mended.first,
                unnamed=self._unnamed.known,
                unnamed_models=self._models.known,
                sessions=self._sessions.known,
                repeated=self._repeats.saved,
                met=self._met,
                formats=list(self.formats),
                clock=self._clock.highest,
                lent=self._clock.lent,
                ingest_time=self._clock.ingest_time,
                **asdict(self._order.save()),
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
        self._mended.counts, self._mended.first = saved.mended, saved.first_mended
        self._met = saved.met
        self.formats = dict.fromkeys(saved.formats, 0)
        self._clock.highest, self._clock.lent = saved.clock, saved.lent
        self._clock.ingest_time = saved.ingest_time
        self._unnamed.known = saved.unnamed
        self._models.known = saved.unnamed_models
        self._sessions.known = saved.sessions
        self._repeats.saved = saved.repeated
        self._recognition.restore(saved.settled, saved.is_mixed, saved.decoders)
        self._settle()
        self._order.restore(saved)

    @property
    def mended(self) -> dict[str, int]:
        """Records that were read though something in them is not as it should be, by reason."""
        return self._mended.counts

    @property
    def first_mended(self) -> dict[str, int]:
        """The line of the first one, by reason."""
        return self._mended.first

    @property
    def clock(self) -> float:
        """The highest record time seen; 0.0 before the first."""
        return self._clock.highest

    @property
    def now(self) -> float:
        """Epoch seconds, as far as the caller knows: a record from far beyond has no usable
        time."""
        return self._clock.now

    @now.setter
    def now(self, time: float) -> None:
        self._clock.now = time

    @property
    def ingest_time(self) -> float:
        """Stands for the times of a source that shows none."""
        return self._clock.ingest_time

    @property
    def disorder_seconds(self) -> float:
        """How long events are held for their order."""
        return self._order.disorder

    @property
    def is_holding(self) -> bool:
        """Whether events are held for their order."""
        return self._order.is_holding

    @property
    def settled(self) -> Dialect | None:
        """The dialect of the last record that one has taken."""
        return self._recognition.settled

    @property
    def faults(self) -> list[Fault]:
        """The first mistakes of dialects that this source's records have shown."""
        return self._recognition.faults

    def extents(self) -> Extents:
        """Return how much has come of traces whose records name what encloses them."""
        found = list(self._recognition.extents())
        return Extents(
            frozenset().union(*(one.whole for one in found)),
            frozenset().union(*(one.inner for one in found)),
        )

    @property
    def _exact(self) -> Callable[[bytes], Event | None]:
        """What reads a record that needs no more than its place; events that are held need more."""
        return none_is_exact if self._order.must_hold else self._recognition.exact

    def _read_any(self, record: Record) -> list[Event]:
        """Return the events that one record completes, whatever its dialect makes of it."""
        data, offset, line = record
        if self._repeats.knows(self.settled, data):
            self.skip("repeated_record")
            return []
        try:
            decoded = self._recognition.decode(data)
        except UNSETTLED:
            decoded = self._read_unsettled(data, line)
        except FAULTS as fault:
            decoded = self._recognition.note_fault(self.settled, fault)
        self._repeats.note(self.settled, data, decoded)
        if isinstance(decoded, Drop):
            self.skip(decoded.reason)
            return []
        dialect = self.settled
        if dialect is not None and dialect.one_at_a_time:
            decoded = self._sessions.part(decoded, dialect.name)
        is_long = len(data) > LONG_RECORD
        stands_so = not isinstance(record, Unwrapped) or record.stands_so
        for event in decoded:
            event.source = self.source
            within = event.offset if stands_so else 0
            event.line = line + data.count(b"\n", 0, within) if within else line
            event.offset = offset + within
            self._complete(event, record)
            if dialect is not None and dialect.is_copied:
                identify(event)
            if is_long:
                shorten_names(event)
        return self._order.take(decoded) if self._order.must_hold else decoded

    def _complete(self, event: Event, record: Record) -> None:
        """Give an event what its record leaves open."""
        self._clock.take(event, record, self._order.front)
        event.framework = event.framework or self._framework
        self._unnamed.name(event)
        if event.error_message is not None or event.status not in _SETTLED:
            judge(event)
        if event.event_type in _OF_MODELS:
            self._models.name(event)

    def _look_closely(self, data: bytes, line: int, seen: int) -> int:
        """Look for what decoding does not show; return after how many records to look again."""
        if repeats_a_key(data):
            self._repeating = data
            self._mended.add("duplicate_key", line)
        return next_look(self._met + seen)

    def _read_unsettled(self, data: bytes, line: int, is_piece: bool = False) -> Decoded:
        """Read a record that the settled dialect does not take as it is, or has not seen yet."""
        try:
            value, mended = decode_leniently(data)
        except ValueError as error:
            pieces = salvage((data, 0, 1)) if str(error) == "invalid_json" else []
            decoded = self._read_pieces(data, line, pieces) if pieces else Drop(str(error))
        else:
            decoded = self._recognition.offer(value, mended, is_piece or mended is not data)
            if mended is not data and not _is_refused(decoded):
                self._mended.add(fault_in(data), line)
        if not _is_refused(decoded):
            self._settle()
            return decoded
        if data is self._repeating:
            self._mended.take_back("duplicate_key")
        if len(self.heads) < _KEPT_HEADS:
            self.heads.append(data[:_HEAD_BYTES])
        return decoded

    def _read_pieces(self, data: bytes, line: int, pieces: list[Record]) -> list[Event]:
        """Read the whole objects of a line that is none; what is torn between them is counted."""
        events: list[Event] = []
        torn, end = 0, 0
        for piece, start, _ in [*pieces, (b"", len(data), 0)]:
            torn += bool(data[end:start].strip(_BETWEEN_RECORDS))
            end = start + len(piece)
            decoded = self._read_unsettled(piece, line, is_piece=True) if piece else []
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
            self._order.disorder = max(self._order.disorder, dialect.disorder_seconds)
            self.formats.setdefault(dialect.name, 0)


def _is_refused(decoded: Decoded) -> bool:
    return isinstance(decoded, Drop) and decoded.reason in REFUSALS
