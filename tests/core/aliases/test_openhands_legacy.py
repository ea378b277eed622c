"""OpenHands V0: numbered actions and observations, alone or in an instance's history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def base(number: int, source: str) -> dict[str, Any]:
    return {"id": number, "timestamp": f"2026-03-01T10:00:{number:02d}", "source": source}


def action(number: int, name: str, source: str = "agent", **fields: Any) -> dict[str, Any]:
    args = fields.pop("args", {"command": "ls", "thought": f"thought {number}"})
    return {**base(number, source), "action": name, "args": args, **fields}


def observation(number: int, name: str, cause: int | None, **fields: Any) -> dict[str, Any]:
    told = {"content": "out", "extras": {}, "cause": cause, **fields}
    return {**base(number, "environment"), "observation": name, **told}


def state(number: int, name: str, reason: str = "") -> dict[str, Any]:
    extras = {"agent_state": name, "reason": reason}
    return observation(number, "agent_state_changed", None, extras=extras)


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def metrics(cost: float, asked: int, answered: int) -> dict[str, Any]:
    usage = {"prompt_tokens": asked, "completion_tokens": answered}
    return {"accumulated_cost": cost, "accumulated_token_usage": usage}


def test_a_turn_with_its_calls_and_what_each_answer_used(read: Read) -> None:
    called = {"function_name": "execute_bash", "model_response": {"id": "r1", "model": "model-x"}}
    events, reader = read(
        action(1, "message", "user", args={"content": "Error: fix it"}),
        action(2, "recall"),
        action(3, "run", tool_call_metadata=called, llm_metrics=metrics(0.5, 100, 10)),
        observation(4, "run", 3, extras={"metadata": {"exit_code": 0}}),
        action(5, "run", llm_metrics=metrics(0.75, 180, 15)),
        observation(6, "run", 5, extras={"metadata": {"exit_code": 1}}),
        action(7, "finish", llm_metrics=metrics(0.75, 180, 15)),
    )
    assert shape(events) == [
        ("agent_start", "OpenHands", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "execute_bash", "started"),
        ("tool_result", None, "completed"),
        ("model_call", "model", "completed"),
        ("tool_call", "run", "started"),
        ("tool_result", None, "failed"),
        ("model_call", "model", "completed"),
        ("agent_end", "OpenHands", "completed"),
    ]
    assert [e.input_tokens for e in events if e.event_type == "model_call"] == [100, 80, 0]
    assert [e.cost_usd for e in events if e.event_type == "model_call"] == [0.5, 0.25, 0.0]
    assert (events[2].call_id, events[3].call_id) == ("3", "3")
    assert events[2].arguments_hash == events[5].arguments_hash
    assert reader.skipped == {"internal_step": 1}
    assert list(reader.formats) == ["openhands_legacy"]


def test_errors_with_a_cause_are_results_and_those_without_are_failures(read: Read) -> None:
    events, _ = read(
        action(1, "message", "user"),
        action(2, "run"),
        observation(3, "error", 2, content="bad arguments"),
        observation(4, "error", None, content="litellm.RateLimitError: 429 slow down"),
        state(5, "error", "litellm.RateLimitError: 429 slow down"),
    )
    assert shape(events)[3:] == [
        ("tool_result", None, "failed"),
        ("model_call", "model", "failed"),
        ("agent_end", "OpenHands", "failed"),
    ]
    assert events[4].error_class == "rate_limit"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("finished", "completed"),
        ("awaiting_user_input", "completed"),
        ("rejected", "failed"),
        ("error", "failed"),
        ("stopped", "aborted"),
    ],
)
def test_a_state_of_the_agent_ends_the_turn(read: Read, name: str, status: str) -> None:
    events, _ = read(action(1, "message", "user"), state(2, "running"), state(3, name))
    assert (events[-1].event_type, events[-1].status) == ("agent_end", status)


def test_waiting_for_the_rate_limit_is_a_retry_and_rejected_actions_are_aborted(
    read: Read,
) -> None:
    events, _ = read(
        action(1, "message", "user"),
        state(2, "rate_limited"),
        action(3, "run"),
        observation(4, "user_rejected", 3),
    )
    assert shape(events)[1:] == [
        ("retry", "model", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "run", "started"),
        ("tool_result", None, "aborted"),
    ]
    assert (events[1].http_status, events[1].error_class) == (429, "rate_limit")


def test_instances_of_an_evaluation_are_runs_and_their_error_ends_them(read: Read) -> None:
    history = [action(1, "message", "user"), action(2, "run"), observation(3, "run", 2)]
    pairs = [[action(1, "run"), observation(2, "run", 1)]]
    events, _ = read(
        {"instance_id": "a", "history": history, "error": "AgentRuntimeError: container gone"},
        {"instance_id": "b", "history": pairs, "error": None},
    )
    first = [event for event in events if event.trace_id == "trace.jsonl#a"]
    assert shape(first)[-2:] == [
        ("process_error", "conversation", "failed"),
        ("agent_end", "OpenHands", "failed"),
    ]
    second = [event for event in events if event.trace_id == "trace.jsonl#b"]
    assert shape(second)[-1] == ("tool_result", None, "completed")


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (
            "RuntimeError: Agent reached maximum iteration. Current iteration: 9, max iteration: 9",
            ("audit", "step_limit", "failed"),
        ),
        (
            "RuntimeError: Agent reached maximum budget for conversation. max budget: 1.50",
            ("audit", "budget", "failed"),
        ),
        ("AgentStuckInLoopError: Agent got stuck in a loop", ("audit", "loop", "failed")),
        ("litellm.RateLimitError: 429 slow down", ("model_call", "model", "failed")),
    ],
)
def test_what_stopped_the_agent_is_told_once_wherever_it_stands(
    read: Read, reason: str, told: tuple[str, str, str]
) -> None:
    begun = action(1, "message", "user", args={"content": "x"})
    ends = [told, ("agent_end", "OpenHands", "failed")]

    alone, _ = read(begun, state(2, "error", reason))
    observed, _ = read(
        begun, observation(2, "error", None, content=reason), state(3, "error", reason)
    )

    assert shape(alone)[1:] == ends
    assert shape(observed)[1:] == ends


def test_a_limit_says_its_number(read: Read) -> None:
    reason = "RuntimeError: Agent reached maximum budget for conversation. max budget: 1.50"
    events, _ = read(action(1, "message", "user", args={"content": "x"}), state(2, "error", reason))

    assert events[1].metadata == {"budget_limit": 1.5}
