"""The way of a line: bytes → records → events → findings → diagnosis.

`diagnose` walks it over finite input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import lastsignal
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.reader import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis, diagnose_trace
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer
from lastsignal.core.report import InputSummary, Report
from lastsignal.core.rules import Rule
from lastsignal.edges.inputs import Source

Progress = Callable[[Source, int], None]
"""progress(source, bytes read of it since the last call)."""


def no_progress(source: Source, count: int) -> None:
    """Tell nobody."""


def diagnose(
    sources: Sequence[Source],
    rules: Sequence[Rule],
    *,
    ladder: tuple[Dialect, ...] = LADDER,
    progress: Progress = no_progress,
) -> Report:
    """Read finite sources to their end and return what their traces say.

    Args:
        sources: in the order in which their events happened; see `in_order_of_time`.
        rules: the detectors to run.
        ladder: the dialects to recognise.
        progress: told of every chunk.
    """
    engine = Engine(rules)
    inputs = []
    for source in sources:
        reader = Reader(source.name, ladder, ingest_time=0.0)
        for events in read_events(source, reader, progress):
            engine.feed(events)
        inputs.append(summary_of(source, reader))
    engine.finish()
    return Report(
        version=lastsignal.__version__,
        inputs=inputs,
        traces=diagnoses(engine),
        evicted_traces=engine.evicted_traces,
    )


def read_events(
    source: Source, reader: Reader, progress: Progress = no_progress
) -> Iterator[list[Event]]:
    """Yield the events of a source, a chunk's at a time."""
    framer = Framer()
    for chunk in source.chunks():
        yield reader.read(framer.feed(chunk))
        progress(source, len(chunk))
    yield reader.read(framer.finish())
    yield reader.finish()
    for reason, count in framer.skipped.items():
        reader.skip(reason, count)


def diagnoses(engine: Engine) -> list[Diagnosis]:
    """Return the diagnosis of every trace, in order of their start."""
    shared = [group for group in engine.shared.groups.values() if group.is_open]
    found = [
        diagnose_trace(
            engine, trace, [group for group in shared if group.trace_id == trace.trace_id]
        )
        for trace in engine.traces.values()
    ]
    return sorted(found, key=lambda one: (one.started_at or 0.0, one.trace_id))


def summary_of(source: Source, reader: Reader) -> InputSummary:
    """Return what became of a source's bytes."""
    return InputSummary(
        source=source.name,
        format=list(reader.formats),
        records=reader.records,
        events=reader.events,
        skipped=dict(sorted(reader.skipped.items())),
    )
