"""OpenHands' SDK: turns, tools, errors of the conversation, one file or one file an event."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def event(kind: str, second: int, source: str = "agent", **fields: Any) -> dict[str, Any]:
    time = f"2026-03-01T10:00:{second:02d}.000000"
    return {"id": f"id{second}", "timestamp": time, "source": source, "kind": kind, **fields}


def user(second: int) -> dict[str, Any]:
    return event("MessageEvent", second, "user", llm_message={"role": "user", "content": []})


def action(
    second: int, tool: str = "terminal", call_id: str = "c1", **fields: Any
) -> dict[str, Any]:
    call = {"id": call_id, "name": tool, "arguments": '{"command": "ls"}'}
    return event(
        "ActionEvent",
        second,
        tool_name=tool,
        tool_call_id=call_id,
        tool_call=call,
        llm_response_id=f"r{second}",
        **fields,
    )


def observation(
    second: int, tool: str = "terminal", call_id: str = "c1", **fields: Any
) -> dict[str, Any]:
    told = {"content": [{"type": "text", "text": "out"}], "is_error": False, **fields}
    return event(
        "ObservationEvent",
        second,
        "environment",
        tool_name=tool,
        tool_call_id=call_id,
        observation=told,
    )


def error(code: str, detail: str, second: int = 9, **fields: Any) -> dict[str, Any]:
    return event(
        "ConversationErrorEvent", second, "environment", code=code, detail=detail, **fields
    )


def state(value: Any, second: int = 9, key: str = "execution_status") -> dict[str, Any]:
    return event("ConversationStateUpdateEvent", second, "environment", key=key, value=value)


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_an_error_of_a_conversation_that_names_none_ends_the_turn_and_no_more(read: Read) -> None:
    events, _ = read(
        event("MessageEvent", 0, "user"), event("ConversationErrorEvent", 1, "environment")
    )
    assert [one.event_type for one in events if one.status == "failed"] == ["agent_end"]


def test_a_turn_opens_with_the_user_and_closes_with_finish(read: Read) -> None:
    events, reader = read(
        event("SystemPromptEvent", 0, system_prompt={"text": "Error: prompt"}),
        user(1),
        action(2),
        observation(3, exit_code=0),
        action(4, "finish", "c2"),
        observation(5, "finish", "c2"),
        state("finished", 6),
    )
    assert shape(events) == [
        ("agent_start", "OpenHands", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "terminal", "started"),
        ("tool_result", "terminal", "completed"),
        ("model_call", "model", "completed"),
        ("tool_call", "finish", "started"),
        ("tool_result", "finish", "completed"),
        ("agent_end", "OpenHands", "completed"),
    ]
    assert (events[2].call_id, events[3].call_id) == ("c1", "c1")
    assert (events[3].metadata, events[-1].duration_seconds) == ({"exit_code": 0}, 4.0)
    assert reader.skipped == {"prompt": 1, "other_event": 1}
    assert list(reader.formats) == ["openhands_events"]


def test_an_answer_without_a_tool_closes_the_turn_and_parallel_calls_are_one_answer(
    read: Read,
) -> None:
    events, _ = read(
        user(1),
        {**action(2), "llm_response_id": "r"},
        {**action(3, call_id="c2"), "llm_response_id": "r"},
        event("MessageEvent", 4, llm_response_id="r2"),
    )
    assert shape(events) == [
        ("agent_start", "OpenHands", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "terminal", "started"),
        ("tool_call", "terminal", "started"),
        ("model_call", "model", "completed"),
        ("agent_end", "OpenHands", "completed"),
    ]


@pytest.mark.parametrize(
    ("fields", "message", "error_class"),
    [
        ({"exit_code": 2}, "exit code 2", "tool_error"),
        ({"timeout": True, "exit_code": -1}, "command timed out", "timeout"),
        (
            {
                "is_error": True,
                "content": [{"text": "[An error occurred during execution.]\nno x"}],
            },
            "no x",
            "tool_error",
        ),
    ],
)
def test_an_observation_says_by_its_flags_that_the_tool_failed(
    read: Read, fields: dict[str, Any], message: str, error_class: str
) -> None:
    events, _ = read(user(1), action(2), observation(3, **fields))
    assert (events[3].status, events[3].error_message) == ("failed", message)
    assert events[3].error_class == error_class


def test_a_command_that_still_runs_has_not_failed(read: Read) -> None:
    events, _ = read(user(1), action(2), observation(3, exit_code=-1))
    assert events[3].status == "completed"


def test_errors_of_the_agent_are_results_and_rejections_are_aborted(read: Read) -> None:
    refused = event(
        "UserRejectObservation",
        4,
        "environment",
        tool_name="terminal",
        tool_call_id="c2",
        rejection_reason="no",
    )
    events, _ = read(
        user(1),
        action(2),
        event("AgentErrorEvent", 3, tool_name="terminal", tool_call_id="c1", error="bad arguments"),
        refused,
    )
    assert shape(events)[3:] == [
        ("tool_result", "terminal", "failed"),
        ("tool_result", "terminal", "aborted"),
    ]


@pytest.mark.parametrize(
    ("code", "detail", "told"),
    [
        ("MaxIterationsReached", "limit (5).", ("audit", "step_limit")),
        ("MaxBudgetReached", "limit ($1)", ("audit", "budget")),
        ("LLMRateLimitError", "slow down", ("model_call", "model")),
        ("BadRequestError", "litellm.BadRequestError: x", ("model_call", "model")),
        ("KeyError", "'x'", ("process_error", "conversation")),
    ],
)
def test_an_error_of_the_conversation_ends_the_turn(
    read: Read, code: str, detail: str, told: tuple[str, str]
) -> None:
    events, _ = read(user(1), error(code, detail), state("error"))
    assert [(e.event_type, e.operation) for e in events[1:]] == [told, ("agent_end", "OpenHands")]
    assert {e.status for e in events[1:]} == {"failed"}
    assert {e.error_type for e in events[1:]} == {code}


def test_the_sdk_s_own_class_of_an_error_is_taken(read: Read) -> None:
    events, _ = read(user(1), error("APIError", "odd words", classification={"kind": "quota"}))
    assert [event.error_class for event in events[1:]] == ["quota", "quota"]


def test_a_stuck_agent_is_a_loop_and_an_interrupt_aborts(read: Read) -> None:
    events, _ = read(user(1), state("stuck"))
    assert shape(events)[1:] == [
        ("audit", "loop", "failed"),
        ("agent_end", "OpenHands", "failed"),
    ]
    events, _ = read(user(1), event("InterruptEvent", 2, "user"))
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "aborted")


def test_a_budget_that_is_used_up_is_told_once_beside_what_was_spent(read: Read) -> None:
    metrics = {"usage_to_metrics": {"a": {"accumulated_cost": 2.0, "max_budget_per_task": 1.5}}}
    events, reader = read(user(1), state(metrics, 2, "stats"), state(metrics, 3, "stats"))
    assert shape(events)[1:] == [("audit", "usage", "completed"), ("audit", "budget", "failed")]
    assert events[2].metadata == {"total_cost_usd": 2.0, "budget_limit": 1.5}
    assert (events[1].cost_usd, events[2].cost_usd) == (2.0, None)
    assert reader.skipped == {"other_event": 1}


def spent(cost: float, asked: int, answered: int) -> dict[str, Any]:
    usage = {"prompt_tokens": asked, "completion_tokens": answered}
    other = {"accumulated_cost": 0.5, "accumulated_token_usage": {"prompt_tokens": 10}}
    told = {"accumulated_cost": cost, "accumulated_token_usage": usage}
    return {"usage_to_metrics": {"agent": told, "condenser": other}}


def test_sums_of_all_models_become_what_was_used_since(read: Read) -> None:
    events, _ = read(
        user(1),
        state(spent(1.0, 100, 9), 2, "stats"),
        state(spent(1.0, 100, 9), 3, "stats"),
        state({"execution_status": "finished", "stats": spent(1.25, 160, 12)}, 4, "full_state"),
    )
    used = [(e.cost_usd, e.input_tokens, e.output_tokens) for e in events if e.operation == "usage"]
    assert used == [(1.5, 110, 9), (0.25, 60, 3)]
    assert events[-1].event_type == "agent_end"


def test_sums_say_nothing_new_where_each_call_is_logged(read: Read) -> None:
    response = {"id": "r1", "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    entry = {"messages": [], "response": response, "latency_sec": 1.0, "timestamp": 1.7e9}
    log = json.dumps(entry)
    logged = event("LLMCompletionLogEvent", 2, "environment", log_data=log, model_name="m")
    events, _ = read(user(1), logged, state(spent(1.0, 100, 9), 3, "stats"))
    assert [e.operation for e in events if e.event_type == "audit"] == []


def test_a_condensation_is_a_compaction(read: Read) -> None:
    events, _ = read(user(1), event("Condensation", 2, "environment", summary="short"))
    assert shape(events)[1:] == [("audit", "compaction", "completed")]


def test_a_hook_that_blocks_is_told_and_one_that_runs_is_not(read: Read) -> None:
    events, reader = read(
        event("HookExecutionEvent", 1, "hook", blocked=True, reason="secrets"),
        event("HookExecutionEvent", 2, "hook", blocked=False),
    )
    assert shape(events) == [("audit", "permission", "aborted")]
    assert (events[0].error_message, reader.skipped) == ("secrets", {"hook": 1})


def test_calls_behind_the_acp_protocol_are_told_once_each_way(read: Read) -> None:
    def call(second: int, status: str, **fields: Any) -> dict[str, Any]:
        return event(
            "ACPToolCallEvent",
            second,
            tool_call_id="a",
            title="Edit",
            status=status,
            raw_input={},
            **fields,
        )

    events, _ = read(call(1, "pending"), call(2, "in_progress"), call(3, "failed", raw_output="x"))
    assert shape(events) == [("tool_call", "Edit", "started"), ("tool_result", "Edit", "failed")]


def test_a_streamed_log_of_a_model_call_brings_its_tokens(read: Read) -> None:
    entry = {
        "messages": [],
        "latency_sec": 2.0,
        "timestamp": 1_800_000_000.0,
        "cost": 0.5,
        "response": {"id": "r2", "model": "model-x", "usage": {"prompt_tokens": 9}},
    }
    logged = event("LLMCompletionLogEvent", 1, "environment", log_data=json.dumps(entry))
    events, _ = read(logged, {**action(2), "llm_response_id": "r2"})
    assert shape(events) == [
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("agent_start", "OpenHands", "started"),
        ("tool_call", "terminal", "started"),
    ]
    assert (events[1].input_tokens, events[1].cost_usd) == (9, 0.5)


def test_events_in_files_of_their_own_meet_in_their_conversation() -> None:
    told: list[Event] = []
    for number, record in enumerate([user(1), action(2), error("MaxIterationsReached", "x")]):
        place = f"conversations/abc123/events/event-{number:05d}-id.json"
        reader = Reader(place, LADDER, 1000.0)
        told += reader.read([(json.dumps(record).encode(), 0, 1)]) + reader.finish()
    assert {event.trace_id for event in told} == {"abc123"}
    assert shape(told)[-2:] == [
        ("audit", "step_limit", "failed"),
        ("agent_end", "OpenHands", "failed"),
    ]
    assert {event.call_id for event in told if event.event_type.startswith("agent")} == {"turn"}


def test_the_state_of_a_conversation_tells_only_how_it_ended(read: Read) -> None:
    base = {"id": "c", "agent": {"kind": "Agent"}, "persistence_dir": "/x", "stats": {}}
    events, reader = read({**base, "execution_status": "idle"})
    assert (events, reader.skipped) == ([], {"conversation_state": 1})
    events, _ = read({**base, "execution_status": "stuck"})
    assert shape(events) == [("audit", "loop", "failed")]


def test_in_files_of_their_own_an_end_is_told_by_its_own_record_only() -> None:
    place = "conversations/abc123/events/event-00009-id.json"
    reader = Reader(place, LADDER, 1000.0)
    assert reader.read([(json.dumps(state("error")).encode(), 0, 1)]) == []
    assert reader.skipped == {"other_event": 1}
