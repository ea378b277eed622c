"""Claude Code's answers, one record a block: what each read and wrote, and why it stopped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

THOUGHT = {"type": "thinking", "thinking": "", "signature": "x"}
TEXT = {"type": "text", "text": "Error: found"}
CALL = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}


def record(second: int, kind: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "sessionId": "s-1",
        "isSidechain": False,
        "version": "2.1.29",
        "uuid": f"u-{second}",
        "parentUuid": None,
        "timestamp": f"2026-03-01T09:00:{second:02d}.000Z",
        "type": kind,
        "message": message,
    }


def part(
    second: int, message_id: str, block: dict[str, Any], written: int, stop: str | None = None
) -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 97, "output_tokens": written}
    message = {"id": message_id, "model": "claude-x-4", "role": "assistant", "content": [block]}
    return record(second, "assistant", {**message, "stop_reason": stop, "usage": usage})


def result(second: int) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "three files"}
    return record(second, "user", {"role": "user", "content": [block]})


def read(*records: dict[str, Any], cut: int | None = None) -> list[Event]:
    """Return the events of records; after `cut` of them the reader is restarted."""
    reader, events = Reader("a.jsonl", LADDER, 0.0), []
    for line, one in enumerate(records, 1):
        events += reader.read([(json.dumps(one).encode(), line * 1000, line)])
        if line == cut:
            saved, reader = reader.save(), Reader("a.jsonl", LADDER, 0.0)
            reader.restore(saved)
    return events


def calls(events: list[Event]) -> list[tuple[str | None, int | None, str | None, int]]:
    """Return (status, tokens written, reason to stop, line) of the calls of the model."""
    return [
        (one.status, one.output_tokens, one.finish_reason, one.line)
        for one in events
        if one.event_type == "model_call"
    ]


def tokens(events: list[Event]) -> tuple[int, int]:
    return (
        sum(one.input_tokens or 0 for one in events),
        sum(one.output_tokens or 0 for one in events),
    )


GROWING = (
    part(1, "m1", THOUGHT, 9),
    part(3, "m1", TEXT, 9),
    part(5, "m1", CALL, 159, "tool_use"),
    result(6),
    part(8, "m2", TEXT, 2),
    part(9, "m2", TEXT, 40, "end_turn"),
)


@pytest.mark.parametrize("cut", [None, 1, 2, 3, 4, 5])
def test_an_answer_counts_by_its_last_record(cut: int | None) -> None:
    events = read(*GROWING, cut=cut)

    assert tokens(events) == (200, 199)
    assert calls(events)[-2:] == [("started", None, None, 5), ("completed", 40, "end_turn", 6)]
    assert {one.call_id for one in events if one.event_type == "model_call"} == {"m1", "m2"}
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "completed")


def test_an_answer_that_begins_with_thoughts_ends_with_what_it_says() -> None:
    events = read(part(1, "m1", THOUGHT, 1), part(4, "m1", TEXT, 32_000, "max_tokens"))

    assert calls(events) == [("started", None, None, 1), ("completed", 32_000, "max_tokens", 2)]


def test_an_answer_that_never_got_beyond_its_thoughts_is_under_way() -> None:
    assert calls(read(part(1, "m1", THOUGHT, 1))) == [("started", None, None, 1)]


def test_an_answer_without_a_reason_is_over_when_something_else_comes() -> None:
    first = part(1, "m0", TEXT, 5, "end_turn")
    events = read(first, part(3, "m1", TEXT, 7), part(4, "m1", CALL, 30), result(9))

    assert calls(events) == [
        ("completed", 5, "end_turn", 1),
        ("started", None, None, 2),
        ("completed", 30, None, 4),
    ]
    assert [one.timestamp % 60 for one in events if one.call_id == "m1"] == [3.0, 4.0]


def test_where_no_record_gives_a_reason_the_first_tells_all_and_what_comes_on_top_is_added() -> (
    None
):
    same = read(part(1, "m1", TEXT, 7), part(2, "m1", CALL, 7), result(3))
    grown = read(part(1, "m1", TEXT, 1), part(2, "m1", CALL, 250), result(3))

    assert calls(same) == [("completed", 7, None, 1)]
    assert tokens(same) == (100, 7)
    assert tokens(grown) == (100, 250)
    assert len(calls(grown)) == 1


def test_an_old_client_tells_what_each_answer_cost() -> None:
    answers = [part(number, f"m{number}", TEXT, 5, "end_turn") for number in (1, 2)]
    events = read(*(one | {"costUSD": 0.05} for one in answers))

    assert [one.cost_usd for one in events if one.event_type == "model_call"] == [0.05, 0.05]
