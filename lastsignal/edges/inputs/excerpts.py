"""The text of records, re-read from their sources, fit to be shown to people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from lastsignal.core.framing import first_record
from lastsignal.edges.inputs.sources import Source
from lastsignal.errors import InputError

DEFAULT_CHARACTERS = 1000

_READ_BYTES = 64 * 1024  # of a record; what matters in a longer one stands near its start
_LEAST_READ_BYTES = 2 * 1024
_SOURCE_BYTES = 16 * 1024 * 1024  # read of one source: much evidence means less of each record

_break_of_line = re.compile(r"\s*[\r\n]\s*")


class Place(NamedTuple):
    """Where the evidence stands."""

    source: str
    offset: int
    """Bytes from the start of the decompressed source."""
    length: int | None = None
    """None: the record that begins there."""
    focus: str = ""
    """What must be in view where the record is longer than what is shown."""


def read_excerpts(
    places: Iterable[Place], sources: Iterable[Source], characters: int = DEFAULT_CHARACTERS
) -> dict[Place, str]:
    """Return the text at each place, every source read at most once.

    A place whose source is not among those given or cannot be read again has none.
    """
    by_name = {source.name: source for source in sources}
    wanted: dict[str, list[Place]] = {}
    for place in dict.fromkeys(places):
        wanted.setdefault(place.source, []).append(place)
    excerpts: dict[Place, str] = {}
    for name, group in wanted.items():
        if name not in by_name:
            continue
        most = max(_LEAST_READ_BYTES, min(_READ_BYTES, _SOURCE_BYTES // len(group)))
        spans = [(place.offset, min(place.length or most, most)) for place in group]
        try:
            for index, data in by_name[name].read_at(spans):
                place = group[index]
                record = data if place.length is not None else first_record(data, most)
                excerpts[place] = excerpt_of(record, place.focus, characters)
        except InputError:  # gone since it was read: the finding stands without its text
            continue
    return excerpts


def excerpt_of(record: bytes, focus: str = "", characters: int = DEFAULT_CHARACTERS) -> str:
    """Return a record on one line, all invisible characters escaped, cut around its focus."""
    text = visible(record.decode("utf-8", "replace"))
    if len(text) <= characters:
        return text
    found, length = _find(text, focus)
    start = 0 if found + length < characters else max(0, found - characters // 4)
    cut = text[start : start + characters]
    if start:
        cut = "…" + cut[1:]
    return cut[:-1] + "…" if start + characters < len(text) else cut


def visible(text: str) -> str:
    """Return text that a terminal can show as it is: it moves no cursor and hides nothing."""
    text = _break_of_line.sub(" ", text.strip())
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) != 0x7F else "\\u007f"


def _find(text: str, focus: str) -> tuple[int, int]:
    """Find the focus as it is, or as JSON writes it."""
    for written in (focus, json.dumps(focus)[1:-1], json.dumps(focus, ensure_ascii=False)[1:-1]):
        found = text.find(visible(written)) if written else -1
        if found >= 0:
            return found, len(written)
    return 0, 0
