"""Inspect AI: logs, samples with their transcripts, archives' members, old and new events."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def at(second: float) -> str:
    return f"2026-03-01T00:00:{second:06.3f}+00:00"


def model(second: float, end: float | None = None, **fields: Any) -> dict[str, Any]:
    event = {
        "event": "model",
        "uuid": f"m{second}",
        "span_id": "solver",
        "timestamp": at(second),
        "model": "model-x",
        "output": {
            "usage": {"input_tokens": 10, "output_tokens": 3},
            "choices": [{"stop_reason": "stop", "message": {"content": "Error: said"}}],
        },
    }
    return event | ({} if end is None else {"completed": at(end)}) | fields


def tool(second: float, end: float, **fields: Any) -> dict[str, Any]:
    return {
        "event": "tool",
        "timestamp": at(second),
        "completed": at(end),
        "id": f"t{second}",
        "function": "bash",
        "arguments": {"cmd": "ls"},
        "result": "ok",
        **fields,
    }


def sample(*events: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": 7,
        "epoch": 1,
        "uuid": "u7",
        "input": "Traceback (most recent call last): in the task",
        "target": "",
        "events": list(events),
        "started_at": at(0),
        "completed_at": at(30),
        **fields,
    }


def log(*samples: dict[str, Any], status: str = "success", **fields: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "quiz", "eval_id": "e1", "model": "model-x", "created": at(0)},
        "plan": {},
        "stats": {"started_at": at(0), "completed_at": at(40)},
        "samples": list(samples),
        **fields,
    }


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_the_eval_and_each_sample_are_runs_of_their_own(read: Read) -> None:
    events, reader = read(
        log(
            sample({"event": "sample_init", "timestamp": at(1)}, model(1, 2), tool(3, 4)),
            sample(model(5, 6), uuid="u8", completed_at=at(7)),
        )
    )
    assert shape([event for event in events if event.trace_id == "e1"]) == [
        ("agent_start", "quiz", "started"),
        ("agent_end", "quiz", "completed"),
    ]
    first = [event for event in events if event.trace_id == "u7"]
    assert shape(first) == [
        ("agent_start", "quiz", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "completed"),
        ("agent_end", "quiz", "completed"),
    ]
    assert (first[2].input_tokens, first[2].duration_seconds, first[2].finish_reason) == (
        10,
        1.0,
        "stop",
    )
    assert len([event for event in events if event.trace_id == "u8"]) == 4
    assert [event.timestamp for event in events] == sorted(event.timestamp for event in events)
    assert list(reader.formats) == ["inspect_log"]


def test_attempts_that_failed_are_calls_and_the_next_ones_retries(read: Read) -> None:
    events, _ = read(
        sample(
            model(1, 2, error="RateLimitError('slow down')", call_id="c", attempt=1),
            model(3, 4, call_id="c", attempt=2, retries=1),
        )
    )
    assert shape(events)[1:-1] == [
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "failed"),
        ("retry", "model-x", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
    ]
    assert (events[2].error_class, events[2].error_message) == ("rate_limit", "slow down")
    assert (events[3].attempt, events[3].error_type) == (1, "RateLimitError")
    assert sum(event.input_tokens or 0 for event in events) == 10
    assert events[-1].status == "completed"


def test_old_logs_keep_the_last_attempt_in_the_place_of_the_first(read: Read) -> None:
    events, _ = read(
        sample(model(2, error="boom"), model(3, error="boom"), model(1, 5, call_id=None))
    )
    assert [(e.event_type, e.status, e.timestamp % 60) for e in events[1:-1]] == [
        ("model_call", "failed", 2),
        ("retry", "started", 3),
        ("model_call", "failed", 3),
        ("retry", "started", 3),
        ("model_call", "started", 3),
        ("model_call", "completed", 5),
    ]
    assert [event.attempt for event in events if event.event_type == "retry"] == [1, 2]


def test_a_pending_call_that_comes_again_when_it_has_ended_is_one_call(read: Read) -> None:
    final = {"uuid": "e1", "call_id": "c1"}
    events, _ = read(
        sample(
            model(1, pending=True, **final),
            model(1, 3, **final),
            tool(4, 5, uuid="e2", pending=True),
            tool(4, 5, uuid="e2"),
            model(6, 8),
        )
    )
    calls = [event for event in events if event.event_type in ("model_call", "tool_call")]
    assert [(event.event_type, event.status) for event in calls] == [
        ("model_call", "started"),
        ("model_call", "completed"),
        ("tool_call", "started"),
        ("model_call", "started"),
        ("model_call", "completed"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 20


def test_a_pending_call_has_begun_and_not_ended(read: Read) -> None:
    events, _ = read(sample(model(1, pending=True), completed_at=None))
    assert shape(events) == [
        ("agent_start", "sample", "started"),
        ("model_call", "model-x", "started"),
    ]


@pytest.mark.parametrize(
    ("kind", "status", "error_class"),
    [
        ("timeout", "failed", "timeout"),
        ("parsing", "failed", "schema"),
        ("permission", "failed", "permission"),
        ("file_not_found", "failed", "not_found"),
        ("output_limit", "failed", "resource"),
        ("unknown", "failed", "tool_error"),
        ("approval", "aborted", None),
        ("cancelled", "aborted", None),
    ],
)
def test_a_tool_s_error_names_its_kind(
    read: Read, kind: str, status: str, error_class: str | None
) -> None:
    events, _ = read(sample(tool(1, 2, error={"type": kind, "message": "…"})))
    end = events[2]
    assert (end.event_type, end.status, end.error_type) == ("tool_result", status, kind)
    assert end.error_class == error_class
    assert events[-1].status == "completed"


@pytest.mark.parametrize(
    ("kind", "operation", "status"),
    [
        ("token", "token_limit", "failed"),
        ("time", "time_limit", "failed"),
        ("working", "time_limit", "failed"),
        ("message", "turn_limit", "failed"),
        ("cost", "budget", "failed"),
        ("custom", "step_limit", "failed"),
        ("operator", "interrupt", "aborted"),
    ],
)
def test_a_limit_that_stopped_a_sample_is_an_audit(
    read: Read, kind: str, operation: str, status: str
) -> None:
    reached = {
        "event": "sample_limit",
        "timestamp": at(3),
        "type": kind,
        "limit": 5,
        "message": "m",
    }
    events, _ = read(sample(model(1, 2), reached, limit={"type": kind, "limit": 5}))
    audit, end = events[-2:]
    assert (audit.event_type, audit.operation, audit.status) == ("audit", operation, status)
    assert (audit.metadata, end.status) == ({"limit": 5.0}, status)


def test_a_limit_of_nothing_stopped_no_sample(read: Read) -> None:
    events, _ = read(sample(model(1, 2) | {"event": "sample_limit"}))
    assert [event.event_type for event in events] == ["agent_start", "agent_end"]


def test_an_error_is_told_once_where_it_happened(read: Read) -> None:
    error = {"message": "RuntimeError('sandbox died')", "traceback": "Traceback …"}
    told = {"event": "error", "timestamp": at(3), "error": error}
    events, _ = read(log(sample(model(1, 2), told, error=error), status="error", error=error))
    failed = [(e.event_type, e.trace_id) for e in events if e.status == "failed"]
    assert failed == [("process_error", "u7"), ("agent_end", "u7"), ("agent_end", "e1")]
    of_model = {"message": "APIError('down')"}
    events, _ = read(sample(model(1, 2, error="APIError('down')"), error=of_model))
    assert [e.event_type for e in events if e.status == "failed"] == ["model_call", "agent_end"]


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        ({"message": "out of disk", "traceback": ""}, ["process_error", "agent_end"]),
        ({"message": "'id'", "traceback": "Traceback …"}, ["process_error", "agent_end"]),
        ({"message": "out of disk"}, ["agent_end"]),
        ("ValueError: x", ["agent_end"]),
        (True, ["agent_end"]),
        (-1, ["agent_end"]),
        ("x", ["agent_end"]),
        ({"message": {}, "code": "x"}, ["agent_end"]),
        ({"": ""}, []),
        ({}, []),
    ],
)
def test_an_error_of_a_sample_is_a_crash_in_the_shape_that_inspect_gives_it(
    read: Read, error: Any, failed: list[str]
) -> None:
    events, _ = read(sample(model(1, 2), error=error))
    assert [event.event_type for event in events if event.status == "failed"] == failed


@pytest.mark.parametrize("limit", [True, "x", {"": ""}, {"type": 1}, {"type": {}}])
def test_a_limit_without_a_name_is_none(read: Read, limit: Any) -> None:
    events, _ = read(sample(model(1, 2), limit=limit))
    assert [event.status for event in events if event.event_type == "audit"] == []


def test_an_eval_that_failed_without_a_sample_crashed_itself(read: Read) -> None:
    error = {"message": "no dataset", "traceback": "Traceback …"}
    events, _ = read(log(sample(), status="error", error=error))
    assert shape([event for event in events if event.trace_id == "e1"])[1:] == [
        ("process_error", "eval", "failed"),
        ("agent_end", "quiz", "failed"),
    ]
    cancelled, _ = read(log(status="cancelled"))
    running, _ = read(log(status="started"))
    assert (cancelled[-1].status, [e.event_type for e in running]) == ("aborted", ["agent_start"])


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("success", {"message": "no dataset", "traceback": "Traceback …"}),
        ("success", "ValueError: no dataset"),
        ("error", "no dataset"),
    ],
)
def test_an_error_of_an_eval_beside_its_success_or_of_another_shape_is_no_crash(
    read: Read, status: str, error: Any
) -> None:
    events, _ = read(log(sample(), status=status, error=error))
    of_eval = [event for event in events if event.trace_id == "e1"]
    assert shape(of_eval)[1:] == [("agent_end", "quiz", "failed")]
    assert "no dataset" in str(of_eval[-1].error_message)
    assert of_eval[-1].metadata == {"contradicted": True}


def test_agents_inside_a_sample_and_refusals_are_told(read: Read) -> None:
    begin = {"event": "span_begin", "timestamp": at(1), "id": "s", "type": "agent", "name": "react"}
    groups = {**begin, "id": "g", "type": "solver", "name": "chain"}
    end = {"event": "span_end", "timestamp": at(4), "id": "s"}
    refused = {"event": "approval", "timestamp": at(3), "decision": "reject", "explanation": "no"}
    events, _ = read(sample(groups, begin, refused, end))
    assert shape(events)[1:-1] == [
        ("agent_start", "react", "started"),
        ("audit", "permission", "aborted"),
        ("agent_end", "react", "completed"),
    ]
    assert (events[1].agent, events[1].call_id, events[1].parent_id) == ("react", "s", "7.1")


def test_samples_that_were_run_again_say_why(read: Read) -> None:
    events, _ = read(sample(error_retries=[{"message": "ConnectionError('reset')"}]))
    assert (events[1].event_type, events[1].attempt) == ("retry", 1)
    assert events[1].error_message == "reset"


def test_logs_of_old_have_transcripts_or_only_messages(read: Read) -> None:
    old = {"id": 1, "epoch": 1, "input": "x", "target": "y", "transcript": {"events": [model(1)]}}
    message = {
        "role": "tool",
        "tool_call_id": "c",
        "function": "bash",
        "content": "…",
        "error": {"type": "timeout", "message": "slow"},
    }
    spoken = {"id": 2, "epoch": 1, "input": "x", "target": "y", "messages": [message]}
    events, _ = read(log(old, spoken))
    told = [event for event in events if event.trace_id.startswith("trace.jsonl#")]
    assert [(e.trace_id.rpartition("#")[2], e.event_type, e.status) for e in told] == [
        ("2.1", "agent_start", "started"),
        ("2.1", "tool_result", "failed"),
        ("2.1", "agent_end", "completed"),
        ("1.1", "agent_start", "started"),
        ("1.1", "model_call", "completed"),
        ("1.1", "agent_end", "completed"),
    ]
    assert (told[1].operation, told[1].call_id, told[1].error_class) == ("bash", "c", "timeout")


def test_members_of_an_archive_that_repeat_others_are_dropped_by_name(read: Read) -> None:
    start = {"version": 2, "eval": {"task": "quiz"}, "plan": {}}
    summary = {"id": 7, "epoch": 1, "input": "x", "target": "", "uuid": "u7", "completed": True}
    events, reader = read(start, summary)
    assert events == []
    assert reader.skipped == {"eval_header": 1, "sample_summary": 1}


def test_evidence_points_at_the_event_s_own_line(read: Read) -> None:
    data = json.dumps(log(sample(tool(1, 2, error={"type": "timeout"}))), indent=1).encode()
    events, _ = read(data)
    failed = next(event for event in events if event.status == "failed")
    lines = data.decode().splitlines()
    assert lines[failed.line].strip() == '"event": "tool",'
