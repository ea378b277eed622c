"""The way of a line: bytes → records → events → findings → diagnosis.

`diagnose` walks it over finite input.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from operator import itemgetter

from msgspec.structs import replace

import lastsignal
from lastsignal.core.aliases.contract import Dialect, Extents
from lastsignal.core.aliases.explaining import Explainer, Explanation
from lastsignal.core.aliases.no_events import HEAD_BYTES, advise
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis, diagnose_trace
from lastsignal.core.diagnosis.findings import Evidence, Finding
from lastsignal.core.diagnosis.report import InputSummary, Report
from lastsignal.core.engine import Engine
from lastsignal.core.engine.copies import COPIED, copied_records
from lastsignal.core.events import Event
from lastsignal.core.framing import Checkpoint, Framer, Record, Rotations, Skip
from lastsignal.core.rules import Rule
from lastsignal.core.wire import receiver, send
from lastsignal.edges.inputs import Ahead, FileSource, Place, Source, read_excerpts
from lastsignal.errors import InputError

LOOK_BYTES = 16_384
"""Of a source at a time, until it shows when it begins."""

WORTH_BYTES = 4 * 1024**2
"""What is less is read sooner than processes start."""

PIECE_EVENTS = 1000
"""So many events at least are handed over at a time,"""
PIECE_BYTES = 1024**2
"""unless more of the source than this has been read for fewer."""

_InAll = tuple[InputSummary, Extents, Checkpoint | None]
"""What is known of a source at its end; the last is what its framer has handed over."""

_received = receiver(tuple[int, _InAll | None])

Progress = Callable[[str, int], None]
"""progress(name of the source, bytes read of it since the last call)."""


def no_progress(source: str, count: int) -> None:
    """Tell nobody."""


def diagnose(
    sources: Sequence[Source],
    rules: Sequence[Rule],
    *,
    ladder: tuple[Dialect, ...] = LADDER,
    progress: Progress = no_progress,
    ahead: Ahead | None = None,
) -> Report:
    """Read finite sources to their end and return what their traces say.

    Args:
        sources: in the order in which their events happened; see `in_order_of_time`.
        rules: the detectors to run.
        ladder: the dialects to recognise.
        progress: told of every chunk.
        ahead: what other processes have read of the same sources; see `read_ahead`.
    """
    engine = Engine(rules)
    inputs, whole, inner = [], set[str](), set[str]()
    rotations = Rotations([source.name for source in sources])
    for number, source in enumerate(sources):
        pieces = iter(()) if ahead is None else _read_ahead_of(number, ahead, rotations)
        reading = _Reading(source, number, ladder, rotations)
        summary, extents, left = _feed(engine, reading, pieces, progress)
        rotations.leave(number, left)
        whole |= extents.whole
        inner |= extents.inner
        inputs.append(summary)
    engine.finish()
    return Report(
        version=lastsignal.__version__,
        inputs=inputs,
        traces=diagnoses(engine, inner - whole),
        evicted_traces=engine.state.evicted_traces,
    )


class _Reading:
    """One source, and how it is read to its end."""

    def __init__(
        self, source: Source, number: int, ladder: tuple[Dialect, ...], rotations: Rotations
    ) -> None:
        self.source = source
        self._reader = Reader(source.name, ladder, ingest_time=0.0)
        self._framer = rotations.begin(number)
        self._is_followed = rotations.is_followed(number)

    def events(self, progress: Progress = no_progress) -> Iterator[list[Event]]:
        """Yield the events, as `read_events` does."""
        return read_events(self.source, self._reader, progress, self._framer, self._is_followed)

    def in_all(self) -> _InAll:
        """Return what is known when all events have been read."""
        summary = summary_of(self.source, self._reader)
        return summary, self._reader.extents(), self._framer.left


def _feed(engine: Engine, reading: _Reading, pieces: Iterator[bytes], progress: Progress) -> _InAll:
    """Feed what has been read ahead of a source, and read the rest where that is not all."""
    name, fed, told, copied = reading.source.name, 0, 0, 0
    in_all: _InAll | None = None
    for piece in pieces:
        (consumed, in_all), events = _received(piece)
        copied += _fed(engine, events)
        progress(name, consumed - told)
        fed, told = fed + len(events), consumed
    if in_all is not None:
        return _with_copies(in_all, copied)

    def tell(name: str, count: int) -> None:
        nonlocal told
        known = min(told, count)
        told -= known
        progress(name, count - known)

    for events in reading.events(tell):
        copied += _fed(engine, events[fed:])
        fed = max(0, fed - len(events))
    return _with_copies(reading.in_all(), copied)


def _fed(engine: Engine, events: Sequence[Event]) -> int:
    """Feed events of some records; return how many of these told nothing that is new."""
    engine.feed(events)
    return copied_records(engine.copies, events)


def _with_copies(in_all: _InAll, copied: int) -> _InAll:
    """Return what is known of a source with the records that another one has told."""
    summary, extents, left = in_all
    if copied:
        skipped = Counter(summary.skipped) + Counter({COPIED: copied})
        summary = replace(summary, skipped=dict(sorted(skipped.items())))
    return summary, extents, left


def _read_ahead_of(number: int, ahead: Ahead, rotations: Rotations) -> Iterator[bytes]:
    """Return what has been read ahead of a source: nothing that begins in another one's line."""
    if rotations.goes_on(number):
        ahead.leave(number)
        return iter(())
    return ahead.take(number)


