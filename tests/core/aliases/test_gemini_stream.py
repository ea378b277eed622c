"""Gemini CLI's stream-json: from init to result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def line(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": f"2026-05-03T08:00:{second:02d}.000Z", **fields}


INIT = line(0, "init", session_id="run-1", model="gem-x")
STATS = {
    "total_tokens": 130, "input_tokens": 100, "output_tokens": 30, "cached": 10,
    "duration_ms": 4500, "tool_calls": 1,
}  # fmt: skip


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_run_with_a_failed_tool_ends_well(read: Read) -> None:
    events, reader = read(
        INIT,
        line(1, "message", role="user", content="429 timeout"),
        line(2, "tool_use", tool_name="read_file", tool_id="t1", parameters={"path": "/x"}),
        line(3, "tool_result", tool_id="t1", status="error",
             error={"type": "file_not_found", "message": "File not found: /x"}),
        line(4, "message", role="assistant", content="done", delta=True),
        line(5, "result", status="success", stats=STATS),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "gemini-cli", "started"),
        ("tool_call", "read_file", "started"),
        ("tool_result", "read_file", "failed"),
        ("model_call", "gem-x", "completed"),
        ("agent_end", "gemini-cli", "completed"),
    ]
    assert (events[2].error_message, events[2].error_class) == ("File not found: /x", "not_found")
    assert (events[3].input_tokens, events[3].output_tokens) == (100, 30)
    assert events[4].duration_seconds == 4.5
    assert reader.skipped == {"message": 2}


def test_a_failed_result_is_a_failed_call_of_the_model(read: Read) -> None:
    events, _ = read(
        INIT,
        line(3, "result", status="error", stats={"total_tokens": 0, "duration_ms": 10},
             error={"type": "Error", "message": "got status: 429 Too Many Requests."}),
    )  # fmt: skip
    assert shape(events)[1:] == [
        ("model_call", "gem-x", "failed"), ("agent_end", "gemini-cli", "failed"),
    ]  # fmt: skip
    assert (events[1].http_status, events[1].error_class) == (429, "rate_limit")


def test_the_turn_limit_is_told_once(read: Read) -> None:
    events, _ = read(
        INIT,
        line(2, "error", severity="error", message="Maximum session turns exceeded"),
        line(3, "result", status="error", stats={},
             error={"type": "FatalTurnLimitedError", "message": "Reached max session turns"}),
    )  # fmt: skip
    assert shape(events)[1:] == [
        ("audit", "turn_limit", "failed"), ("agent_end", "gemini-cli", "failed"),
    ]  # fmt: skip
    assert events[1].error_message == "Maximum session turns exceeded"


def test_the_turn_limit_may_be_told_by_the_result_alone(read: Read) -> None:
    events, _ = read(
        INIT,
        line(3, "result", status="error",
             error={"type": "FatalTurnLimitedError", "message": "Reached the limit"}),
    )  # fmt: skip
    assert shape(events)[1] == ("audit", "turn_limit", "failed")


def test_a_result_that_is_a_success_has_no_error_whatever_stands_beside_it(read: Read) -> None:
    events, _ = read(INIT, line(3, "result", status="success", error="HTTP 429 Too Many Requests"))
    assert [event.status for event in events] == ["started", "completed"]

    events, _ = read(INIT, line(3, "result", status="ended", error="HTTP 429 Too Many Requests"))
    assert [event.status for event in events] == ["started", "failed", "failed"]


@pytest.mark.parametrize(
    "error",
    [
        {"type": "FatalCancellationError", "message": "Operation cancelled."},
        {"type": "Error", "message": "Operation cancelled by user"},
    ],
)
def test_a_cancelled_run_is_aborted(read: Read, error: dict[str, str]) -> None:
    events, _ = read(INIT, line(3, "result", status="error", error=error))
    assert shape(events)[1:] == [("agent_end", "gemini-cli", "aborted")]


def test_a_warning_says_nothing(read: Read) -> None:
    events, reader = read(
        INIT, line(2, "error", severity="warning", message="Loop of retries after 429"),
        line(3, "result", status="success", stats={}),
    )  # fmt: skip
    assert shape(events)[-1] == ("agent_end", "gemini-cli", "completed")
    assert len(events) == 2
    assert reader.skipped == {"notice": 1}


def test_a_detected_loop_is_a_limit(read: Read) -> None:
    events, _ = read(
        INIT, line(2, "error", severity="warning", message="Loop detected, stopping execution")
    )
    assert shape(events)[1:] == [("audit", "loop", "failed")]


def test_a_refused_tool_is_aborted(read: Read) -> None:
    events, _ = read(
        INIT,
        line(2, "tool_use", tool_name="write_file", tool_id="t1", parameters={}),
        line(3, "tool_result", tool_id="t1", status="error",
             error={"type": "x", "message": "Tool execution denied by policy."}),
    )  # fmt: skip
    assert (events[-1].operation, events[-1].status) == ("write_file", "aborted")
