"""Harbor: trajectories in ATIF, and the result of the trial beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def at_place(source: str, record: dict[str, Any]) -> list[Event]:
    reader = Reader(source, LADDER, 1000.0)
    return reader.read([(json.dumps(record).encode(), 0, 1)]) + reader.finish()


def trajectory(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return {
        "schema_version": "ATIF-v1.5",
        "session_id": "s1",
        "agent": {"name": "agent-a", "model_name": "model-x"},
        "steps": numbered,
        "final_metrics": {"total_prompt_tokens": 999, "total_cost_usd": 9.0},
        **fields,
    }


def agent_step(second: int, output: str | None = None, **fields: Any) -> dict[str, Any]:
    step: dict[str, Any] = {
        "source": "agent",
        "timestamp": f"2026-03-01T00:00:{second:02d}Z",
        "message": "Error: what the model wrote",
        "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "cost_usd": 0.01},
        **fields,
    }
    if output is not None:
        call = {"tool_call_id": "c1", "function_name": "shell", "arguments": {"cmd": "ls"}}
        results = [{"source_call_id": "c1", "content": output}]
        step |= {"tool_calls": [call], "observation": {"results": results}}
    return step


def test_steps_become_calls_and_sums_are_not_counted_again(read: Read) -> None:
    events, reader = read(
        trajectory(
            {"source": "user", "message": "Error: the task"},
            agent_step(1, is_copied_context=True),
            agent_step(2, "a.txt"),
            agent_step(3, '{"error": "disk full"}'),
            agent_step(4, observation={"results": [{"content": "Error: a terminal's screen"}]}),
        )
    )
    assert [(e.event_type, e.operation, e.status) for e in events] == [
        ("agent_start", "agent-a", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "shell", "started"),
        ("tool_result", "shell", "completed"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "shell", "started"),
        ("tool_result", "shell", "failed"),
        ("model_call", "model-x", "completed"),
        ("agent_end", "agent-a", "completed"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 30
    assert (events[6].error_message, events[6].error_class) == ("disk full", "resource")
    assert events[-1].duration_seconds == 2.0
    assert list(reader.formats) == ["atif"]


def test_a_step_that_asked_no_model_is_no_model_call(read: Read) -> None:
    events, _ = read(
        trajectory(agent_step(1, "x", llm_call_count=0, metrics=None), final_metrics=None)
    )
    assert [event.event_type for event in events] == [
        "agent_start",
        "tool_call",
        "tool_result",
        "agent_end",
    ]


def test_early_documents_have_roles_and_results_of_their_own(read: Read) -> None:
    call = {"tool_call_id": "c1", "function_name": "web_search", "arguments": {}}
    value = {
        "session_id": "s",
        "agent": {"name": "researcher"},
        "steps": [
            {"role": "user", "message": "q"},
            {"role": "assistant", "message": "m", "model_name": "model-y", "tool_calls": [call]},
            {"role": "observation", "results": [{"source_call_id": "c1", "content": "found"}]},
        ],
    }
    events, _ = read(value)
    assert [(e.event_type, e.operation) for e in events] == [
        ("agent_start", "researcher"),
        ("model_call", "model-y"),
        ("tool_call", "web_search"),
        ("tool_result", "web_search"),
        ("agent_end", "researcher"),
    ]


def result(**fields: Any) -> dict[str, Any]:
    return {
        "trial_name": "task__abc",
        "task_name": "task",
        "agent_info": {"name": "agent-a", "model_info": {"name": "model-x"}},
        "exception_info": None,
        "verifier_result": None,
        "started_at": "2026-03-01T00:00:00",
        "finished_at": "2026-03-01T00:01:00",
        "agent_result": {"n_input_tokens": 999},
        **fields,
    }


def exception(kind: str, message: str, traceback: str = "") -> dict[str, Any]:
    return {
        "exception_type": kind,
        "exception_message": message,
        "exception_traceback": traceback,
        "occurred_at": "2026-03-01T00:00:59",
    }


def test_the_trial_s_verdict_joins_its_trajectory_by_their_folder() -> None:
    steps = at_place("jobs/j/task__abc/agent/trajectory.json", trajectory(agent_step(1)))
    verdict = at_place(
        "jobs/j/task__abc/result.json", result(verifier_result={"rewards": {"reward": 0.0}})
    )
    assert {event.trace_id for event in [*steps, *verdict]} == {"task__abc"}
    end = verdict[-1]
    assert (end.event_type, end.status, end.error_message) == ("agent_end", "failed", "reward 0")
    assert (end.duration_seconds, end.input_tokens, end.metadata) == (60.0, None, {"reward": 0.0})


def test_a_rewarded_trial_is_completed(read: Read) -> None:
    events, reader = read(result(verifier_result={"rewards": {"reward": 1.0}}))
    assert [(e.event_type, e.status) for e in events] == [
        ("agent_start", "started"),
        ("agent_end", "completed"),
    ]
    assert list(reader.formats) == ["harbor_trial"]


def test_an_exception_is_a_limit_a_model_call_or_a_crash(read: Read) -> None:
    late, _ = read(result(exception_info=exception("AgentTimeoutError", "after 600 s")))
    limited, _ = read(result(exception_info=exception("ApiRateLimitError", "slow down")))
    crashed, _ = read(result(exception_info=exception("RuntimeError", "docker is gone")))
    stopped, _ = read(result(exception_info=exception("CancelledError", "")))
    assert (late[1].event_type, late[1].operation) == ("audit", "time_limit")
    assert late[1].metadata == {"phase": "agent"}
    assert (limited[1].event_type, limited[1].operation) == ("model_call", "model-x")
    assert limited[1].error_class == "rate_limit"
    assert (crashed[1].event_type, crashed[1].error_message) == ("process_error", "docker is gone")
    assert [events[-1].status for events in (late, limited, crashed, stopped)] == [
        "failed",
        "failed",
        "failed",
        "aborted",
    ]


def test_the_exception_of_a_step_is_the_trial_s(read: Read) -> None:
    step = {"step_name": "one", "exception_info": exception("VerifierTimeoutError", "slow")}
    events, _ = read(result(step_results=[step]))
    assert (events[1].operation, events[1].metadata) == ("time_limit", {"phase": "verifier"})


def test_sums_count_where_no_step_tells_its_part_of_them(read: Read) -> None:
    sums = {"total_prompt_tokens": 700, "total_completion_tokens": 90, "total_cost_usd": 1.25}

    def used(*steps: dict[str, Any]) -> list[tuple[Any, Any, Any]]:
        events, _ = read(trajectory(*steps, final_metrics=sums))
        told = [(one.input_tokens, one.output_tokens, one.cost_usd) for one in events]
        return [one for one in told if any(one)]

    assert used(agent_step(2, metrics={}), agent_step(3, metrics=None)) == [(700, 90, 1.25)]
    assert used(agent_step(2, metrics={"prompt_tokens": 10, "completion_tokens": 2})) == [
        (10, 2, None),
        (None, None, 1.25),
    ]
    assert used(agent_step(1, is_copied_context=True), agent_step(2, metrics={})) == []