def read_ahead(sources: Sequence[Source], ladder: tuple[Dialect, ...], jobs: int) -> Ahead:
    """Return what reads files in other processes, as many as `jobs`, while the engine is fed."""
    numbers = [number for number, source in enumerate(sources) if isinstance(source, FileSource)]
    rotations = Rotations([source.name for source in sources])

    def read(number: int) -> Iterator[bytes]:
        source, waiting, told = sources[number], list[Event](), 0
        reading = _Reading(source, number, ladder, rotations)
        for events in reading.events():
            waiting += events
            if len(waiting) >= PIECE_EVENTS or source.consumed - told >= PIECE_BYTES:
                told = source.consumed
                yield send(waiting, (told, None))
                waiting.clear()
        yield send(waiting, (source.consumed, reading.in_all()))

    worth = sum(sources[number].size or 0 for number in numbers) >= WORTH_BYTES
    return Ahead(read, numbers if worth else [], jobs if jobs > 1 else 0)


def read_events(
    source: Source,
    reader: Reader,
    progress: Progress = no_progress,
    framer: Framer | None = None,
    is_followed: bool = False,
) -> Iterator[list[Event]]:
    """Yield the events of a source, a chunk's at a time.

    Args:
        source: what to read.
        reader: makes events of its records.
        progress: told of every chunk.
        framer: cuts it into records; of its own by default.
        is_followed: another source goes on with it; `framer.left` says with what.
    """
    framer, told = framer or Framer(), 0
    reader.now = time.time()
    for chunk in source.chunks():
        yield reader.read(framer.feed(chunk))
        progress(source.name, source.consumed - told)
        told = source.consumed
    if is_followed:
        framer.hand_over()
    yield reader.read(framer.finish())
    yield reader.finish()
    for reason, count in [*framer.skipped.items(), *source.skipped.items()]:
        reader.skip(reason, count)


def explain_records(source: Source, explainer: Explainer) -> Iterator[Explanation | Skip]:
    """Yield what becomes of each record of a source, and what is no record, in their order."""
    framer = Framer()
    explainer.reader.now = time.time()

    def explained(records: Iterable[Record]) -> list[Explanation | Skip]:
        found = [explainer.explain(record) for record in records]
        return sorted([*found, *framer.drain_samples()], key=lambda one: (one.line, one.offset))

    for chunk in source.chunks():
        yield from explained(framer.feed(chunk))
    yield from explained(framer.finish())
    for reason, count in [*framer.skipped.items(), *source.skipped.items()]:
        explainer.reader.skip(reason, count)


def in_order_of_time(
    sources: Sequence[Source], ladder: tuple[Dialect, ...] = LADDER
) -> list[Source]:
    """Return the sources in the order in which their events begin, so that a trace that goes on
    in a rotated file is read as one. What shows no time keeps its place.
    """
    if len(sources) < 2:
        return list(sources)
    starts, latest = [], (0.0, 0.0)
    for source in sources:
        latest = _beginning(source, ladder) or latest
        starts.append(latest)
    return [source for _, source in sorted(zip(starts, sources, strict=True), key=itemgetter(0))]


def _beginning(source: Source, ladder: tuple[Dialect, ...]) -> tuple[float, float] | None:
    """Return the time of the earliest event of the first kilobytes of a source that hold one; and,
    where it may begin with copies of another one's, when it was written last: that comes first.

    No more of it than a chunk is looked at: of many small files all would be read twice.
    """
    reader, framer = Reader(source.name, ladder, ingest_time=0.0), Framer()
    events: list[Event] = []
    chunk = next(source.chunks(), b"")
    for start in range(0, len(chunk), LOOK_BYTES):
        events += reader.read(framer.feed(chunk[start : start + LOOK_BYTES]))
        if reader.clock:
            break
    events += reader.finish()
    times = [event.timestamp for event in events if event.timestamp_source != "ingest"]
    if not times:
        return None
    is_copied = reader.settled is not None and reader.settled.is_copied
    return min(times), source.written_at if is_copied else 0.0


def fill_in_excerpts(findings: Sequence[Finding], sources: Sequence[Source]) -> None:
    """Give the evidence of findings its text, re-read from the sources.

    In place: thousands of findings need not be held twice.
    """

    def place(one: Evidence) -> Place:
        return Place(one.source, one.offset, focus=one.focus)

    texts = read_excerpts((place(one) for each in findings for one in each.evidence), sources)
    for finding in findings:
        told = [replace(one, excerpt=texts.get(place(one), "")) for one in finding.evidence]
        finding.evidence[:] = told


def diagnoses(engine: Engine, inner: Set[str] = frozenset()) -> list[Diagnosis]:
    """Return the diagnosis of every trace, in order of their start; the engine is used up.

    Args:
        engine: after its last event.
        inner: traces whose outermost record has not come.
    """
    found = []
    while engine.traces:  # each gives way to its diagnosis: both of all traces would not fit
        trace = engine.traces.take_any()
        if not trace.events:  # all of it was copied, and is told by another trace
            continue
        shared, name = engine.shared_groups(trace.trace_id), trace.trace_id
        found.append(diagnose_trace(engine, trace, shared, is_inner=name in inner))
    return sorted(found, key=lambda one: (one.started_at or 0.0, one.trace_id))


def summary_of(source: Source, reader: Reader) -> InputSummary:
    """Return what became of a source's bytes, and what to do if it was nothing."""
    return InputSummary(
        source=source.name,
        format=list(reader.formats),
        records=reader.records,
        events=reader.events,
        skipped=dict(sorted(reader.skipped.items())),
        mended=dict(sorted(reader.mended.items())),
        first_mended=reader.first_mended,
        advice=None if reader.events else source.trouble or advise(reader, _head_of(source)),
    )


def _head_of(source: Source) -> bytes:
    try:
        return dict(source.read_at([(0, HEAD_BYTES)]))[0]
    except InputError:  # it has told already why it cannot be read
        return b""
