"""What is whole in a record that no decoder takes."""

from __future__ import annotations

import pytest

from lastsignal.core.framing import salvage

OFFSET, LINE = 100, 7


def salvaged(data: bytes) -> list[bytes]:
    """Return what is salvaged of a record, its offsets checked."""
    found = salvage((data, OFFSET, LINE))
    for record, offset, line in found:
        start = offset - OFFSET
        assert record == data[start : start + len(record)]
        assert line == LINE + data.count(b"\n", 0, start)
    return [record for record, _, _ in found]


def test_two_objects_on_one_line_are_parted() -> None:
    assert salvaged(b'{"a":1}{"b":{"c":2}} {"d":3}') == [b'{"a":1}', b'{"b":{"c":2}}', b'{"d":3}']


@pytest.mark.parametrize(
    "torn", [b'{"a": "hal', b'{"a": {"b": 12', b'{"a"', b'{"a": tr', b'{"a": "x"']
)
def test_an_object_right_behind_a_torn_one_is_found(torn: bytes) -> None:
    assert salvaged(torn + b'{"c": {"d": 1}}') == [b'{"c": {"d": 1}}']


def test_an_object_behind_the_hole_that_a_crash_left_is_found() -> None:
    assert salvaged(b'{"a": "x\0\0\0\0{"c": 1}') == [b'{"c": 1}']


def test_whole_objects_before_a_torn_one_are_kept() -> None:
    assert salvaged(b'{"a":1}{"b": "x{"c":3}') == [b'{"a":1}', b'{"c":3}']


def test_text_between_two_objects_is_passed_over() -> None:
    assert salvaged(b'{"a":1} and {"b":2}') == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": {"b": 1}',  # torn behind an inner object, which is none of its own
        b'{"a": [{"b": 1}, {"c": 1}',
        b'{"a": bad, "b": {"c": 1}}',
        b"{'a': 1}",
        b"{}",
        b"",
        b'{"a": ' * 3000,
    ],
)
def test_an_inner_object_never_stands_for_the_outer_one(data: bytes) -> None:
    assert salvaged(data) == []


def test_a_record_beyond_reason_is_left_alone() -> None:
    assert salvaged(b'{"a":1}' * 200_000) == []
