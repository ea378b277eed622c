"""The published schema on its fast path: it says what the tolerant way would say, only sooner."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.mutations import FAILURE_WORDS, FAILURES

from lastsignal.core.aliases import native
from lastsignal.core.aliases.custom import UserAliases, extended
from lastsignal.core.aliases.flat import FlatDecoder
from lastsignal.core.aliases.flat_words import ALIASES
from lastsignal.core.aliases.native.habits import MAX_LEARNT
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import EVENT_TYPES, STATUSES, Event, as_plain
from lastsignal.core.framing import Record
from lastsignal.core.judging import judge
from lastsignal.core.packing import keepable

T0 = 1_780_000_000.0
TOLERANT = tuple(
    replace(dialect, decoder=FlatDecoder) if dialect is native.DIALECT else dialect
    for dialect in LADDER
)
"""The ladder without the fast path."""

words = st.sampled_from(["a", "search", "", " ", "é", None, 7, True, [], {}])
numbers = st.sampled_from([0, 1, 3, 2.5, -1, None, "3", "", True, 10**14, 10**15, 10**25, [], {}])
codes = st.sampled_from([429, 500, 200, 0, 99, 600, None, "429", True])
texts = st.sampled_from(
    [
        "HTTP 429 Too Many Requests",
        "TimeoutError('slow')",
        "ValueError: bad\n  at x",
        "Error: not found",
        "fine",
        "None",
        "",
        " ",
        None,
        0,
        {"message": "inner", "status": 503},
    ]
)
failures = st.sampled_from([*FAILURE_WORDS, *FAILURES])
values = st.sampled_from([{"b": 1, "a": 2}, [1], "text", '{"a": 1}', "", " ", None, 0, False, {}])

SAID: dict[str, st.SearchStrategy[Any]] = {
    "timestamp": st.sampled_from([None, "2026-05-28T20:26:40Z", T0 * 1000, 0, 4e11, "junk"]),
    "trace_id": words,
    "event_type": st.sampled_from([*EVENT_TYPES, "llm_call", "Tool.Call", "bogus", None]),
    "operation": words,
    "status": st.sampled_from([*STATUSES, "ok", "ERROR", "bogus", None, True, 500]),
    "error_message": texts,
    "attempt": numbers,
    "metadata": st.sampled_from([None, [], "x", 0]),
    "agent": words,
    "call_id": words,
    "parent_id": words,
    "http_status": codes,
    "error_type": words,
    "error_class": st.sampled_from(["timeout", "bogus", "", None, 3]),
    "model": words,
    "input_tokens": numbers,
    "output_tokens": numbers,
    "cost_usd": numbers,
    "duration_seconds": numbers,
    "finish_reason": words,
    "arguments_hash": words,
    "framework": words,
    "source": words,
    "line": numbers,
    "offset": numbers,
    "timestamp_source": st.sampled_from(["record", "inherited", "ingest", None]),
    "sequence": numbers,
    "identity": words,
    "tool_call_id": words,
    "latency_ms": numbers,
    "error": texts,
    "output": texts,
    "args": values,
    "anything": values,
    "success": st.sampled_from([True, False, None, "no"]),
    "is_error": st.sampled_from([True, False, None]),
    "exit_code": st.sampled_from([0, 1, None, "exit_cost"]),
    "level": st.sampled_from(["INFO", "ERROR", None, 3, 50]),
    "levelname": st.sampled_from(["INFO", "ERROR", None, 50]),
    "total_cost_usd": st.sampled_from([0.25, 0.5, 0.5, None, "x"]),
    "detail": texts,
    "exc_info": texts,
}
"""What may stand beside, or instead of, what an exact record says."""
NOTED: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("arguments", "args", "input", "parameters"), values),
    **dict.fromkeys(("http_status", "status_code"), codes),
    **dict.fromkeys(("input_tokens", "prompt_tokens", "output_tokens", "attempt"), numbers),
    **dict.fromkeys(("cost_usd", "cost", "duration_seconds", "duration_ms", "latency_ms"), numbers),
    **dict.fromkeys(("call_id", "agent", "model", "error_type", "finish_reason", "tool"), words),
    **dict.fromkeys(("output", "result", "error"), texts),
    "usage": st.sampled_from([{"prompt_tokens": 4, "output_tokens": 2}, {}, None, 3]),
    "tokens": st.sampled_from([{"input": 4}, 5, None]),
    "note": values,
}
"""What may stand in the metadata."""


OWN: dict[str, st.SearchStrategy[Any]] = {
    **SAID,
    **dict.fromkeys(("team", "source", "extra", "a.b", "(line)", "ключ"), values),
    **dict.fromkeys(("tool", "name", "type", "step", "session_id", "extra.timestamp"), words),
    **dict.fromkeys(("usage", "context"), st.sampled_from([{"input_tokens": 3}, None, 5, []])),
    "time": st.sampled_from([T0 * 1000, "2026-05-28T20:26:40Z", None]),
}
"""What a source may write into each of its records."""


def written(seconds: float, style: str) -> object:
    """Return a time as sources write it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return {
        "seconds": seconds,
        "milliseconds": int(seconds * 1000),
        "zulu": moment.isoformat().replace("+00:00", "Z"),
        "local": f"{moment.replace(tzinfo=None)}",
        "nanoseconds": f"{moment.replace(tzinfo=None).isoformat()}.123456789+02:00",
    }[style]


