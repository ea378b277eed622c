"""SWE-agent's trajectories: steps, histories without steps, and how runs end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def step(action: str, observation: str, **fields: Any) -> dict[str, Any]:
    return {
        "action": action,
        "observation": observation,
        "response": "Error: what the model wrote",
        "thought": "…",
        **fields,
    }


def trajectory(*steps: dict[str, Any], status: str | None = "submitted") -> dict[str, Any]:
    stats = {"instance_cost": 1.5, "tokens_sent": 900, "tokens_received": 30, "api_calls": 2}
    return {
        "environment": "e",
        "trajectory": list(steps),
        "history": [],
        "info": {"exit_status": status, "model_stats": stats},
        "replay_config": '{"agent": {"model": {"name": "model-x"}}}',
    }


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_steps_become_an_answer_a_call_and_its_result(read: Read) -> None:
    events, reader = read(
        trajectory(
            step(
                "cd /repo && pytest -q\n", "3 passed, 1 error in test_timeout", execution_time=2.5
            ),
            step("submit\n", "diff"),
        )
    )
    assert shape(events) == [
        ("agent_start", "SWE-agent", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "pytest", "started"),
        ("tool_result", "pytest", "completed"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "submit", "started"),
        ("tool_result", "submit", "completed"),
        ("agent_end", "SWE-agent", "completed"),
    ]
    assert events[3].duration_seconds == 2.5
    assert {event.call_id for event in events[2:4]} == {"step-1"}
    assert sum(event.input_tokens or 0 for event in events) == 900
    assert sum(event.cost_usd or 0 for event in events) == 1.5
    assert list(reader.formats) == ["swe_agent"]


@pytest.mark.parametrize(
    ("observation", "message", "error_class"),
    [
        ("partial\nEXECUTION TIMED OUT", "EXECUTION TIMED OUT", "timeout"),
        (
            "x\nEXECUTION TIMED OUT BECAUSE NO OUTPUT WAS PRODUCED FOR MORE THAN 60.0 SECONDS.\n"
            "PLEASE REFINE YOUR RUNNING COMMAND.",
            "EXECUTION TIMED OUT BECAUSE NO OUTPUT WAS PRODUCED FOR MORE THAN 60.0 SECONDS.",
            "timeout",
        ),
        (
            "The command 'make' was cancelled because it took more than 30 seconds. Please …",
            "command timed out after 30 seconds",
            "timeout",
        ),
        (
            "Traceback (most recent call last):\n  File 'a'\nKeyError: 'x'",
            "KeyError: 'x'",
            "tool_error",
        ),
        (
            "Your proposed edit has introduced new syntax error(s). Please read",
            "Your proposed edit has introduced new syntax error(s). Please read",
            "tool_error",
        ),
    ],
)
def test_what_the_harness_shows_of_a_failure_is_a_failed_result(
    read: Read, observation: str, message: str, error_class: str
) -> None:
    events, _ = read(trajectory(step("make", observation)))
    assert (events[3].status, events[3].error_message) == ("failed", message)
    assert events[3].error_class == error_class


@pytest.mark.parametrize(
    ("status", "words", "told"),
    [
        ("exit_cost", "Exit due to cost limit", ("audit", "budget", "budget")),
        ("submitted (exit_cost)", "", ("audit", "budget", "budget")),
        ("exit_total_execution_time", "", ("audit", "time_limit", "unknown")),
        ("exit_context", "", ("model_call", "model-x", "context_length")),
        ("exit_format", "", ("model_call", "model-x", "schema")),
        ("exit_command_timeout", "", ("tool_result", "ls", "timeout")),
        (
            "exit_api",
            "Exit due to retry error: litellm.RateLimitError: 429 slow down",
            ("model_call", "model-x", "rate_limit"),
        ),
        (
            "exit_environment_error",
            "Exit due to environment error: container gone",
            ("process_error", "SWE-agent", "crash"),
        ),
    ],
)
def test_an_exit_is_told_by_what_caused_it(
    read: Read, status: str, words: str, told: tuple[str, str, str]
) -> None:
    last = step("", "Exited (autosubmitted)", response=words)
    steps = [step("ls", "a"), last] if words else [step("ls", "a")]
    events, _ = read(trajectory(*steps, status=status))
    cause, end = events[-2:]
    assert (cause.event_type, cause.operation, cause.error_class) == told
    assert (end.event_type, end.status) == ("agent_end", "failed")


@pytest.mark.parametrize(
    "status", ["exit_api", "exit_context", "exit_cost", "exit_error", "exit_format"]
)
def test_a_bare_exit_beside_a_submission_fails_the_run_and_names_no_cause(
    read: Read, status: str
) -> None:
    value = trajectory(step("ls", "a"), status=status)
    value["info"]["submission"] = "diff --git a b"
    events, _ = read(value)
    assert [event.event_type for event in events if event.status == "failed"] == ["agent_end"]
    assert (events[-1].error_type, events[-1].metadata) == (status, {"contradicted": True})

    value["info"]["exit_status"] = f"submitted ({status})"
    events, _ = read(value)
    assert [e.status for e in events][-2:] == ["failed", "failed"]
    assert events[-1].metadata is None


def test_an_exit_for_its_format_repeats_the_answer_that_could_not_be_read(read: Read) -> None:
    events, _ = read(trajectory(step("", ""), step("exit_format", ""), status="exit_format"))
    assert shape(events) == [
        ("agent_start", "SWE-agent", "started"),
        ("model_call", "model-x", "failed"),
        ("agent_end", "SWE-agent", "failed"),
    ]
    assert (events[1].error_type, events[2].finish_reason) == ("FormatError", "exit_format")


def test_a_trajectory_without_exit_status_has_not_ended(read: Read) -> None:
    events, _ = read(trajectory(step("ls", "a"), status=None))
    assert events[-1].event_type == "tool_result"


def test_a_history_alone_is_read_message_by_message(read: Read) -> None:
    def say(role: str, content: str, **fields: Any) -> dict[str, Any]:
        return {"role": role, "content": content, "agent": "main", **fields}

    calls = [{"id": "c1", "function": {"name": "open", "arguments": "{}"}}]
    events, _ = read(
        {
            "history": [
                say("system", "s"),
                say("user", "demo", is_demo=True),
                say("user", "Traceback (most recent call last): in the task"),
                say("assistant", "…", action="open a.py", tool_calls=calls),
                say("tool", "Error: a.py not found"),
                say("assistant", "…", action="submit"),
                say("user", "diff"),
            ]
        }
    )
    assert shape(events) == [
        ("agent_start", "SWE-agent", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "open", "started"),
        ("tool_result", "open", "failed"),
        ("model_call", "model", "completed"),
        ("tool_call", "submit", "started"),
        ("tool_result", "submit", "completed"),
        ("agent_end", "SWE-agent", "completed"),
    ]
    assert events[3].call_id == "c1"


def test_a_provider_that_kept_failing_is_the_models_failure_and_no_crash(read: Read) -> None:
    events, _ = read(trajectory(step("ls", "a"), status="exit_api"))
    assert shape(events)[-2:] == [
        ("model_call", "model-x", "failed"),
        ("agent_end", "SWE-agent", "failed"),
    ]
