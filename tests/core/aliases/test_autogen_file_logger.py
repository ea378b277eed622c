"""AutoGen 0.2's file logger: completions as reprs, failed configurations, functions, replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
REPR = (
    "ChatCompletion(id='x', choices=[Choice(finish_reason='stop', message=Message(content='429'))],"
    " usage=CompletionUsage(completion_tokens=7, prompt_tokens=31, total_tokens=38))"
)


def completion(response: str, second: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "invocation_id": "i-1", "client_id": 1, "wrapper_id": 2, "request": {"model": "model-x"},
        "response": response, "is_cached": 0, "cost": 0.25, "thread_id": 3,
        "source_name": "planner",
        "start_time": f"2024-08-14 19:57:{second:02d}.000000",
        "end_time": f"2024-08-14 19:57:{second + 2:02d}.500000", **fields,
    }  # fmt: skip


def reply(second: int, final: bool = True) -> dict[str, Any]:
    state = {"reply_func_name": "generate_oai_reply", "final": final, "reply": "Error: 429"}
    return {
        "source_id": 9, "source_name": "planner", "event_name": "reply_func_executed",
        "agent_module": "m", "agent_class": "A", "json_state": json.dumps(state), "thread_id": 3,
        "timestamp": f"2024-08-14 19:57:{second:02d}.000000",
    }  # fmt: skip


def client(session: str) -> dict[str, Any]:
    return {
        "client_id": 1, "wrapper_id": 2, "session_id": session, "class": "OpenAI",
        "json_state": "{}", "timestamp": "2024-08-14 19:57:00.000000", "thread_id": 3,
    }  # fmt: skip


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_completion_and_its_reply_are_a_turn(read: Read) -> None:
    events, reader = read(client("s-1"), completion(REPR), reply(5, final=False), reply(6))
    assert shape(events) == [
        ("agent_start", "turn", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("agent_end", "turn", "completed"),
    ]
    answer = events[2]
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (31, 7, 0.25)
    assert (answer.finish_reason, answer.duration_seconds) == ("stop", 2.5)
    assert events[0].timestamp == 1723665421.0
    assert {event.trace_id for event in events} == {"s-1"}
    assert events[0].call_id == answer.parent_id == events[3].call_id == "turn-1"
    assert reader.skipped == {"session_setup": 1, "agent_event": 1}


def test_a_configuration_that_fails_is_an_attempt(read: Read) -> None:
    events, _ = read(
        client("s-1"),
        completion("error_code:rate_limit_exceeded, config 0 failed"),
        completion(REPR, 4),
        reply(9),
    )
    assert [(event.event_type, event.status, event.attempt) for event in events] == [
        ("agent_start", "started", None),
        ("model_call", "started", 1),
        ("model_call", "failed", 1),
        ("retry", "started", 1),
        ("model_call", "started", 2),
        ("model_call", "completed", 2),
        ("agent_end", "completed", None),
    ]
    assert (events[2].error_type, events[2].error_class) == ("rate_limit_exceeded", "rate_limit")
    assert events[2].metadata == {"config": 0}


def test_an_agent_that_never_replies_leaves_its_turn_open(read: Read) -> None:
    events, _ = read(client("s-1"), completion("error_code:None, config 0 failed"))
    assert shape(events) == [
        ("agent_start", "turn", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "failed"),
    ]
    assert events[2].error_type is None


def test_a_cached_answer_uses_nothing(read: Read) -> None:
    events, _ = read(completion(REPR, is_cached=1))
    assert (events[2].input_tokens, events[2].cost_usd) == (None, None)
    assert events[2].metadata == {"cached": True}


def test_a_function_is_a_call_whose_output_may_tell_a_failure(read: Read) -> None:
    def used(returns: Any) -> dict[str, Any]:
        return {
            "source_id": 9, "source_name": "runner", "agent_module": "m", "agent_class": "A",
            "timestamp": "2024-08-14 19:57:03.000000", "thread_id": 3, "input_args": '{"u": 1}',
            "returns": json.dumps(returns),
        }  # fmt: skip

    events, _ = read(used("the error was found"), used("Error: no such page"))
    assert shape(events) == [
        ("agent_start", "turn", "started"),
        ("tool_call", "function", "started"),
        ("tool_result", "function", "completed"),
        ("tool_call", "function", "started"),
        ("tool_result", "function", "failed"),
    ]
    assert events[1].arguments_hash == events[3].arguments_hash
    assert events[4].error_message == "Error: no such page"


def test_calls_belong_to_the_session_named_last(read: Read) -> None:
    agent = {
        "id": 5, "agent_name": "planner", "wrapper_id": 2, "session_id": "s-2", "args": {},
        "current_time": "2024-08-14 19:58:00.000000", "agent_type": "A", "thread_id": 3,
    }  # fmt: skip
    events, _ = read(client("s-1"), completion(REPR), reply(5), agent, completion(REPR, 7))
    assert [event.trace_id for event in events if event.event_type == "agent_start"] == [
        "s-1",
        "s-2",
    ]
