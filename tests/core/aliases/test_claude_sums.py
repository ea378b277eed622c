"""Claude Code's print mode: what a result tells of tokens and cost, beside its messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event


def said(number: int, read: int, written: int) -> dict[str, Any]:
    usage = {"input_tokens": read, "output_tokens": written}
    text = [{"type": "text", "text": "done"}]
    message = {"id": f"m{number}", "model": "claude-x-4", "role": "assistant", "content": text}
    return {
        "type": "assistant",
        "session_id": "s-1",
        "uuid": f"u{number}",
        "message": message | {"stop_reason": None, "usage": usage},
    }


def result(
    number: int, read: int, written: int, cost: float, in_all: int | None = None
) -> dict[str, Any]:
    models = {"claude-x-4": {"outputTokens": in_all, "costUSD": cost}} if in_all else {}
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 1,
        "duration_ms": 1000 + number,
        "result": "done",
        "session_id": "s-1",
        "uuid": f"r{number}",
        "total_cost_usd": cost,
        "usage": {
            "input_tokens": read - 5 if read > 5 else read,
            "cache_read_input_tokens": 5 if read > 5 else 0,
            "output_tokens": written,
        },
        "modelUsage": models,
    }


def used(*records: dict[str, Any]) -> tuple[int, int, float]:
    """Return tokens read, written, and US dollars."""
    reader, events = Reader("out.jsonl", LADDER, 0.0), []
    for line, record in enumerate(records, 1):
        events += reader.read([(json.dumps(record).encode(), line * 1000, line)])
    assert list(reader.formats) == ["claude_stream"]
    return sums(events + reader.finish())


def sums(events: list[Event]) -> tuple[int, int, float]:
    return (
        sum(event.input_tokens or 0 for event in events),
        sum(event.output_tokens or 0 for event in events),
        round(sum(event.cost_usd or 0.0 for event in events), 6),
    )


def test_a_result_alone_tells_what_its_run_has_used() -> None:
    assert used(result(1, 6020, 300, 0.12)) == (6020, 300, 0.12)


@pytest.mark.parametrize(("read", "written"), [(0, 0), (100, 1), (100, 250)])
def test_messages_and_their_result_count_once(read: int, written: int) -> None:
    assert used(said(1, read, written), result(1, 100, 250, 0.1)) == (100, 250, 0.1)


def test_turns_of_one_process_count_once_whether_or_not_usage_adds_up() -> None:
    first = (said(1, 100, 50), result(1, 100, 50, 0.1, in_all=50))
    a_turn = (said(2, 200, 60), result(2, 200, 60, 0.25, in_all=110))
    a_sum = (said(2, 200, 60), result(2, 300, 110, 0.25))

    assert used(*first, *a_turn) == (300, 110, 0.25)
    assert used(*first, *a_sum) == (300, 110, 0.25)


@pytest.mark.parametrize("costs", [(0.1, 0.05), (0.05, 0.1)])
def test_a_session_that_another_process_goes_on_with_has_cost_both(
    costs: tuple[float, ...],
) -> None:
    runs = [
        (said(number, 100, 50), result(number, 100, 50, cost, in_all=50))
        for number, cost in enumerate(costs, 1)
    ]

    assert used(*runs[0], *runs[1]) == (200, 100, 0.15)


def test_what_messages_tell_beyond_the_result_is_kept() -> None:
    assert used(said(1, 400, 90), result(1, 100, 50, 0.1)) == (400, 90, 0.1)
