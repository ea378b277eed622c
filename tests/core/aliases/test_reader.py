"""The reader as a whole: choosing dialects, keeping them, salvage, and mistakes in dialects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.reading.source_clock import AHEAD_SECONDS
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer

T0 = 1_780_000_000


class Counting:
    """A dialect of records with a key of its own, which counts what it is asked."""

    def __init__(self, key: str, fault: Exception | None = None) -> None:
        self.asked = 0
        self.made = 0
        self.fault = fault
        self.key = key
        self.state = None
        self.dialect = Dialect(key, key, self.recognise, self.make)

    def recognise(self, value: Any) -> bool:
        self.asked += 1
        return isinstance(value, dict) and self.key in value

    def make(self, source: str) -> Counting:
        self.made += 1
        return self

    def decode(self, record: bytes) -> Decoded:
        value = json.loads(record)
        if self.key not in value:
            raise NotThisDialect
        if value[self.key] == "bad" and self.fault:
            raise self.fault
        if value[self.key] == "drop":
            return Drop("said_nothing")
        return [Event(event_type="tool_call", operation=self.key, timestamp=T0 + value[self.key])]


def placed(*records: bytes) -> list[tuple[bytes, int, int]]:
    """Return records as lines of a file."""
    found, offset = [], 0
    for line, record in enumerate(records, 1):
        found.append((record, offset, line))
        offset += len(record) + 1
    return found


def read_file(data: bytes) -> tuple[list[Event], Reader]:
    """Return the events of a file's bytes."""
    framer, reader = Framer(), Reader("trace.jsonl", LADDER, 0.0)
    events = reader.read(framer.feed(data)) + reader.read(framer.finish()) + reader.finish()
    return events, reader


def native(second: int, operation: str) -> bytes:
    """Return a record of our own schema."""
    return json.dumps(
        {
            "timestamp": T0 + second,
            "trace_id": "t",
            "event_type": "tool_call",
            "operation": operation,
            "status": "started",
        }
    ).encode()


def test_a_settled_source_asks_no_dialect_again_however_many_there_are() -> None:
    many = [Counting(f"k{number}") for number in range(200)]
    reader = Reader("s", tuple(one.dialect for one in many), 0.0)

    events = reader.read(placed(*(b'{"k150": %d}' % second for second in range(500))))

    assert len(events) == 500
    assert sum(one.asked for one in many) == 151


def test_a_source_that_switches_dialects_and_back_keeps_the_decoder_of_each() -> None:
    one, two = Counting("one"), Counting("two")
    reader = Reader("s", (one.dialect, two.dialect), 0.0)

    records = [b'{"one": 1}', b'{"two": 2}', b'{"one": 3}', b'{"two": "drop"}', b'{"one": 5}']
    events = reader.read(placed(*records))

    assert [event.operation for event in events] == ["one", "two", "one", "one"]
    assert (one.made, two.made) == (1, 1)
    assert list(reader.formats) == ["one", "two"]
    assert reader.skipped == {"said_nothing": 1}
    assert reader.settled is one.dialect


