"""Framing's laws: chunks and restarts never matter, and what was written is what is read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from lastsignal.core.framing import Checkpoint, Framer, Record, Skip

LIMIT = 200  # bytes: small enough that lines, objects and elements outgrow it
Framed = tuple[list[Record], Counter[str], list[Skip]]

pieces = st.sampled_from(
    [
        b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b"\n", b" ", b"\r\n", b"\0", b"a",
        b'{"a":1}', b'{"a":1}\n', b'{"a": 1,', b'"b":2}', b'{"a":[', b'{"a":\n', b"{\n", b"},\n",
        b'  "k": "v",\n', b'  "k": {\n', b'["e",{"x":1}]', b"[\n", b"]\n", b'1}, {"b":', b"[1,2]",
        b"INFO x ", b"[2026-01-01] ", b"\x01\x02", b"\xef\xbb\xbf", b"\xff\xfe", b"null", b'\\"',
        b'{"s":"' + b"y" * 60, b" " * 70, b"x" * 100, b"/", b'\n // {"n"\n',
    ]
)  # fmt: skip
CRI = b"2026-09-01T00:00:00.000000000Z "
container_pieces = st.sampled_from(
    [
        CRI + b'stdout P {"a":', CRI + b"stdout P 1,", CRI + b'stdout F "b":2}',
        CRI + b"stdout F }",
        CRI + b'stdout F {"c":3}', CRI + b'stderr P {"e":', CRI + b"stderr F 4}",
        CRI + b"stdout P " + b" " * 90, CRI + b"stderr F plain text", b'{"d":5}', b"noise", b"[",
    ]
).map(lambda line: line + b"\n")  # fmt: skip
containers = st.lists(container_pieces, max_size=40).map(b"".join)
sources = st.one_of(st.lists(pieces, max_size=60).map(b"".join), st.binary(max_size=400))
cuts = st.lists(st.integers(1, 90), max_size=40)


def frame(data: bytes) -> Framed:
    """Frame a source that arrives at once."""
    framer = Framer(LIMIT)
    records = framer.feed(data) + framer.finish()
    return records, Counter(framer.skipped), framer.drain_samples()


def chunks(data: bytes, sizes: list[int]) -> list[bytes]:
    """Cut a source into chunks of these sizes and a rest."""
    made, start = [], 0
    for size in sizes:
        made.append(data[start : start + size])
        start += size
    return [*made, data[start:]]


@given(data=st.one_of(sources, containers), sizes=cuts)
@example(data=b'{"a": [\n{"b": 1}\n{"c": 1}\n', sizes=[1] * 30)
@example(data=b'{"a":\n1}, {"b":\n' + b" " * 190 + b"x", sizes=[15, 100])
def test_chunks_never_matter(data: bytes, sizes: list[int]) -> None:
    framer = Framer(LIMIT)
    records: list[Record] = []
    for chunk in chunks(data, sizes):
        records += framer.feed(chunk)
        assert framer.buffered_bytes <= 5 * LIMIT
    records += framer.finish()

    assert (records, Counter(framer.skipped), framer.drain_samples()) == frame(data)


@given(data=st.one_of(sources, containers), sizes=cuts)
@example(data=CRI + b"stdout P {\n" + CRI + b'stdout F\n"a":1}\n', sizes=[])
@example(data=CRI + b"stdout P {\n" + CRI + b"stdout F \n", sizes=[40])
@example(data=CRI + b"stdout P [{\n" + CRI + b'stdout F "a":1}\n{"b":2}]\n', sizes=[60, 20])
def test_a_restart_anywhere_loses_nothing_and_repeats_nothing(
    data: bytes, sizes: list[int]
) -> None:
    framer, records, skipped, samples, position = Framer(LIMIT), [], Counter[str](), [], 0
    for size in [*sizes, len(data)]:
        records += framer.feed(data[position : position + size])
        position = min(len(data), position + size)
        skipped.update(framer.skipped)
        samples += framer.drain_samples()
        stored = msgspec.msgpack.encode(framer.checkpoint())
        checkpoint = msgspec.msgpack.decode(stored, type=Checkpoint)
        framer, position = Framer(LIMIT, checkpoint), checkpoint.offset
    records += framer.feed(data[position:]) + framer.finish()
    skipped.update(framer.skipped)
    samples += framer.drain_samples()

    expected = frame(data)
    assert (records, skipped) == expected[:2]
    assert samples[: len(expected[2])] == expected[2]


@given(data=sources)
def test_a_record_is_what_stands_at_its_offset_and_its_line(data: bytes) -> None:
    records, _, _ = frame(data)

    end = 0
    for record, offset, line in records:
        assert end <= offset
        assert record == data[offset : offset + len(record)]
        assert line == 1 + data.count(b"\n", 0, offset)
        assert len(record) <= LIMIT
        end = offset + len(record)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('{}[]":,\\\nax', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
objects = st.lists(st.dictionaries(st.text('a{"\n', max_size=3), values), min_size=1, max_size=6)


def _lines(made: list[Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in made)


def _printed(indent: int) -> Callable[[list[Any]], str]:
    return lambda made: "\n".join(json.dumps(one, indent=indent) for one in made)


def _document(indent: int | None) -> Callable[[list[Any]], str]:
    return lambda made: json.dumps(made, indent=indent)


LAYOUTS = [
    _lines, _printed(0), _printed(2), _printed(4), _document(None), _document(0), _document(2),
]  # fmt: skip


@given(made=objects, write=st.sampled_from(LAYOUTS), windows=st.booleans())
def test_what_was_written_is_what_is_read(
    made: list[Any], write: Callable[[list[Any]], str], windows: bool
) -> None:
    text = write(made)
    data = (text.replace("\n", "\r\n") if windows else text).encode()
    framer = Framer()

    records = framer.feed(data) + framer.finish()

    assert [json.loads(record) for record, _, _ in records] == made
    assert framer.skipped == {}
