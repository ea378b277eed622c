"""Records without a time of their own take the one at which their line was wrapped."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.reading.source_clock import AHEAD_SECONDS
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.framing import Framer

T0 = 1_788_249_600  # 2026-09-01 08:00:00 UTC
HOUR = 3600.0

Line = tuple[float, float | None]
"""When it was wrapped, and its record's own time, in seconds after T0."""


def docker(line: Line) -> bytes:
    """Return a line of Docker's json-file log that holds one record."""
    wrapped, own = line
    record: dict[str, object] = {"event_type": "tool_call", "trace_id": "t", "operation": "a"}
    if own is not None:
        record["timestamp"] = T0 + own
    time = datetime.fromtimestamp(T0 + wrapped, UTC).isoformat()
    line_of = {"log": json.dumps(record) + "\n", "stream": "stdout", "time": time}
    return json.dumps(line_of).encode() + b"\n"


def read(*lines: Line, now: float = 1e6, restart: bool = False) -> list[tuple[float, str]]:
    """Return the times of the events, relative to T0, and where each is from."""
    reader, framer, found = Reader("t", LADDER, 0.0), Framer(), []
    reader.now = T0 + now
    for line in lines:
        found += reader.read(framer.feed(docker(line)))
        if restart:
            saved, reader = reader.save(), Reader("t", LADDER, 0.0)
            reader.restore(saved)
            reader.now = T0 + now
    return [(one.timestamp - T0, one.timestamp_source) for one in [*found, *reader.finish()]]


def test_a_record_without_a_time_has_that_of_its_wrapper() -> None:
    assert read((0, None), (5, None), (9000, None)) == [
        (0, "wrapper"),
        (5, "wrapper"),
        (9000, "wrapper"),
    ]


def test_a_time_of_its_own_comes_first() -> None:
    assert read((0.5, 0), (3.5, 3)) == [(0, "record"), (3, "record")]


def test_beside_times_of_its_own_the_wrapper_s_count_where_the_clocks_agree() -> None:
    lines = ((0.5, 0), (4, None), (10, 9.5), (11, None))
    told = [(0, "record"), (4, "wrapper"), (9.5, "record"), (11, "wrapper")]

    assert read(*lines) == told
    assert read(*lines, restart=True) == told


@pytest.mark.parametrize("hours", [2, -5])
def test_a_program_that_writes_local_times_is_not_mixed_with_another_zone(hours: float) -> None:
    zone = hours * HOUR
    assert read((0, zone), (5, None), (9, 9 + zone)) == [
        (zone, "record"),
        (zone, "inherited"),
        (9 + zone, "record"),
    ]


@pytest.mark.parametrize("restart", [False, True])
def test_a_program_s_own_clock_holds_from_its_first_time_on(restart: bool) -> None:
    zone = -5 * HOUR
    lines = ((0, None), (1, 1 + zone), (2, None), (3, 3 + zone), (4, None))

    assert read(*lines, restart=restart) == [
        (0, "wrapper"),
        (1 + zone, "record"),
        (1 + zone, "inherited"),
        (3 + zone, "record"),
        (3 + zone, "inherited"),
    ]


def logged(*lines: tuple[str, str]) -> list[tuple[float, str]]:
    """Return the times that records have whose lines a program's logger begins with its own."""
    reader, framer, found = Reader("t", LADDER, 0.0), Framer(), []
    reader.now = T0 + 1e6
    for prefix, own in lines:
        record = {"event_type": "tool_call", "trace_id": "t", "operation": "a"}
        text = json.dumps(record | ({"timestamp": own} if own else {}))
        found += reader.read(framer.feed(f"{prefix} INFO agent {text}\n".encode()))
    return [(one.timestamp - T0, one.timestamp_source) for one in [*found, *reader.finish()]]


def test_a_record_without_a_time_has_that_of_its_log_line() -> None:
    assert logged(("2026-09-01 08:00:01,500", ""), ("[2026-09-01 08:00:04]", "")) == [
        (1.5, "wrapper"),
        (4.0, "wrapper"),
    ]


@pytest.mark.parametrize("local", ["2026-09-01 10:00:0", "2026-09-01 03:00:0"])
def test_the_local_times_of_a_log_do_not_mix_with_those_of_its_records(local: str) -> None:
    lines = [(f"{local}{n},100", f"2026-09-01T08:00:0{n}Z" if n % 2 else "") for n in range(1, 5)]
    assert logged(*lines) == [
        (1.0, "record"),
        (1.0, "inherited"),
        (3.0, "record"),
        (3.0, "inherited"),
    ]


def test_lines_of_two_streams_that_pass_each_other_do_not_turn_time_back() -> None:
    assert read((5, None), (4.9, None), (6, None)) == [
        (5, "wrapper"),
        (5, "wrapper"),
        (6, "wrapper"),
    ]


def test_one_wrapper_from_the_far_future_does_not_move_the_clock() -> None:
    ahead = 3 * AHEAD_SECONDS
    assert read((0, None), (ahead, None), (5, None), now=10) == [
        (0, "wrapper"),
        (0, "inherited"),
        (5, "wrapper"),
    ]


def test_a_wrapper_without_a_usable_time_lends_none() -> None:
    line = b'{"date":0,"log":"{\\"event_type\\":\\"tool_call\\",\\"operation\\":\\"a\\"}"}\n'
    reader, framer = Reader("t", LADDER, 7.0), Framer()

    events = reader.read(framer.feed(line)) + reader.finish()

    assert [(one.timestamp, one.timestamp_source) for one in events] == [(7.0, "ingest")]


def test_the_events_of_a_document_in_a_line_are_found_at_the_line() -> None:
    spans = [
        {"name": "execute_tool a", "context": {"trace_id": "0x1", "span_id": f"0x{n}"}}
        | {"parent_id": None, "start_time": "2026-09-01T08:00:00Z"}
        | {"end_time": "2026-09-01T08:00:01Z", "attributes": {"gen_ai.operation.name": "chat"}}
        for n in (1, 2)
    ]
    log = json.dumps({"spans": spans}) + "\n"
    plain = log.encode()
    wrapped = json.dumps({"log": log, "stream": "stdout", "time": "2026-09-01T08:00:02Z"}).encode()
    node = b"2026-09-01T08:00:02.0Z stdout F " + plain

    places = {}
    for name, data in (("plain", plain), ("docker", wrapped + b"\n"), ("cri", node)):
        reader, framer = Reader("t", LADDER, 0.0), Framer()
        events = reader.read(framer.feed(b"\n" + data)) + reader.finish()
        places[name] = [(one.line, one.offset) for one in events]

    header = node.index(b"{")
    assert len({offset for _, offset in places["plain"]}) == 2
    assert places["docker"] == [(2, 1)] * len(places["plain"])
    assert places["cri"] == [(line, offset + header) for line, offset in places["plain"]]