@st.composite
def native_records(draw: st.DrawFn, style: str, habits: list[str]) -> dict[str, Any]:
    """Return a record of the published schema, with habits of its source, odd here and there."""
    record = {
        "timestamp": written(T0 + draw(st.integers(-100, 100)) / 4, style),
        "trace_id": draw(st.sampled_from(["t", "u", ""])),
        "event_type": draw(st.sampled_from(EVENT_TYPES)),
        "operation": draw(st.sampled_from(["search", "m-1", None])),
        "status": draw(st.sampled_from(STATUSES)),
    }
    if draw(st.integers(0, 3)) == 0:
        del record["status"]
    if record.get("status") == "failed" or draw(st.booleans()):
        record["error_message"] = draw(texts)
    noted = draw(st.lists(st.sampled_from(sorted(NOTED)), max_size=4))
    record["metadata"] = {name: draw(NOTED[name]) for name in noted}
    odd = draw(st.lists(st.sampled_from(sorted(SAID)), max_size=2))
    own = {name: draw(OWN[name]) for name in habits}
    record |= own | {name: draw(SAID[name]) for name in odd}
    if draw(st.integers(0, 3)) == 0:
        record[draw(st.sampled_from(sorted(SAID)))] = draw(failures)
    if draw(st.integers(0, 5)) == 0:
        record["metadata"] = {draw(st.sampled_from(sorted(NOTED))): draw(failures)}
    return record


