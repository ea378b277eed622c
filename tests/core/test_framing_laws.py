"""Framing's laws: chunks and restarts never matter, and what was written is what is read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from lastsignal.core.framing import Checkpoint, Framer, Record, Skip, Unwrapped
from lastsignal.core.framing.records import ProgramLine

LIMIT = 200  # bytes: small enough that lines, objects and elements outgrow it
Framed = tuple[list[Record], Counter[str], list[Skip]]

pieces = st.sampled_from(
    [
        b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b"\n", b" ", b"\r\n", b"\0", b"a",
        b'{"a":1}', b'{"a":1}\n', b'{"a": 1,', b'"b":2}', b'{"a":[', b'{"a":\n', b"{\n", b"},\n",
        b'  "k": "v",\n', b'  "k": {\n', b'["e",{"x":1}]', b"[\n", b"]\n", b'1}, {"b":', b"[1,2]",
        b"INFO x ", b"[2026-01-01] ", b"\x01\x02", b"\xef\xbb\xbf", b"\xff\xfe", b"null", b'\\"',
        b'{"s":"' + b"y" * 60, b" " * 70, b"x" * 100, b"/", b'\n // {"n"\n', b"\x1e",
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


def docker(stream: str, text: str, ends: bool) -> bytes:
    """Return a piece of what a program wrote as Docker's json-file log has it."""
    time = "2026-09-01T00:00:00Z"
    return _one_line({"log": text + "\n" * ends, "stream": stream, "time": time})


def cri(stream: str, text: str, ends: bool) -> bytes:
    """Return the same as a Kubernetes node writes it."""
    return f"2026-09-01T00:00:00Z {stream} {'F' if ends else 'P'} {text}\n".encode()


def journald(stream: str, text: str, ends: bool) -> bytes:
    """Return the same as `journalctl -o json` prints it."""
    entry = {"__REALTIME_TIMESTAMP": "1788220800000000", "_STREAM_ID": stream, "MESSAGE": text}
    return _one_line(entry if ends else {**entry, "_LINE_BREAK": "line-max"})


def _one_line(value: dict[str, str]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


wrapped_pieces = st.sampled_from(
    [
        wrap(stream, text, ends)
        for wrap in (docker, journald)
        for stream in ("stdout", "stderr")
        for text, ends in (
            ('{"a":', False), ("1,", False), ('"b":2}', True), ('{"c":3}', True), ("}", True),
            ("{", True), (" " * 60, False), ("plain text", True), ("", True), ("[", True),
        )
    ]
    + [
        b'{"date":1.5,"log":"{\\"f\\":1}"}\n', b'{"date":1.5,"log":"plain"}\n',
        b'{"date":1.5,"log":"{\\"g\\":","_p":"P"}\n', b'{"date":1.5,"log":"1}","_p":"F"}\n',
        b'{"MESSAGE":null,"__REALTIME_TIMESTAMP":"1"}\n',
        b'{"d":5}\n', b'{"d":5}\n' * 70, b"noise\n", b"[\n", b'{"log":"x', b"2026-09-01 {",
        b'2026-09-01T00:00:00Z {"h":6}\n', b'x 2026-09-01T00:00:00Z {"h":6} {"i":7}\n',
    ]
)  # fmt: skip
nested_pieces = st.sampled_from(
    [
        outer(stream, inner.decode().rstrip("\n"), True)
        for outer in (docker, cri, journald)
        for inner in (
            docker("stdout", '{"a":', False), docker("stdout", "1}", True),
            docker("stderr", '{"b":2}', True), docker("stderr", "{", True), cri("x", "}", True),
            cri("stdout", '{"c":', False), cri("stdout", "3}", True),
            b'{"date":1.5,"log":"{\\"f\\":1}"}', b'{"d":5}', b"plain text",
            docker("stdout", '{"date":1.5,"log":"{\\"g\\":1}"}', True),
        )
        for stream in ("stdout", "stderr")
    ]
    + [docker("stdout", '{"date":1.5,"log":"{\\"h\\":', False), docker("stdout", '1}"}', True)]
)  # fmt: skip
containers = st.one_of(containers, st.lists(nested_pieces, max_size=40).map(b"".join))
containers = st.one_of(containers, st.lists(wrapped_pieces, max_size=40).map(b"".join))
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
    assert [whence(one) for one in records] == [whence(one) for one in expected[0]]
    assert samples[: len(expected[2])] == expected[2]


Piece = tuple[str, str, bool]
"""(stream, text, whether it ends the program's line)."""


@st.composite
def programs(draw: st.DrawFn) -> tuple[dict[str, str], list[Piece]]:
    """Draw what a program writes to its two streams, and the pieces in which a runtime has it."""
    written, pieces_of = {}, {}
    for stream in ("stdout", "stderr"):
        text = draw(st.lists(pieces, max_size=30).map(b"".join)).decode("utf-8", "ignore")
        written[stream] = text = "\n" + text.rstrip("\ufeff")
        sizes = draw(st.lists(st.integers(1, 15), max_size=8)) or [15]
        cut: list[Piece] = []
        for line in text.split("\n")[:-1]:
            while len(line) > sizes[0]:
                cut.append((stream, line[: sizes[0]], False))
                line, sizes = line[sizes[0] :], [*sizes[1:], sizes[0]]
            cut.append((stream, line, True))
        rest = text[text.rindex("\n") + 1 :]
        cut += [(stream, rest[n : n + 15], False) for n in range(0, len(rest), 15)]
        pieces_of[stream] = cut
    merged: list[Piece] = []
    while any(pieces_of.values()):
        stream = draw(st.sampled_from([one for one, cut in pieces_of.items() if cut]))
        merged.append(pieces_of[stream].pop(0))
    return written, merged


@given(made=programs(), wrap=st.sampled_from([docker, cri, journald]))
def test_what_a_program_wrote_is_cut_as_if_it_stood_in_a_file_of_its_own(
    made: tuple[dict[str, str], list[Piece]], wrap: Callable[[str, str, bool], bytes]
) -> None:
    written, cut = made
    data = b"".join(wrap(*piece) for piece in cut)
    records, skipped, _ = frame(data)
    alone = {stream: frame(text.encode()) for stream, text in written.items()}

    for stream, (expected, _, _) in alone.items():
        found = [one for one in records if told(one).stream == stream]
        assert [one[0] for one in found] == [one[0] for one in expected]
    assert skipped == sum((counts for _, counts, _ in alone.values()), Counter())


@given(data=containers)
def test_a_wrapped_record_begins_in_the_line_at_its_offset(data: bytes) -> None:
    for record in frame(data)[0]:
        found, offset, line = record
        assert line == 1 + data.count(b"\n", 0, offset)
        if not isinstance(record, Unwrapped) or record.stands_so:
            assert found == data[offset : offset + len(found)]
        else:
            first = b"{" if record.ended_by.start is None else found[:1]
            assert data[offset : offset + 1] == first


def whence(record: Record) -> tuple[str, object, bool] | None:
    """Return who has wrapped a record, and what that tells."""
    if not isinstance(record, Unwrapped):
        return None
    return record.ended_by.wrapper, record.ended_by.written, record.stands_so


def told(record: Record) -> ProgramLine:
    """Return the line that has ended a record which was wrapped."""
    assert isinstance(record, Unwrapped)
    return record.ended_by


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
