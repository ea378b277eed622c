"""Google ADK: invocations, tools that fail without a flag, errors with a code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
START = 1_800_000_000.0


def event(
    second: int, *parts: dict[str, Any], role: str = "model", **fields: Any
) -> dict[str, Any]:
    return {
        "id": f"e{second}",
        "invocationId": "inv-1",
        "author": "support",
        "actions": {"stateDelta": {}},
        "timestamp": START + second,
        "content": {"role": role, "parts": list(parts)},
        **fields,
    }


def call(call_id: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "search", "args": {"q": "x"}}}


def response(call_id: str, **said: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "search", "response": said}}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_an_invocation_is_a_run_and_its_tools_hide_their_failures(read: Read) -> None:
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}
    events, reader = read(
        event(0, text("Error: help"), role="user", author="user"),
        event(1, call("c1"), usageMetadata=usage, modelVersion="model-x"),
        event(2, response("c1", status="error", error_message="upstream timeout"), role="user"),
        event(3, text("Err"), partial=True),
        event(4, text("Error: I gave up"), finishReason="STOP"),
    )
    assert shape(events) == [
        ("agent_start", "support", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
        ("model_call", "model", "completed"),
        ("agent_end", "support", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (20, 7)
    assert (events[3].call_id, events[3].error_class) == ("c1", "timeout")
    assert {event.trace_id for event in events} == {"inv-1"}
    assert (events[-1].duration_seconds, events[-1].finish_reason) == (3.0, "STOP")
    assert reader.skipped == {"user_input": 1, "stream_chunk": 1}
    assert list(reader.formats) == ["google_adk"]


def test_an_error_code_is_a_failed_model_call_that_ends_the_run(read: Read) -> None:
    error = {"errorCode": "RESOURCE_EXHAUSTED", "errorMessage": "429 slow down", "content": None}
    events, _ = read(event(1) | error)
    assert shape(events)[1:] == [
        ("model_call", "model", "failed"),
        ("agent_end", "support", "failed"),
    ]
    assert (events[1].http_status, events[1].error_class) == (429, "rate_limit")


def test_an_exception_while_a_tool_waits_is_the_tool_s(read: Read) -> None:
    error = {"errorCode": "ValueError", "errorMessage": "no such day", "content": None}
    events, _ = read(event(1, call("c1")), event(2) | error)
    assert shape(events)[3:] == [
        ("tool_result", "search", "failed"),
        ("agent_end", "support", "failed"),
    ]
    assert events[3].call_id == "c1"


@pytest.mark.parametrize(
    ("code", "error_class"), [("SAFETY", "content_filter"), ("OTHER", "unknown")]
)
def test_a_blocked_answer_is_named_by_its_code(read: Read, code: str, error_class: str) -> None:
    events, _ = read(event(1) | {"errorCode": code, "finishReason": code, "content": None})
    assert [event.error_class for event in events[1:]] == [error_class, error_class]


def test_an_interrupted_answer_aborts_the_run(read: Read) -> None:
    events, _ = read(event(1, text("I was"), interrupted=True))
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "aborted")


def test_a_session_holds_its_events_and_snake_case_is_read_alike(read: Read) -> None:
    snake = {
        "invocation_id": "inv-2",
        "author": "support",
        "actions": {},
        "timestamp": START,
        "content": {"role": "model", "parts": [{"function_call": {"id": "c", "name": "f"}}]},
        "usage_metadata": {"prompt_token_count": 5, "candidates_token_count": 1},
    }
    events, _ = read({"id": "s", "appName": "app", "events": [event(1, text("done")), snake]})
    assert shape(events) == [
        ("agent_start", "support", "started"),
        ("model_call", "model", "completed"),
        ("agent_end", "support", "completed"),
        ("agent_start", "support", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "f", "started"),
    ]
    assert events[4].input_tokens == 5
    assert events[0].offset < events[3].offset


def test_an_answer_without_its_role_is_known_by_its_usage(read: Read) -> None:
    usage = {"promptTokenCount": 12, "candidatesTokenCount": 3}
    told = {"invocationId": "e-9", "author": "desk", "timestamp": 1.8e9, "actions": {}}
    events, _ = read({**told, "content": {"parts": [{"text": "done"}]}, "usageMetadata": usage})

    assert [(e.event_type, e.status) for e in events] == [
        ("agent_start", "started"),
        ("model_call", "completed"),
        ("agent_end", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (12, 3)


def test_an_answer_cut_off_at_its_limit_is_given_and_its_turn_fails(read: Read) -> None:
    told = {"invocationId": "e-9", "author": "desk", "timestamp": 1.8e9, "actions": {}}
    events, _ = read({**told, "errorCode": "MAX_TOKENS", "finishReason": "MAX_TOKENS"})

    assert [(e.event_type, e.status, e.finish_reason) for e in events[1:]] == [
        ("model_call", "completed", "MAX_TOKENS"),
        ("agent_end", "failed", None),
    ]
