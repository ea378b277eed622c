"""AgentChat messages: turns, tool errors, repeated results, results of tasks, older versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def said(
    number: int, kind: str, content: Any, source: str = "worker", **fields: Any
) -> dict[str, Any]:
    return {
        "id": f"m{number}", "source": source, "models_usage": None, "metadata": {},
        "created_at": f"2026-03-04T05:06:{number:02d}Z", "content": content, "type": kind, **fields,
    }  # fmt: skip


def asked(number: int, usage: tuple[int, int] = (20, 4)) -> dict[str, Any]:
    call = {"id": f"c{number}", "name": "search", "arguments": '{"q":"x"}'}
    tokens = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return said(number, "ToolCallRequestEvent", [call], models_usage=tokens)


def gave(number: int, call: int, content: str, is_error: bool) -> dict[str, Any]:
    result = {"call_id": f"c{call}", "name": "search", "content": content, "is_error": is_error}
    return said(number, "ToolCallExecutionEvent", [result])


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


TASK = said(0, "TextMessage", "Why did it say Error: 429?", "user")


def test_a_turn_opens_with_the_task_and_closes_with_the_answer(read: Read) -> None:
    events, reader = read(
        TASK,
        asked(1),
        gave(2, 1, "found", False),
        said(3, "ToolCallSummaryMessage", "found"),
        said(4, "TextMessage", "done", models_usage={"prompt_tokens": 30, "completion_tokens": 2}),
    )
    assert shape(events) == [
        ("agent_start", "turn", "started"),
        ("model_call", "worker", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("agent_end", "turn", "completed"),
        ("agent_start", "turn", "started"),
        ("model_call", "worker", "completed"),
        ("agent_end", "turn", "completed"),
    ]
    assert [event.call_id for event in events if event.operation == "turn"] == [
        "turn-1",
        "turn-1",
        "turn-2",
        "turn-2",
    ]
    assert sum(event.input_tokens or 0 for event in events) == 50
    assert reader.skipped == {}


def test_a_tool_error_is_told_once_although_its_summary_repeats_it(read: Read) -> None:
    results = [{"content": "timed out", "name": "search", "call_id": "c1", "is_error": True}]
    events, _ = read(
        TASK,
        asked(1),
        gave(2, 1, "timed out", True),
        said(3, "ToolCallSummaryMessage", "timed out", results=results),
    )
    failed = [event for event in events if event.status == "failed"]
    assert [(event.event_type, event.call_id, event.error_class) for event in failed] == [
        ("tool_result", "c1", "timeout"),
        ("agent_end", "turn-1", "timeout"),  # the turn hands on nothing but that
    ]


def test_a_run_that_fails_leaves_only_its_task(read: Read) -> None:
    events, _ = read(
        TASK, said(1, "TextMessage", "done"), said(2, "TextMessage", "and now this", "user")
    )
    assert (events[-1].event_type, events[-1].call_id) == ("agent_start", "turn-2")
    assert [event.trace_id for event in events] == ["trace.jsonl", "trace.jsonl", "trace.jsonl#2"]


def test_an_answer_to_a_question_is_no_new_task(read: Read) -> None:
    events, reader = read(
        TASK,
        said(1, "UserInputRequestedEvent", "", "user"),
        said(2, "TextMessage", "yes", "user"),
        said(3, "TextMessage", "done"),
    )
    assert shape(events) == [("agent_start", "turn", "started"), ("agent_end", "turn", "completed")]
    assert {event.trace_id for event in events} == {"trace.jsonl"}
    assert reader.skipped == {"user_input": 1, "message": 1}


def test_the_result_of_a_task_is_its_messages_and_why_it_stopped(read: Read) -> None:
    result = {
        "messages": [TASK, asked(1), gave(2, 1, "no", True), said(3, "StopMessage", "stop")],
        "stop_reason": "Text 'stop' mentioned",
    }
    data = json.dumps(result, indent=2).encode()
    events, _ = read(data)
    assert shape(events) == [
        ("agent_start", "turn", "started"),
        ("model_call", "worker", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
        ("agent_end", "turn", "completed"),
    ]
    assert events[-1].finish_reason == "Text 'stop' mentioned"
    assert data[events[3].offset - 100_000 :].startswith(b'{\n      "id": "m2"')


def test_messages_that_stand_in_the_result_too_are_told_once(read: Read) -> None:
    events, reader = read(TASK, asked(1), {"messages": [TASK, asked(1)], "stop_reason": None})
    assert len(events) == 3
    assert reader.skipped == {"repeated_message": 1}


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("Maximum number of turns 2 reached.", [("audit", "turn_limit", "completed")]),
        ("Timeout of 30 seconds reached", [("audit", "time_limit", "failed")]),
        ("Text 'stop' mentioned", []),
    ],
)
def test_a_result_says_why_it_stopped_though_all_its_messages_were_told(
    read: Read, reason: str, told: list[tuple[str, str, str]]
) -> None:
    answer = said(2, "TextMessage", "done")
    result = {"messages": [TASK, asked(1), answer], "stop_reason": reason}
    events, _ = read(TASK, asked(1), answer, result, result)
    assert shape(events)[3:] == [("agent_end", "turn", "completed"), *told]
    for audit in events[4:]:
        assert (audit.parent_id, audit.timestamp) == ("turn-1", events[3].timestamp)


def test_a_result_ends_the_turn_that_no_answer_has_ended(read: Read) -> None:
    reason = "Maximum number of messages 2 reached, current message count: 2"
    result = {"messages": [TASK, asked(1)], "stop_reason": reason}
    for records in ([result], [TASK, asked(1), result]):
        events, _ = read(*records)
        assert shape(events)[3:] == [
            ("audit", "turn_limit", "completed"),
            ("agent_end", "turn", "completed"),
        ]
        assert (events[-1].call_id, events[-1].finish_reason) == ("turn-1", reason)
        assert events[-1].timestamp == events[-3].timestamp


def test_older_versions_have_no_ids_no_times_and_no_error_flag(read: Read) -> None:
    old = [TASK, asked(1), gave(2, 1, "Error: no such page", False), said(3, "TextMessage", "ok")]
    for record in (dict(record) for record in old):
        for name in ("id", "created_at", "metadata"):
            record.pop(name)
    stripped = [
        {key: value for key, value in record.items() if key not in ("id", "created_at", "metadata")}
        for record in old
    ]
    del stripped[2]["content"][0]["is_error"]
    events, _ = read(*stripped)
    assert shape(events)[3:] == [
        ("tool_result", "search", "failed"),
        ("agent_end", "turn", "completed"),
    ]
    assert {event.timestamp_source for event in events} == {"ingest"}


def test_a_coding_agent_runs_its_program_again_after_a_failure(read: Read) -> None:
    def code(number: int, attempt: int) -> dict[str, Any]:
        return said(
            number, "CodeGenerationEvent", "x", retry_attempt=attempt, code_blocks=[{"code": "f()"}]
        )

    def ran(number: int, attempt: int, exit_code: int) -> dict[str, Any]:
        result = {"exit_code": exit_code, "output": "x"}
        return said(number, "CodeExecutionEvent", "x", retry_attempt=attempt, result=result)

    events, _ = read(TASK, code(1, 0), ran(2, 0, 3), code(3, 1), ran(4, 1, 0))
    assert [(event.event_type, event.status, event.attempt) for event in events[1:]] == [
        ("tool_call", "started", None),
        ("tool_result", "failed", None),
        ("retry", "started", 1),
        ("tool_call", "started", 2),
        ("tool_result", "completed", None),
    ]
    assert events[2].metadata == {"exit_code": 3}
    assert events[1].call_id == events[2].call_id == "code-1"


def test_a_turn_that_hands_on_something_of_use_has_not_failed(read: Read) -> None:
    results = [
        {"content": "timed out", "name": "search", "call_id": "c1", "is_error": True},
        {"content": "found", "name": "fetch", "call_id": "c2", "is_error": False},
    ]
    events, _ = read(TASK, asked(1), said(3, "ToolCallSummaryMessage", "both", results=results))

    assert (events[-1].event_type, events[-1].status) == ("agent_end", "completed")


@pytest.mark.parametrize(
    ("reason", "limit", "status"),
    [
        ("Maximum number of messages 10 reached, current message count: 10", "turn_limit", "well"),
        ("Maximum number of turns 4 reached.", "turn_limit", "well"),
        ("Token usage limit reached, total token count: 900.", "token_limit", "failed"),
        ("Timeout of 30.5 seconds reached", "time_limit", "failed"),
    ],
)
def test_a_limit_that_ends_the_team_is_told(
    read: Read, reason: str, limit: str, status: str
) -> None:
    answer = said(1, "TextMessage", "Timeout of 5 seconds reached")
    events, _ = read({"messages": [TASK, answer], "stop_reason": reason})

    expected = "completed" if status == "well" else "failed"
    assert shape(events)[1:] == [("audit", limit, expected), ("agent_end", "turn", expected)]
    assert events[-1].finish_reason == reason
