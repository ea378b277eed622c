"""pydantic-ai's histories: outcomes of tools, retries old and new, runs that end or do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def at(second: int) -> str:
    return f"2026-03-01T00:00:{second:02d}Z"


def prompt(second: int) -> dict[str, Any]:
    parts = [
        {"part_kind": "system-prompt", "content": "Error: never"},
        {"part_kind": "user-prompt", "content": "Error: help", "timestamp": at(second)},
    ]
    return {"kind": "request", "parts": parts}


def request(second: int, **part: Any) -> dict[str, Any]:
    return {
        "kind": "request",
        "parts": [{"tool_name": "search", "tool_call_id": "c1", "timestamp": at(second), **part}],
    }


def returns(second: int, content: Any = "found", **part: Any) -> dict[str, Any]:
    return request(second, part_kind="tool-return", content=content, **part)


def response(second: int, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 30, "output_tokens": 4}
    return {
        "kind": "response",
        "parts": list(parts),
        "timestamp": at(second),
        "model_name": "model-x",
        "usage": usage,
        **fields,
    }


CALL = {"part_kind": "tool-call", "tool_name": "search", "args": '{"q": 1}', "tool_call_id": "c1"}
TEXT = {"part_kind": "text", "content": "Error: I answer"}


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_history_from_prompt_to_answer_is_one_run(read: Read) -> None:
    events, reader = read(prompt(0), response(1, CALL), returns(2), response(3, TEXT))
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("model_call", "model-x", "completed"),
        ("agent_end", "agent", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (30, 4)
    assert (events[2].call_id, events[3].call_id) == ("c1", "c1")
    assert events[-1].duration_seconds == 3.0
    assert list(reader.formats) == ["pydantic_ai_messages"]


def test_a_tool_sent_back_has_failed_and_is_tried_again(read: Read) -> None:
    again = {"cause": "model_retry", "attempt": 1, "max_retries": 2}
    events, _ = read(
        prompt(0), response(1, CALL), returns(2, "use dates", outcome="retried", retry=again)
    )
    assert shape(events)[3:] == [
        ("tool_result", "search", "failed"),
        ("retry", "search", "started"),
    ]
    assert events[3].error_message == "use dates"
    assert (events[4].attempt, events[4].metadata) == (1, {"max_attempts": 2})


def test_histories_of_before_outcomes_have_a_part_for_it(read: Read) -> None:
    invalid = request(
        2, part_kind="retry-prompt", content=[{"msg": "Field required", "loc": ["q"]}]
    )
    words = request(4, part_kind="retry-prompt", content="Too vague")
    of_answer = {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "Be brief"}]}
    events, _ = read(prompt(0), response(1, CALL), invalid, response(3, CALL), words, of_answer)
    failed = [event for event in events if event.status == "failed"]
    assert [(e.error_message, e.error_class) for e in failed] == [
        ("validation error: Field required", "schema"),
        ("Too vague", "tool_error"),
    ]
    retries = [event for event in events if event.event_type == "retry"]
    assert [(e.operation, e.attempt) for e in retries] == [
        ("search", 1),
        ("search", 2),
        ("model", 1),
    ]


@pytest.mark.parametrize(
    ("part", "status"),
    [
        ({"outcome": "failed", "content": "boom"}, "failed"),
        ({"outcome": "denied", "content": "no"}, "aborted"),
        ({"outcome": "interrupted"}, "aborted"),
        ({"content": {"error": "hidden"}}, "failed"),
        ({"content": "ValueError: from a log"}, "failed"),
        ({"outcome": "success", "content": "ValueError: from a log"}, "completed"),
        ({"outcome": "success", "content": {"error": "hidden"}}, "failed"),
    ],
)
def test_an_outcome_decides_and_an_output_may_hide_a_failure(
    read: Read, part: dict[str, Any], status: str
) -> None:
    events, _ = read(prompt(0), response(1, CALL), returns(2, **part))
    assert (events[3].event_type, events[3].status) == ("tool_result", status)


def test_models_that_failed_before_the_one_that_answered_are_calls(read: Read) -> None:
    attempt = {"model_name": "model-a", "outcome": "error", "error": "RateLimitError: slow down"}
    events, _ = read(prompt(0), response(1, TEXT, failed_attempts=[attempt]))
    assert shape(events)[1:4] == [
        ("model_call", "model-a", "failed"),
        ("retry", "model-a", "started"),
        ("model_call", "model-x", "completed"),
    ]
    assert events[1].error_class == "rate_limit"


def test_a_history_that_stops_at_a_request_has_not_ended(read: Read) -> None:
    events, _ = read(prompt(0), response(1, CALL), returns(2))
    assert "agent_end" not in {event.event_type for event in events}
    interrupted, _ = read(prompt(0), {**returns(2), "state": "interrupted"})
    assert (interrupted[-1].event_type, interrupted[-1].status) == ("agent_end", "aborted")
