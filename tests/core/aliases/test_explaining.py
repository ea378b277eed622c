"""Why a record became what it became."""

from __future__ import annotations

import json
from typing import Any

from lastsignal.core.aliases.explaining import MAX_BYTES, Explainer, Explanation
from lastsignal.core.aliases.registry import LADDER


def explain(*records: dict[str, Any] | bytes) -> list[Explanation]:
    """Explain records, one a line."""
    explainer = Explainer("trace.jsonl", LADDER)
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in records]
    return [
        explainer.explain((data, number * 1000, number)) for number, data in enumerate(lines, 1)
    ]


FAILED = {
    "ts": "2026-06-07T08:09:31Z",
    "event": "tool_end",
    "tool": "search",
    "err": {"type": "TimeoutError", "message": "no answer"},
    "host": {"name": "a"},
}


def test_the_fields_that_count_are_those_without_which_the_record_says_something_else() -> None:
    (found,) = explain(FAILED)

    assert (found.line, found.dialect, found.dropped) == (1, "flat", {})
    assert found.used == ["ts", "event", "tool", "err.type", "err.message"]
    assert found.kept == ["host.name"]
    assert [(one.event_type, one.status) for one in found.events] == [("tool_result", "failed")]


def test_what_a_field_means_may_depend_on_the_records_before() -> None:
    start = {"type": "item.started", "item": {"id": "i", "type": "command_execution"}}
    end = {
        "type": "item.completed",
        "item": {"id": "i", "type": "command_execution", "status": "completed", "exit_code": 0},
    }

    alone = explain({"type": "turn.started"}, end)[-1]
    behind_its_start = explain({"type": "turn.started"}, start, end)[-1]

    assert [one.event_type for one in alone.events] == ["tool_call", "tool_result"]
    assert [one.event_type for one in behind_its_start.events] == ["tool_result"]
    assert "item.id" in behind_its_start.used


def test_a_dropped_record_says_why_and_by_whom() -> None:
    first, second, third = explain(
        {"event": "on_llm_stream", "run_id": "r", "name": "m", "parent_ids": [], "data": {}},
        {"foo": 1, "bar": 2},
        b'{"torn": ',
    )

    assert (first.dialect, first.dropped, first.events) == (
        "langchain_events",
        {"stream_chunk": 1},
        [],
    )
    assert (second.dialect, second.dropped, second.keys) == (
        None,
        {"unrecognised_record": 1},
        ["foo", "bar"],
    )
    assert (third.dialect, third.dropped, third.keys) == (None, {"invalid_json": 1}, [])


def test_items_of_an_array_are_named_by_their_index() -> None:
    (found,) = explain({"event": "tool_start", "tool": "a", "args": [{"q": 1}, {"q": 2}]})

    assert found.used == ["event", "tool", "args[0].q", "args[1].q"]


def test_a_record_too_large_to_be_read_so_often_is_told_without_its_fields() -> None:
    (found,) = explain({**FAILED, "blob": "x" * MAX_BYTES})

    assert len(found.events) == 1
    assert (found.used, found.kept) == ([], [])


def test_explaining_changes_nothing_that_later_records_say() -> None:
    records = [FAILED, {**FAILED, "tool": "b"}, {"event": "run_end"}]
    explainer = Explainer("trace.jsonl", LADDER)
    placed = [(json.dumps(one).encode(), line * 10, line) for line, one in enumerate(records, 1)]

    events = [event for record in placed for event in explainer.explain(record).events]

    assert [(one.operation, one.line) for one in events] == [("search", 1), ("b", 2), (None, 3)]
    assert explainer.reader.events == 3


def test_a_field_that_says_what_is_taken_to_be_true_without_it_counts() -> None:
    told = {"event": "tool_end", "tool": "a", "exit_code": 0, "ok": True, "note": "all well"}
    doubted = {"event": "tool_end", "tool": "a", "status": "ok", "is_error": False, "exit_code": 0}
    by_code, by_word = explain(told, doubted)

    assert (by_code.events[0].status, by_word.events[0].status) == ("completed", "completed")
    assert (by_code.used, by_code.kept) == (["event", "tool", "exit_code", "ok"], ["note"])
    assert by_word.used == ["event", "tool", "status", "is_error"]
    assert by_word.kept == ["exit_code"]  # beside a word for it, a code says nothing


def test_a_default_deep_inside_counts_by_its_whole_name() -> None:
    item = {"id": "i", "type": "command_execution", "status": "completed", "exit_code": 0}
    ran = explain({"type": "turn.started"}, {"type": "item.completed", "item": item})[-1]

    assert "item.exit_code" in ran.used


def test_what_is_empty_or_never_read_does_not_count() -> None:
    payload = {"text": "all well", "rows": [1, 2], "deep": {"ok": True}}
    record = {"type": "message_update", "error": None, "note": "", "assistantMessageEvent": payload}
    (found,) = explain({"event": "tool_end", "tool": "a", "error": None, "err": ""})
    (dropped,) = explain(record)

    assert found.used == ["event", "tool"]
    assert dropped.used == []
