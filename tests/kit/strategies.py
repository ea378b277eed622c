"""Records and bytes that hypothesis makes up: near to real ones, and far from any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st
from kit.mutations import REMOVED, changed, encode, paths_of

from lastsignal.core.framing import Framer

_WORD = re.compile(r"[A-Za-z]{3}")
FIXTURES = Path(__file__).parents[1] / "core" / "aliases" / "fixtures"


@cache
def fixture_files() -> tuple[Path, ...]:
    """Return the fixtures of all layouts: `<dialect>/<case>.jsonl` or `.json`."""
    return tuple(sorted(FIXTURES.glob("*/*")))


@cache
def records_of_file(path: Path) -> tuple[bytes, ...]:
    """Return the records of a fixture."""
    framer = Framer()
    records = framer.feed(path.read_bytes()) + framer.finish()
    assert not framer.skipped, path
    return tuple(data for data, _, _ in records)


@cache
def _words() -> tuple[list[str], list[str]]:
    """Return every key and every short text of all fixtures: what dialects look for."""
    keys: set[str] = set()
    texts: set[str] = set()

    def gather(value: Any) -> None:
        if isinstance(value, dict):
            keys.update(value)
            for inner in value.values():
                gather(inner)
        elif isinstance(value, list):
            for inner in value:
                gather(inner)
        elif isinstance(value, str) and len(value) < 60:
            texts.add(value)

    for path in fixture_files():
        for record in records_of_file(path):
            gather(msgspec.json.decode(record))
    return sorted(keys), sorted(texts)


@cache
def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value, often with the keys and the words that dialects look for."""
    keys, texts = _words()
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(-(2**80), 2**80)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.sampled_from(texts)
        | st.text(max_size=12)
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(keys) | st.text(max_size=6), inner, max_size=6)
        ),
        max_leaves=14,
    )


def odd_values() -> st.SearchStrategy[Any]:
    """What stands in a field by mistake: none of it is a word, or a sum, that means a failure."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(-50, 50)
        | st.sampled_from([2**63, -(10**30), 1e308, -0.5, 1e-9])
        | st.text(max_size=8).filter(lambda text: not _WORD.search(text))
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        ),
        max_leaves=6,
    )


@st.composite
def near_records(draw: st.DrawFn, records: Sequence[bytes]) -> bytes:
    """A record with up to four of its fields missing or of any other value."""
    value = msgspec.json.decode(draw(st.sampled_from(records)))
    for _ in range(draw(st.integers(1, 4))):
        paths = paths_of(value, limit=150)
        if not paths:
            break
        new = REMOVED if draw(st.integers(0, 4)) == 0 else draw(json_values())
        value = changed(value, draw(st.sampled_from(paths)), new)
    return encode(value)


@st.composite
def hostile_files(draw: st.DrawFn) -> bytes:
    """A file of records of several layouts, with what crashes, disks and people make of it."""
    pieces = []
    for _ in range(draw(st.integers(1, 6))):
        record = draw(st.sampled_from(records_of_file(draw(st.sampled_from(fixture_files())))))
        kind = draw(st.integers(0, 7))
        if kind == 0:
            record = record[: draw(st.integers(0, len(record)))]
        elif kind == 1:
            at = draw(st.integers(0, len(record)))
            record = record[:at] + draw(st.binary(max_size=6)) + record[at:]
        elif kind == 2:
            record = draw(near_records((record,)))
        elif kind == 3:
            record = draw(st.binary(max_size=40)) + record
        elif kind == 4:
            record = draw(st.binary(max_size=80))
        pieces.append(record + draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"", b",\n", b"\n\n"])))
    return b"".join(pieces)
