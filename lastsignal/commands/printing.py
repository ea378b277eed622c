"""What `lastsignal normalize` prints: events, and in a line what came of a source."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import msgspec

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.diagnosis.report import InputSummary
from lastsignal.core.events import Event, as_plain
from lastsignal.core.file_names import shown

_encode = msgspec.json.Encoder().encode


def print_events(events: Iterable[Event]) -> None:
    """Write events to standard output, each on its line, and at once: what reads may be waiting."""
    written = b"".join(map(_line, events))
    if written:
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()


def _line(event: Event) -> bytes:
    plain = as_plain(event)
    plain["source"] = shown(event.source)
    plain.pop("identity", None)
    return _encode(plain) + b"\n"


def told(summary: InputSummary, reader: Reader) -> str:
    """Return in a line what came of a source."""
    formats = "+".join(summary.format) or "no known format"
    skipped = ", ".join(f"{count} {why}" for why, count in summary.skipped.items())
    text = f"{shown(summary.source)}: {formats}, {summary.records} records, {summary.events} events"
    if skipped:
        text += f"; skipped: {skipped}"
    if summary.mended:
        mended = ", ".join(
            f"{count} {why} (the first in line {summary.first_mended[why]})"
            for why, count in summary.mended.items()
        )
        text += f"; mended: {mended}"
    for fault in reader.faults[:3]:
        text += f"\n  a fault of the dialect {fault.dialect} ({fault.error}); please report it"
    return text
