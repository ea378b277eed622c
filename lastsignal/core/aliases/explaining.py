"""Why a record became what it became: its dialect, its events, and which of its fields counted.

A field counts if the record says something else without it, or with another value in it: what a
field says may be just what is taken to be true without it. That is found by leaving out, and by
changing, one field after another and reading the record anew, from the state in which it was met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.json_values import decode_leniently
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.reading.recognition import REFUSALS
from lastsignal.core.events import Event, as_plain
from lastsignal.core.framing.records import Record, Unwrapped

MAX_PROBES = 400
"""Fields of one record that are tried; what is not reached is named by what it is in."""
MAX_BYTES = 65_536
"""Of a record that is read anew so often."""
_MAX_DEPTH = 12
_MAX_ITEMS = 3  # of an array: the others are like them

_FAILED_CODE = 500  # no exit code and no status of success
_ABSENT = object()

_PLACE = frozenset({"source", "line", "offset"})

Path = tuple[str | int, ...]
Told = tuple[list[dict[str, Any]], list[Any], dict[str, int]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of one record."""

    line: int
    offset: int
    dialect: str | None
    """None where no dialect has taken it."""
    events: list[Event]
    dropped: dict[str, int]
    """Reasons for which it, or pieces of it, gave no event."""
    used: list[str] = field(default_factory=list)
    """The fields that its events come from."""
    kept: list[str] = field(default_factory=list)
    """The fields that are only kept as metadata."""
    keys: list[str] = field(default_factory=list)
    """Its own keys, at its top."""
    wrapper: str | None = None
    """Who has wrapped its line; None where nobody has."""


class Explainer:
    """Reads the records of one source, one by one.

    Args:
        source: its name.
        ladder: dialects in the order in which a record is offered to them.
    """

    def __init__(self, source: str, ladder: tuple[Dialect, ...]) -> None:
        # order is for the events of many records; here each record is told by itself
        self._ladder = tuple(replace(dialect, disorder_seconds=0.0) for dialect in ladder)
        self._source = source
        self.reader = Reader(source, self._ladder, ingest_time=0.0)

    def explain(self, record: Record) -> Explanation:
        """Return what becomes of the next record."""
        reader = self.reader
        before, skipped = reader.save(), dict(reader.skipped)
        events = reader.read([record]) + reader.finish()
        dropped = _difference(reader.skipped, skipped)
        is_taken = bool(events) or not REFUSALS.issuperset(dropped)
        value = _value_of(record[0])
        used, kept = self._fields(before, value) if events else ([], [])
        return Explanation(
            line=record[2],
            offset=record[1],
            dialect=reader.settled.name if is_taken and reader.settled else None,
            events=events,
            dropped=dropped,
            used=used,
            kept=kept,
            keys=list(value) if isinstance(value, dict) else [],
            wrapper=record.ended_by.wrapper if isinstance(record, Unwrapped) else None,
        )

    def _fields(self, before: bytes, value: Any) -> tuple[list[str], list[str]]:
        if not isinstance(value, dict | list):
            return [], []
        data = msgspec.json.encode(value)
        if len(data) > MAX_BYTES:
            return [], []
        probe = _Probe(self, before, value, self.told(before, data))
        for path, what in probe.walk((), value):
            (probe.used if what == "used" else probe.kept).append(_shown(path))
        return probe.used, probe.kept

    def told(self, before: bytes, data: bytes) -> Told:
        """Return what a record would say: events without their places, metadata, reasons."""
        reader = Reader(self._source, self._ladder, ingest_time=0.0)
        reader.restore(before)
        reader.now = self.reader.now
        skipped = dict(reader.skipped)
        plain = [as_plain(event) for event in reader.read([(data, 0, 1)]) + reader.finish()]
        metadata = [event.pop("metadata", None) for event in plain]
        bare = [{k: v for k, v in event.items() if k not in _PLACE} for event in plain]
        return bare, metadata, _difference(reader.skipped, skipped)


class _Probe:
    def __init__(self, explainer: Explainer, before: bytes, value: Any, told: Told) -> None:
        self.used: list[str] = []
        self.kept: list[str] = []
        self._explainer = explainer
        self._before = before
        self._whole = value
        self._told = told
        self._left = MAX_PROBES

    def walk(self, path: Path, value: Any) -> Iterator[tuple[Path, str]]:
        """Yield the innermost fields that count, and how."""
        for step, inner in _inside(value):
            if self._left <= 0:
                return
            self._left -= 1
            what = self._what((*path, step), inner)
            if what is None:
                continue
            deeper = list(self.walk((*path, step), inner)) if len(path) < _MAX_DEPTH else []
            yield from deeper or [((*path, step), what)]

    def _what(self, path: Path, value: Any) -> str | None:
        what = self._said_by(_changed(self._whole, path, _ABSENT))
        if what == "used":
            return what
        return self._said_by(_changed(self._whole, path, _other(value))) or what

    def _said_by(self, changed: Any) -> str | None:
        data = msgspec.json.encode(changed)
        told = self._explainer.told(self._before, data)
        if (told[0], told[2]) != (self._told[0], self._told[2]):
            return "used"
        return "kept" if told[1] != self._told[1] else None


def _inside(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value[:_MAX_ITEMS])) if isinstance(value, list) else []


def _changed(value: Any, path: Path, new: Any) -> Any:
    """Return a copy that has another value at a place, or none."""
    copied = value.copy()
    if len(path) > 1:
        copied[path[0]] = _changed(value[path[0]], path[1:], new)
    elif new is _ABSENT:
        del copied[path[0]]
    else:
        copied[path[0]] = new
    return copied


def _other(value: Any) -> Any:
    """Return a value that says something else, of the same kind; what is empty says nothing."""
    if isinstance(value, dict):
        return {name: _other(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_other(inner) for inner in value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return _FAILED_CODE if value != _FAILED_CODE else 0
    if isinstance(value, str) and value:
        return "error" if value.lower() not in ("error", "failed") else "completed"
    return value


def _shown(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {
        reason: count - before.get(reason, 0)
        for reason, count in after.items()
        if count > before.get(reason, 0)
    }


def _value_of(data: bytes) -> Any:
    try:
        return decode_leniently(data)[0]
    except ValueError:
        return None
