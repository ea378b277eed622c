"""Magentic-One's log: runs one after another, the ledger, limits, scripts that fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def thought(second: int, source: str, message: str) -> dict[str, Any]:
    return {
        "timestamp": f"2026-03-04T05:06:{second:02d}.5", "source": source, "message": message,
        "type": "OrchestrationEvent",
    }  # fmt: skip


def model(second: int) -> dict[str, Any]:
    return {
        "timestamp": f"2026-03-04T05:06:{second:02d}.1", "prompt_tokens": 100,
        "completion_tokens": 9, "type": "LLMCallEvent",
    }  # fmt: skip


def ledger(second: int, in_loop: bool, progress: bool) -> dict[str, Any]:
    book = {
        "is_in_loop": {"reason": "same error again and again", "answer": in_loop},
        "is_progress_being_made": {"reason": "r", "answer": progress},
    }
    text = "Updated Ledger:\n" + json.dumps(book, indent=2)
    return thought(second, "Orchestrator (thought)", text)


def ended(second: int, why: str = "No agent selected.") -> dict[str, Any]:
    return thought(second, "Orchestrator (termination condition)", why)


TASK = thought(1, "UserProxy", "Why is there an Error: 429?")


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_healthy_run_begins_with_the_user_and_ends_with_a_condition(read: Read) -> None:
    events, reader = read(
        TASK, model(2), ledger(3, False, True), thought(4, "Coder", "Traceback (most recent"),
        thought(5, "Executor", "The script ran, then exited with Unix exit code: 0\nIts output"),
        ended(6),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "Orchestrator", "started"),
        ("model_call", "model", "completed"),
        ("tool_result", "code_execution", "completed"),
        ("agent_end", "Orchestrator", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (100, 9)
    assert events[3].finish_reason == "No agent selected."
    assert events[0].call_id == events[1].parent_id == events[3].call_id == "run-1"
    assert reader.skipped == {"ledger": 1, "message": 1}


def test_a_run_without_an_end_stays_open_when_the_next_begins(read: Read) -> None:
    events, _ = read(TASK, model(2), thought(3, "UserProxy", "another task"), ended(4))
    assert [(event.event_type, event.call_id, event.trace_id) for event in events] == [
        ("agent_start", "run-1", "trace.jsonl"),
        ("model_call", None, "trace.jsonl"),
        ("agent_start", "run-2", "trace.jsonl#2"),
        ("agent_end", "run-2", "trace.jsonl#2"),
    ]


def test_the_user_who_is_asked_begins_no_run(read: Read) -> None:
    events, reader = read(
        TASK,
        thought(2, "Orchestrator (thought)", "Next speaker UserProxy"),
        thought(3, "UserProxy", "yes"),
        ended(4),
    )
    assert shape(events) == [
        ("agent_start", "Orchestrator", "started"),
        ("agent_end", "Orchestrator", "completed"),
    ]
    assert reader.skipped == {"thought": 1, "user_input": 1}


def test_the_ledger_says_when_the_team_turns_in_circles(read: Read) -> None:
    events, _ = read(TASK, ledger(2, False, False), ledger(3, True, False))
    assert shape(events)[1:] == [
        ("audit", "no_progress", "completed"),
        ("audit", "loop", "failed"),
    ]


def test_the_ledger_says_once_when_the_team_gets_on_again(read: Read) -> None:
    told = [
        ledger(2, True, False),
        ledger(3, False, False),
        ledger(4, False, True),
        ledger(5, False, True),
    ]
    events, reader = read(TASK, *told)
    assert shape(events)[1:] == [
        ("audit", "loop", "failed"),
        ("audit", "no_progress", "completed"),
        ("audit", "loop", "completed"),
    ]
    assert reader.skipped == {"ledger": 1}


def test_a_script_that_fails_is_a_failed_call(read: Read) -> None:
    events, _ = read(
        TASK,
        thought(2, "Executor", "The script ran, then exited with Unix exit code: 2\nIts output"),
        thought(
            3,
            "Executor",
            "The script ran but produced no output to console. The Unix exit code was: 1. If",
        ),
    )
    assert [(event.status, event.metadata) for event in events[1:]] == [
        ("failed", {"exit_code": 2}),
        ("failed", {"exit_code": 1}),
    ]


def test_limits_fail_the_run(read: Read) -> None:
    events, _ = read(
        TASK,
        ended(2, "Max rounds (20) reached."),
        thought(3, "UserProxy", "Why is there an Error: 429?"),
        ended(4, "Max time (90.5s) reached."),
    )
    assert shape(events) == [
        ("agent_start", "Orchestrator", "started"),
        ("audit", "turn_limit", "failed"),
        ("agent_end", "Orchestrator", "failed"),
        ("agent_start", "Orchestrator", "started"),
        ("audit", "time_limit", "failed"),
        ("agent_end", "Orchestrator", "failed"),
    ]
    assert [events[1].metadata, events[4].metadata] == [{"limit": 20.0}, {"limit": 90.5}]


def test_a_team_that_gives_up_replanning_has_failed(read: Read) -> None:
    events, _ = read(
        TASK,
        thought(2, "Orchestrator (thought)", "Stalled.... Replanning..."),
        thought(3, "Orchestrator (thought)", "Replan counter exceeded... Terminating."),
        ended(4),
    )
    assert shape(events)[1:] == [
        ("audit", "no_progress", "failed"),
        ("audit", "step_limit", "failed"),
        ("agent_end", "Orchestrator", "failed"),
    ]


def test_a_ledger_that_is_no_json_is_the_failure_of_the_model_that_wrote_it(read: Read) -> None:
    told = 'Failed to parse ledger information: {"is_request_satisfied": openai.RateLimitError'
    events, _ = read(TASK, model(2), thought(3, "Orchestrator (error)", told))
    assert shape(events)[2:] == [("model_call", "Orchestrator", "failed")]
    assert events[2].error_message == "Failed to parse ledger information"
    assert events[2].error_class == "schema"


def test_what_the_orchestrator_raised_itself_is_a_crash(read: Read) -> None:
    events, _ = read(TASK, thought(3, "Orchestrator (error)", "KeyError: 'team'"))
    assert (events[-1].event_type, events[-1].error_class) == ("process_error", "crash")
