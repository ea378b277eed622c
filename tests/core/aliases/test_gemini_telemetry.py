"""The telemetry outfile of Gemini CLI and Qwen Code: API calls, retries, tools, limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def log(second: int, name: str, **attributes: Any) -> bytes:
    record = {
        "hrTime": [1_777_000_000 + second, 500_000_000],
        "resource": {"attributes": {"service.name": "gemini-cli", "session.id": "tele-1"}},
        "_body": "something about a 429 error",
        "attributes": {
            "session.id": "tele-1", "event.name": name,
            "event.timestamp": f"2026-05-04T07:00:{second:02d}.000Z", **attributes,
        },
    }  # fmt: skip
    return json.dumps(record, indent=2).encode()


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_calls_and_tools_of_a_healthy_session(read: Read) -> None:
    events, reader = read(
        log(0, "gemini_cli.config", model="gem-x"),
        log(1, "gemini_cli.user_prompt", prompt="timeout error"),
        log(2, "gemini_cli.api_request", model="gem-x", prompt_id="p1"),
        log(4, "gemini_cli.api_response", model="gem-x", status_code=200, duration_ms=2000,
            input_token_count=50, output_token_count=7, cached_content_token_count=20,
            thoughts_token_count=3, finish_reasons=["STOP"]),
        log(6, "gemini_cli.tool_call", function_name="glob", function_args='{"pattern": "*"}',
            duration_ms=1500, success=True, decision="auto_accept"),
        {"resource": {"attributes": {}}, "scopeMetrics": []},
    )  # fmt: skip
    assert shape(events) == [
        ("model_call", "gem-x", "started"),
        ("model_call", "gem-x", "completed"),
        ("tool_call", "glob", "started"),
        ("tool_result", "glob", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (50, 10)
    assert (events[1].duration_seconds, events[1].finish_reason) == (2.0, "STOP")
    assert events[3].timestamp - events[2].timestamp == 1.5
    assert events[2].arguments_hash is not None
    assert {event.trace_id for event in events} == {"tele-1"}
    assert reader.skipped == {"telemetry_detail": 2, "metrics": 1}


def test_a_failing_call_is_retried_and_given_up(read: Read) -> None:
    events, _ = read(
        log(1, "gemini_cli.api_request", model="gem-x"),
        log(2, "gemini_cli.api_error", model="gem-x", error="rate limited", error_type="ApiError",
            status_code=429, duration_ms=900),
        log(2, "gemini_cli.network_retry_attempt", model="gem-x", attempt=1, max_attempts=3,
            error_type="RATE_LIMIT", delay_ms=5000),
        log(8, "gemini_cli.api_error", model="gem-x", **{"error.message": "still limited"},
            error_type="ApiError", status_code="429"),
    )  # fmt: skip
    assert shape(events) == [
        ("model_call", "gem-x", "started"),
        ("model_call", "gem-x", "failed"),
        ("retry", "gem-x", "started"),
        ("model_call", "gem-x", "failed"),
    ]
    failed, retry, last = events[1:]
    assert (failed.error_message, failed.http_status) == ("rate limited", 429)
    assert (failed.error_class, failed.duration_seconds) == ("rate_limit", 0.9)
    assert (retry.attempt, retry.error_type) == (1, "RATE_LIMIT")
    assert retry.metadata == {"delay_seconds": 5.0, "max_attempts": 3}
    assert (last.error_message, last.http_status) == ("still limited", 429)


def test_an_unusable_answer_is_retried_and_given_up(read: Read) -> None:
    events, _ = read(
        log(1, "gemini_cli.chat.content_retry", attempt_number=0, retry_delay_ms=1000,
            error_type="NO_FINISH_REASON", model="gem-x"),
        log(3, "gemini_cli.chat.content_retry_failure", total_attempts=2, model="gem-x",
            final_error_type="NO_FINISH_REASON"),
    )  # fmt: skip
    retry, failed = events
    assert (retry.event_type, retry.attempt) == ("retry", 1)
    assert retry.metadata == {"delay_seconds": 1.0}
    assert (failed.event_type, failed.status, failed.error_class) == (
        "model_call", "failed", "schema",
    )  # fmt: skip
    assert failed.error_message == "NO_FINISH_REASON: no usable answer after 2 attempts"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (
            {"success": False, "error": "File not found: /x", "error_type": "file_not_found"},
            "failed",
        ),
        ({"success": False, "decision": "reject"}, "aborted"),
        ({"success": False, "error": "denied", "error_type": "execution_denied"}, "aborted"),
    ],
)
def test_a_tool_that_failed_is_told_from_one_that_was_refused(
    read: Read, fields: dict[str, Any], status: str
) -> None:
    events, _ = read(log(3, "gemini_cli.tool_call", function_name="write", **fields))
    assert events[1].status == status


def test_limits_and_loops_are_audits(read: Read) -> None:
    events, _ = read(
        log(1, "loop_detected", loop_type="consecutive_identical_tool_calls", count=5),
        log(2, "gemini_cli.agent.finish", agent_name="scout", terminate_reason="MAX_TURNS",
            turn_count=15),
        log(3, "gemini_cli.agent.finish", agent_name="scout", terminate_reason="GOAL"),
        log(4, "gemini_cli.flash_fallback", fallback_model="gem-small"),
        log(5, "gemini_cli.chat_compression", tokens_before=900, tokens_after=100),
        log(6, "gemini_cli.malformed_json_response", model="gem-x"),
    )  # fmt: skip
    assert shape(events) == [
        ("audit", "loop", "failed"),
        ("audit", "turn_limit", "failed"),
        ("audit", "model_fallback", "completed"),
        ("audit", "compaction", "completed"),
        ("audit", "malformed_response", "failed"),
    ]
    assert events[0].metadata == {"loop_type": "consecutive_identical_tool_calls", "count": 5}
    assert (events[1].agent, events[1].metadata) == (
        "scout", {"limit_kind": "MAX_TURNS", "used": 15},
    )  # fmt: skip


def test_the_fork_writes_the_same_under_its_own_name(read: Read) -> None:
    events, reader = read(
        log(2, "qwen-code.api_error", model="q-1", error_message="x", error="no such model",
            status_code=404),
    )  # fmt: skip
    assert (events[0].framework, events[0].operation) == ("qwen-code", "q-1")
    assert (events[0].error_message, events[0].http_status) == ("no such model", 404)
    assert list(reader.formats) == ["gemini_telemetry"]


def test_the_clock_of_the_sdk_stands_in_for_a_missing_time(read: Read) -> None:
    record = json.loads(log(2, "gemini_cli.api_request", model="gem-x"))
    del record["attributes"]["event.timestamp"]
    events, _ = read(record)
    assert events[0].timestamp == 1_777_000_002.5
