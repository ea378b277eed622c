"""What is odd in a record and used all the same: counted, with the place of the first."""

from __future__ import annotations

import json
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.reading.repeated_keys import ALL_OF, ONE_IN, repeats_a_key
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.framing import Framer, Record

SOUND = (
    b'{"timestamp":1780000000,"trace_id":"t","event_type":"tool_call","operation":"search",'
    b'"status":"started","metadata":{"note":"\\"status\\": \\"failed\\", \\"status\\": 1"}}'
)
TWICE = SOUND.replace(b'"status":"started"', b'"status":"failed","status":"started"')


def records(*lines: bytes) -> list[Record]:
    """Return lines as records of a file."""
    return [(line, 0, number) for number, line in enumerate(lines, 1)]


def read(lines: list[bytes], batch: int = 10**9, now: float = inf) -> Reader:
    """Return the reader of a file, given so many of its records at a time."""
    reader, found = Reader("trace.jsonl", LADDER, 0.0), records(*lines)
    reader.now = now
    for start in range(0, len(found), batch):
        reader.read(found[start : start + batch])
    return reader


@pytest.mark.parametrize(
    ("record", "repeats"),
    [
        (SOUND, False),
        (TWICE, True),
        (b'{"a": {"b": 1}, "b": {"a": 2}}', False),
        (b'[{"a": 1}, {"a": 2}]', False),
        (b'{"a": [{"b": {"c": 1, "c" : 2}}]}', True),
        (rb'{"say \"hi\"": 1, "say \"hi\"": 2}', True),
        (rb'{"text": "\"a\": 1, \"a\": 2"}', False),
        (b'{"a": NaN, "a": 1}', True),
        (b'{"a": 1, "a": ', False),
        (b'{"a": 1, "a": "\xff"}', False),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, False),
        (b"", False),
    ],
)
def test_a_key_is_repeated_only_where_one_object_holds_it_twice(
    record: bytes, repeats: bool
) -> None:
    assert repeats_a_key(record) is repeats


@given(pairs=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=4))
def test_keys_are_repeated_exactly_where_a_decoder_would_lose_one(
    pairs: list[tuple[str, int]],
) -> None:
    text = "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"

    assert repeats_a_key(text.encode()) is (len(json.loads(text)) < len(pairs))


def test_the_last_value_of_a_repeated_key_counts_and_it_is_told_where_the_first_one_was() -> None:
    reader = Reader("trace.jsonl", LADDER, 0.0)

    events = reader.read(records(SOUND, TWICE, SOUND, TWICE))

    assert [event.status for event in events] == ["started"] * 4
    assert (reader.mended, reader.first_mended) == ({"duplicate_key": 2}, {"duplicate_key": 2})
    assert reader.skipped == {}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (SOUND.replace(b"search", b"s\xffarch"), "invalid_utf8"),
        (SOUND.replace(b"1780000000", b"NaN"), "nonstandard_json"),
        (SOUND.replace(b"search", rb"s\ud83drch"), "nonstandard_json"),
        (SOUND.replace(b"1780000000", b"0"), "unusable_time"),
        (SOUND.replace(b"1780000000", b'"0000-01-01T00:00:00Z"'), "unusable_time"),
        (SOUND.replace(b"1780000000", b'"9999-12-31T23:59:59Z"'), "unusable_time"),
        (SOUND.replace(b"1780000000", b"253402300799"), "unusable_time"),
        (SOUND.replace(b"1780000000", b'"yesterday"'), "unusable_time"),
        (SOUND.replace(b"1780000000", b"1790000000"), "unusable_time"),  # months ahead
    ],
)
def test_what_is_odd_in_a_record_that_is_read_is_counted(odd: bytes, reason: str) -> None:
    reader = read([SOUND, odd], now=1780000000.0)

    assert (reader.events, reader.mended, reader.first_mended) == (2, {reason: 1}, {reason: 2})


@pytest.mark.parametrize("said", [b"null", b'""'])
def test_a_record_that_says_no_time_is_not_odd(said: bytes) -> None:
    reader = read([SOUND, SOUND.replace(b"1780000000", said)])

    assert (reader.events, reader.mended) == (2, {})


def test_of_many_records_some_are_looked_at() -> None:
    many = 10 * ONE_IN
    reader = read([TWICE] * (ALL_OF + many))

    assert reader.mended == {"duplicate_key": ALL_OF + many // ONE_IN}


@pytest.mark.parametrize("batch", [1, 7, 31, 32, 33, 999])
def test_batches_and_restarts_look_at_the_same_records(batch: int) -> None:
    lines = [TWICE if number % 5 == 0 else SOUND for number in range(ALL_OF + 500)]
    whole, batched = read(lines), read(lines[:batch])
    again = Reader("trace.jsonl", LADDER, 0.0)
    again.restore(batched.save())
    found = records(*lines)
    for start in range(batch, len(found), batch):
        again.read(found[start : start + batch])

    assert again.mended == whole.mended
    assert again.first_mended == whole.first_mended == {"duplicate_key": 1}


def test_a_document_over_many_lines_is_looked_at_like_a_line() -> None:
    framer, reader = Framer(), Reader("trace.jsonl", LADDER, 0.0)
    pretty = json.dumps(json.loads(SOUND), indent=2).replace(
        '"status": "started"', '"status": "failed",\n  "status": "started"'
    )

    reader.read(framer.feed(SOUND + b"\n" + pretty.encode() + b"\n"))
    reader.read(framer.finish())

    assert (reader.mended, reader.first_mended) == ({"duplicate_key": 1}, {"duplicate_key": 2})


@pytest.mark.parametrize(
    "unknown", [b'{"q":1,"q":2}', b'{"q":NaN}', b'{"q":"\xff"}', b'{"q":1,"q":NaN}']
)
def test_an_odd_record_of_no_layout_is_skipped_and_nothing_else(unknown: bytes) -> None:
    reader = read([SOUND, unknown, TWICE])
    assert reader.skipped == {"unrecognised_record": 1}
    assert (reader.mended, reader.first_mended) == ({"duplicate_key": 1}, {"duplicate_key": 3})
    assert read([unknown]).mended == {}


def test_an_empty_record_is_skipped_and_nothing_else() -> None:
    reader = read([b"", TWICE, b""])
    assert (reader.skipped, reader.mended) == ({"blank": 2}, {"duplicate_key": 1})