@st.composite
def files(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return the records of one source: it has habits of its own."""
    style = draw(st.sampled_from(["seconds", "milliseconds", "zulu", "local", "nanoseconds"]))
    habits = draw(st.lists(st.sampled_from(sorted(OWN)), max_size=3))
    return draw(st.lists(native_records(style, habits), min_size=1, max_size=8))


def placed(*records: dict[str, Any] | bytes) -> list[Record]:
    """Return records as those of a file."""
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in records]
    return [(line, number * 1000, number) for number, line in enumerate(lines, 1)]


def told(reader: Reader, events: list[Event]) -> object:
    """Return all that a reader has made of its records."""
    counts = reader.skipped, reader.mended, list(reader.formats), reader.clock
    return [keepable(_can_be(as_plain(event))) for event in events], counts


USED = ("input_tokens", "output_tokens", "cost_usd", "finish_reason")
BEGINS = ("duration_seconds", "http_status", "error_type", *USED)
CANNOT = {
    ("tool_call", "started"): ("model", *BEGINS),
    ("model_call", "started"): ("arguments_hash", *BEGINS),
    **{("tool_result", status): ("model", *USED) for status in STATUSES},
}


def _can_be(event: dict[str, Any]) -> dict[str, Any]:
    """Return what an event can have: the fast path passes over what else its metadata name."""
    cannot = CANNOT.get((event["event_type"], event["status"]), ())
    return {name: value for name, value in event.items() if name not in cannot}


def exact(**fields: Any) -> dict[str, Any]:
    """Return a record that the fast path takes."""
    record = {
        "timestamp": T0,
        "trace_id": "t",
        "event_type": "tool_result",
        "operation": "search",
        "status": "completed",
        **fields,
    }
    assert native.read_exact(json.dumps(record).encode()) is not None
    return record


@given(
    records=files(),
    cut=st.integers(0, 8),
    is_interrupted=st.booleans(),
)
def test_the_fast_path_says_just_what_the_tolerant_one_says(
    records: list[dict[str, Any]], cut: int, is_interrupted: bool
) -> None:
    found = placed(*records)
    fast, tolerant = Reader("f", LADDER, T0), Reader("f", TOLERANT, T0)

    events = fast.read(found[:cut])
    if is_interrupted:
        again = Reader("f", LADDER, 0.0)
        again.restore(fast.save())
        fast = again
    events += fast.read(found[cut:]) + fast.finish()

    assert told(fast, events) == told(tolerant, tolerant.read(found) + tolerant.finish())


@pytest.mark.parametrize("name", sorted({*SAID, "type", "event", "kind"}))
def test_a_word_for_a_failure_says_the_same_on_either_way(name: str) -> None:
    for event_type, status in (
        ("agent_end", "completed"),
        ("tool_result", "failed"),
        ("process_error", "completed"),
    ):
        plain = exact() | {"event_type": event_type, "status": status}
        words = [plain | {name: new} for new in (*FAILURE_WORDS, *FAILURES)]
        found = placed(exact(), *words, exact(), *words)
        fast, tolerant = Reader("f", LADDER, T0), Reader("f", TOLERANT, T0)

        events = fast.read(found) + fast.finish()

        assert told(fast, events) == told(tolerant, tolerant.read(found) + tolerant.finish())


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [
        (exact(metadata={"call_id": "c1"}), "call_id", "c1"),
        (exact(metadata={"agent": "scout"}), "agent", "scout"),
        (exact(metadata={"duration_ms": 1500}), "duration_seconds", 1.5),
        (exact(metadata={"status_code": 200, "output": "fine"}), "status", "completed"),
        (exact(event_type="tool_call", metadata={"input": {"q": 1}}), "error_message", None),
        (
            exact(event_type="model_call", operation=None, metadata={"model": "m-1"}),
            "operation",
            "m-1",
        ),
        (
            exact(status="failed", error_message="x", metadata={"status_code": 429}),
            "error_class",
            "rate_limit",
        ),
    ],
)
def test_what_people_note_in_the_metadata_is_read_on_the_fast_path(
    record: dict[str, Any], field: str, value: object
) -> None:
    event = native.read_exact(json.dumps(record).encode())

    assert getattr(event, field) == value


@pytest.mark.parametrize(
    "fields",
    [
        {"team": "billing"},
        {"source": "x", "line": 7},
        {"tool": "other", "step": 3},
        {"session_id": "s", "error": None, "tool_call_id": None},
        {"timestamp": "2026-05-28T20:26:40.5+02:00"},
        {"timestamp": int(T0 * 1000)},
        {"status": None},
        {"metadata": None},
        {"success": True, "level": "INFO", "exit_code": 0},
    ],
)
def test_what_a_source_always_writes_is_exact_from_its_second_record_on(
    fields: dict[str, Any],
) -> None:
    first, second = (
        json.dumps(exact(operation=name) | fields).encode() for name in ("search", "fetch")
    )
    decoder, tolerant = native.NativeDecoder("f"), FlatDecoder("f")

    decoder.decode(first)
    event = decoder.exact(second)

    assert event is not None
    (expected,) = tolerant.decode(second)
    assert isinstance(expected, Event)
    judge(expected)
    assert as_plain(event) == as_plain(expected) | {"framework": "native"}


def test_a_call_whose_operation_has_another_name_is_called_so_in_each_record() -> None:
    called = exact(event_type="tool_call", operation=None, status="started", model="m")
    called = called | {"tool": "t"}
    reader = Reader("f", LADDER, T0)

    events = reader.read(placed(exact(), called, called, called))

    assert [event.operation for event in events] == ["search", "t", "t", "t"]


def test_what_says_that_it_failed_is_not_passed_over() -> None:
    fine = exact() | {"success": True, "level": "INFO"}
    reader = Reader("f", LADDER, T0)

    events = reader.read(placed(fine, fine, fine | {"success": False}, fine | {"status": None}))

    assert [event.status for event in events] == ["completed", "completed", "failed", "completed"]


def test_ever_new_names_are_learnt_up_to_a_bound() -> None:
    decoder = native.NativeDecoder("f")
    records = [json.dumps(exact() | {f"own_{n}": n}).encode() for n in range(200)]

    for record in records:
        decoder.decode(record)

    assert sum(decoder.exact(record) is not None for record in records) == MAX_LEARNT


@pytest.mark.parametrize(
    ("fields", "field", "value"),
    [
        ({"metadata": {"output": "Error: no such file"}}, "status", "failed"),
        ({"tool_call_id": "c1"}, "call_id", "c1"),
        ({"latency_ms": 20}, "duration_seconds", 0.02),
        ({"error": "boom"}, "error_message", None),  # it is said to have gone well
        ({"team": "billing"}, "metadata", {"team": "billing"}),
        ({"http_status": 99}, "http_status", None),
        ({"attempt": 10**25}, "attempt", None),
    ],
)
def test_what_other_names_say_beside_the_exact_ones_is_not_lost(
    fields: dict[str, Any], field: str, value: object
) -> None:
    reader = Reader("f", LADDER, T0)
    first, second = reader.read(placed(exact(), exact() | fields))

    assert first.status == "completed"
    assert getattr(second, field) == value


def test_where_a_record_stands_is_not_for_it_to_say() -> None:
    says = {"source": "x", "line": 7, "offset": 5, "timestamp_source": "ingest", "sequence": 3}
    says |= {"identity": "me"}
    reader = Reader("f", LADDER, T0)

    events = reader.read(placed(exact() | says, exact() | says))

    places = [(one.source, one.line, one.offset, one.timestamp_source) for one in events]
    assert places == [("f", 1, 1000, "record"), ("f", 2, 2000, "record")]
    assert [(event.sequence, event.identity) for event in events] == [(None, None)] * 2


def test_events_that_were_printed_are_read_back() -> None:
    record = exact(event_type="tool_call", metadata={"arguments": {"q": 1}}, framework="crewai")
    printed = as_plain(Reader("f", LADDER, T0).read(placed(record))[0])
    del printed["metadata"]

    (event,) = Reader("f", LADDER, T0).read(placed(printed | {"status": "STARTED"}))

    assert event.framework == "crewai"
    assert event.arguments_hash == printed["arguments_hash"]


def test_bytes_in_the_metadata_that_are_no_text_are_mended_and_counted() -> None:
    torn = json.dumps(exact(metadata={"note": "caf~", "n": 1})).encode().replace(b"~", b"\xff")
    reader = Reader("f", LADDER, T0)

    _, event = reader.read(placed(exact(), torn))

    assert as_plain(event)["metadata"] == {"note": "caf?", "n": 1}
    assert reader.mended == {"invalid_utf8": 1}


@pytest.mark.parametrize(
    ("aliases", "record", "operation"),
    [
        (UserAliases(fields={"operation": ("skill",)}), exact() | {"skill": "s"}, "s"),
        (
            UserAliases(fields={"operation": ("metadata.skill",)}),
            exact(metadata={"skill": "s"}),
            "s",
        ),
        (UserAliases(fields={"operation": ("agent",)}), exact(agent="s"), "s"),
        (UserAliases(fields={"operation": ("skill",)}), exact(), "search"),
    ],
)
def test_names_of_a_users_own_come_first_on_the_fast_path_too(
    aliases: UserAliases, record: dict[str, Any], operation: str
) -> None:
    reader = Reader("f", extended(LADDER, aliases), T0)

    events = reader.read(placed(record, record))

    assert [event.operation for event in events] == [operation] * 2


def test_a_word_of_a_users_own_is_taken_as_he_says() -> None:
    aliases = UserAliases(events={"tool_result": ("tool_call", "started")})
    reader = Reader("f", extended(LADDER, aliases), T0)

    events = reader.read(placed(exact(), exact()))

    assert [event.event_type for event in events] == ["tool_call"] * 2


def test_all_that_flat_finds_in_metadata_is_known_to_the_fast_path() -> None:
    known = {path for paths in ALIASES.values() for path in paths if path.startswith("metadata.")}

    for path in sorted(known):
        record = exact() | {"metadata": {path.split(".")[1]: {"x": {"y": 1}}}}
        event = native.read_exact(json.dumps(record).encode())
        tolerant = FlatDecoder("f").decode(json.dumps(record).encode())
        assert isinstance(tolerant, list)
        assert event is None or as_plain(event) == as_plain(tolerant[0]) | {"framework": "native"}


@pytest.mark.parametrize(
    "fields",
    [
        {"trace_id": "t" * 1200},
        {"operation": "o" * 10_000},
        {"metadata": {"call_id": "c" * 1200}},
        {"status": "failed", "error_message": "A" + "b" * 1200 + "Error: no"},
    ],
)
def test_names_that_are_too_long_are_cut_on_either_way(fields: dict[str, Any]) -> None:
    found = placed(exact(), {**exact(), **fields}, exact())
    fast, tolerant = Reader("f", LADDER, T0), Reader("f", TOLERANT, T0)

    events = fast.read(found) + fast.finish()

    assert told(fast, events) == told(tolerant, tolerant.read(found) + tolerant.finish())
    names = ("trace_id", "operation", "call_id", "error_type")
    assert max(len(getattr(events[1], name) or "") for name in names) <= 300


def test_a_record_is_of_its_own_schema_whatever_stands_before_it() -> None:
    ours = {"ts": T0, "run_id": "n", "event_type": "tool_result", "tool": "a"}
    flat = {"ts": T0, "run_id": "f", "event": "tool_end", "tool": "a"}

    for first, then in ((ours, flat), (flat, ours)):
        free_names = [{**first, f"key_{number}": number} for number in range(80)]
        records = [first, then, *free_names, then, first]
        reader = Reader("f", LADDER, T0)
        events = reader.read(placed(*records)) + reader.finish()

        expected = ["native" if "event_type" in record else "custom" for record in records]
        assert [event.framework for event in events] == expected