@pytest.mark.parametrize(
    "fault",
    [
        KeyError("x"),
        IndexError(),
        TypeError("no"),
        AttributeError("x"),
        ValueError("bad"),
        ZeroDivisionError(),
        OverflowError(),
        AssertionError(),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_dialects_mistake_costs_one_record_and_is_told(fault: Exception) -> None:
    one = Counting("one", fault)
    reader = Reader("s", (one.dialect,), 0.0)

    events = reader.read(placed(b'{"one": "bad"}', b'{"one": 2}', b'{"one": "bad"}', b'{"one": 4}'))

    assert [event.timestamp - T0 for event in events] == [2, 4]
    assert reader.skipped == {"decoder_fault": 2}
    assert [found.dialect for found in reader.faults] == ["one", "one"]
    assert reader.faults[0].error.startswith(type(fault).__name__)


def test_what_is_no_mistake_of_a_dialect_is_not_hidden() -> None:
    reader = Reader("s", (Counting("one", MemoryError()).dialect,), 0.0)

    with pytest.raises(MemoryError):
        reader.read(placed(b'{"one": "bad"}'))


def test_a_recogniser_that_raises_leaves_the_record_to_the_others() -> None:
    def broken(value: Any) -> bool:
        raise KeyError("x")

    one = Counting("one")
    reader = Reader("s", (Dialect("broken", "b", broken, one.make), one.dialect), 0.0)

    assert len(reader.read(placed(b'{"one": 1}', b'{"one": 2}'))) == 2
    assert [found.dialect for found in reader.faults] == ["broken"]


def test_only_the_first_mistakes_are_kept() -> None:
    reader = Reader("s", (Counting("one", KeyError("x")).dialect,), 0.0)

    reader.read(placed(*[b'{"one": "bad"}'] * 1000))

    assert len(reader.faults) == 20
    assert reader.skipped == {"decoder_fault": 1000}


def test_two_objects_on_one_line_are_two_records() -> None:
    data = native(1, "a") + native(2, "b") + b"\n" + native(3, "c") + b"\n"

    events, reader = read_file(data)

    assert [(event.operation, event.line) for event in events] == [("a", 1), ("b", 1), ("c", 2)]
    assert [data[event.offset :][:12] for event in events] == [b'{"timestamp"'] * 3
    assert (reader.records, reader.skipped) == (3, {})


def test_a_whole_object_behind_a_torn_one_is_read_and_the_torn_one_counted() -> None:
    torn = native(1, "a")[:40]
    data = native(0, "z") + b"\n" + torn + native(2, "b") + b"\n" + native(3, "c") + b"\n"

    events, reader = read_file(data)

    assert [(event.operation, event.line) for event in events] == [("z", 1), ("b", 2), ("c", 3)]
    assert events[1].offset == data.index(native(2, "b"))
    assert (reader.records, reader.skipped) == (4, {"torn_line": 1})


def test_what_holds_no_whole_object_is_counted_once() -> None:
    events, reader = read_file(native(1, "a") + b'\n{"a": {"b": 1} x}\n')

    assert len(events) == 1
    assert reader.skipped == {"invalid_json": 1}
    assert reader.heads == [b'{"a": {"b": 1} x}']


def test_comments_of_a_printed_object_are_passed_over() -> None:
    first = native(1, "a")[:-1] + b',\n\n  // what "it" cost\n  "metadata": {"u": "http://x"}}'

    events, reader = read_file(first + b"\n" + native(2, "b") + b"\n")

    assert [(event.operation, event.line) for event in events] == [("a", 1), ("b", 5)]
    metadata = events[0].metadata
    found = json.loads(bytes(metadata)) if not isinstance(metadata, dict) else metadata
    assert found == {"u": "http://x"}
    assert reader.skipped == {}


@pytest.mark.parametrize(
    ("written", "is_read"),
    [
        (b'"cut \\ud83d"', "cut \ufffd"),
        (b'"\xff\xfe"', "??"),
        (b"NaN", ""),
        (b"-Infinity", None),
        (b"1e999", None),
    ],
)
def test_what_strict_json_refuses_is_mended_where_it_stands(
    written: bytes, is_read: object
) -> None:
    first = native(1, "a")[:-1] + b', "metadata": {"note": ' + written + b"}}"
    document = b"[\n" + first + b",\n\n" + native(2, "b") + b"\n]"

    events, reader = read_file(document)

    assert [(event.operation, event.line) for event in events] == [("a", 2), ("b", 4)]
    metadata = events[0].metadata
    found = json.loads(bytes(metadata)) if not isinstance(metadata, dict) else metadata
    assert found == {"note": is_read}
    assert reader.skipped == {}


def times_read(*times: float, latest: float) -> list[tuple[float, str]]:
    """Return what the events of these times get, relative to T0, and where it is from."""
    reader = Reader("t", LADDER, 0.0)
    reader.now = T0 + latest - AHEAD_SECONDS
    framer = Framer()
    events = reader.read(framer.feed(b"".join(native(time, "a") + b"\n" for time in times)))
    return [(event.timestamp - T0, event.timestamp_source) for event in events]


@pytest.mark.parametrize(
    ("time", "latest", "is_used"),
    [
        (9e7, 1e5, False),
        (9e4, 1e5, True),  # within what clocks and zones differ by
        (9e7, 9e7, True),  # the past: whoever reads an old file learns nothing from the wall clock
        (8e4, 0.0, True),  # no jump: a machine whose own clock is behind still reads
    ],
)
def test_one_record_from_the_far_future_does_not_move_the_clock(
    time: float, latest: float, is_used: bool
) -> None:
    found = times_read(1, time, 2, latest=latest)
    assert found == [
        (1, "record"),
        (time, "record") if is_used else (1, "inherited"),
        (2, "record"),
    ]


def test_a_file_that_is_all_ahead_keeps_its_times() -> None:
    assert times_read(1, 2, 3, latest=-1e6) == [(1, "record"), (2, "record"), (3, "record")]


def test_names_of_a_megabyte_are_cut_and_stay_distinct() -> None:
    names = ["x" * 1_000_000, "x" * 1_000_000, "x" * 999_999 + "y", "x" * 300]
    record = {"timestamp": T0, "event_type": "tool_call", "status": "started"}
    lines = [json.dumps({**record, "trace_id": n, "operation": n, "call_id": n}) for n in names]

    events, _ = read_file("\n".join(lines).encode())

    cut = [event.operation or "" for event in events]
    assert [len(name) for name in cut] == [300] * 4
    assert len(set(cut)) == 3
    assert cut[0] == cut[1]
    assert cut[3] == names[3]
    assert [event.trace_id for event in events] == cut == [event.call_id for event in events]


def agents_sdk(trace: str, second: float, **fields: Any) -> list[dict[str, Any]]:
    """Return a run as the OpenAI Agents SDK writes it: its start carries no time."""
    span = {"object": "trace.span", "trace_id": trace, "span_data": {"type": "custom", "name": "w"}}
    return [
        {"object": "trace", "id": trace, "workflow_name": "w"},
        {
            **span,
            "id": f"s-{trace}",
            "parent_id": None,
            "started_at": f"2026-03-01T00:00:{second:06.3f}+00:00",
            "ended_at": f"2026-03-01T00:00:{second + 1:06.3f}+00:00",
            "error": None,
            **fields,
        },
    ]


def test_a_log_of_an_earlier_time_that_was_appended_is_in_order_by_itself() -> None:
    later = {
        "timestamp": "2026-03-01T01:00:00Z", "trace_id": "n", "event_type": "agent_start",
    }  # fmt: skip
    records = [later, *agents_sdk("trace_a", 1), *agents_sdk("trace_b", 5)]
    reader = Reader("trace.jsonl", LADDER, 0.0)
    events = reader.read(placed(*(json.dumps(one).encode() for one in records)))
    events += reader.finish()

    for trace in ("trace_a", "trace_b"):
        told = [one.event_type for one in events if one.trace_id == trace]
        assert told == ["agent_start", "agent_end"]


def ran(framework: str) -> Dialect:
    """A dialect of `{"<framework>": "<event type>"}` whose records name a run only by number."""

    class Runs:
        state = None

        def __init__(self, source: str) -> None:
            self.source = source

        def decode(self, record: bytes) -> Decoded:
            value = json.loads(record)
            if framework not in value:
                raise NotThisDialect
            run = value.get("run", 1)
            trace_id = f"{self.source}#{run}" if run > 1 else ""
            return [Event(event_type=value[framework], timestamp=T0, trace_id=trace_id)]

    return Dialect(framework, framework, lambda value: framework in value, Runs)


def test_frameworks_that_share_a_source_have_runs_of_their_own() -> None:
    ladder = (ran("a"), ran("b"), ran("calls"))
    records = [
        {"a": "agent_start"},
        {"calls": "model_call"},
        {"b": "agent_start"},
        {"a": "agent_end"},
        {"b": "agent_start", "run": 2},
        {"calls": "model_call"},
    ]
    data = placed(*(json.dumps(one).encode() for one in records))
    whole, halves = Reader("f.jsonl", ladder, 0.0), Reader("f.jsonl", ladder, 0.0)
    events = halves.read(data[:3])
    restored = Reader("f.jsonl", ladder, 0.0)
    restored.restore(halves.save())
    events += restored.read(data[3:])

    for told in (whole.read(data), events):
        assert [event.trace_id for event in told] == [
            "f.jsonl", "f.jsonl", "f.jsonl#b", "f.jsonl", "f.jsonl#b#2", "f.jsonl",
        ]  # fmt: skip
