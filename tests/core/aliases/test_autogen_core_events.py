"""AutoGen core's event log: repeated messages, failures told three times, calls told twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
TEAM = "6f1f2c3d-0000-4000-8000-0000000000aa"
MANAGER = f"RoundRobinGroupChatManager_{TEAM}/{TEAM}"
WORKER = f"worker_{TEAM}/{TEAM}"
OUTPUT = f"output_topic_{TEAM}/{TEAM}"


def message(
    payload: Any, sender: str | None, receiver: str | None, stage: str = "SEND"
) -> dict[str, Any]:
    return {
        "payload": payload if isinstance(payload, str) else json.dumps(payload),
        "sender": sender, "receiver": receiver, "kind": "MessageKind.PUBLISH",
        "delivery_stage": f"DeliveryStage.{stage}", "type": "Message",
    }  # fmt: skip


def chat(
    message_id: str, kind: str, content: Any, second: int, usage: Any = None, source: str = "worker"
) -> dict[str, Any]:
    return {
        "id": message_id, "source": source, "models_usage": usage, "metadata": {},
        "created_at": f"2026-03-04T05:06:{second:02d}Z", "content": content, "type": kind,
    }  # fmt: skip


def told(inner: dict[str, Any]) -> list[dict[str, Any]]:
    """A message as the log tells it: sent, delivered, and repeated in the agent's response."""
    response = {"response": {"chat_message": inner, "inner_messages": [inner]}, "name": "worker"}
    return [
        message({"message": inner}, WORKER, OUTPUT),
        message({"message": inner}, WORKER, None, "DELIVER"),
        message(response, WORKER, f"group_topic_{TEAM}/{TEAM}"),
    ]


def begun(task_id: str = "m0") -> list[dict[str, Any]]:
    task = {"messages": [chat(task_id, "TextMessage", "go", 0, source="user")]}
    return [
        message(task, None, MANAGER),
        message(task, None, MANAGER, "DELIVER"),
        message(task, MANAGER, OUTPUT),
        message("{}", MANAGER, WORKER),
    ]


def failed(kind: str, text: str, traceback: str) -> list[dict[str, Any]]:
    payload = {"error": {"error_type": kind, "error_message": text, "traceback": traceback}}
    return [
        message(payload, WORKER, f"group_topic_{TEAM}/{TEAM}"),
        {
            "payload": "{}", "handling_agent": WORKER, "exception": text,
            "type": "MessageHandlerException",
        },
        message(payload, WORKER, None, "DELIVER"),
        message("Message could not be serialized", MANAGER, OUTPUT),
    ]  # fmt: skip


def test_an_exception_that_is_not_written_is_none_of_this_log(read: Read) -> None:
    strayed = message("{}", MANAGER, WORKER) | {"type": "MessageHandlerException"}
    events, reader = read(*begun(), strayed)
    assert [event.event_type for event in events] == ["agent_start"]
    assert reader.skipped["unrecognised_record"] == 1

    events, _ = read(*begun(), strayed | {"handling_agent": WORKER, "exception": ""})
    assert shape(events)[-1] == ("process_error", "worker", "failed")


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


CALL = [{"id": "c1", "name": "search", "arguments": '{"q":"x"}'}]
USED = {"prompt_tokens": 50, "completion_tokens": 5}
MODEL_FRAME = 'Traceback\n  File "a.py", line 9, in _call_llm\n    await model_client.create(\n'


def test_a_healthy_team_tells_every_message_once(read: Read) -> None:
    result = [{"call_id": "c1", "name": "search", "content": "found", "is_error": False}]
    events, reader = read(
        *begun(),
        *told(chat("m1", "ToolCallRequestEvent", CALL, 1, USED)),
        *told(chat("m2", "ToolCallExecutionEvent", result, 2)),
        *told(chat("m3", "ToolCallSummaryMessage", "found", 3)),
        message("Message could not be serialized", MANAGER, OUTPUT),
    )
    assert shape(events) == [
        ("agent_start", "RoundRobinGroupChat", "started"),
        ("model_call", "worker", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("agent_end", "RoundRobinGroupChat", "completed"),
    ]
    assert {event.trace_id for event in events} == {TEAM}
    assert events[0].call_id == events[1].parent_id == events[4].call_id
    assert sum(event.input_tokens or 0 for event in events) == 50
    assert reader.skipped == {"repeated_message": 8, "control_message": 1, "repeated_result": 1}


def test_a_failure_that_is_logged_three_times_is_told_once_as_the_models(read: Read) -> None:
    events, reader = read(
        *begun(), *failed("RateLimitError", "Error code: 429 - slow", MODEL_FRAME)
    )
    assert shape(events) == [
        ("agent_start", "RoundRobinGroupChat", "started"),
        ("model_call", "worker", "failed"),
        ("agent_end", "RoundRobinGroupChat", "failed"),
    ]
    assert (events[1].error_type, events[1].http_status) == ("RateLimitError", 429)
    assert events[2].error_message == "Error code: 429 - slow"
    assert reader.skipped["repeated_error"] == 2
    assert reader.skipped["repeated_end"] == 1


def test_the_same_failure_in_the_next_run_is_another_one(read: Read) -> None:
    failure = failed("KeyError", "'city'", "Traceback\n  in handle\n")
    events, _ = read(*begun("m0"), *failure, *begun("m1"), *failure)
    assert [event.event_type for event in events if event.status == "failed"] == [
        "process_error",
        "agent_end",
        "process_error",
        "agent_end",
    ]


def test_tools_that_raise_are_told_by_messages_only(read: Read) -> None:
    result = [{"call_id": "c1", "name": "search", "content": "timed out", "is_error": True}]
    events, _ = read(
        *begun(),
        *told(chat("m1", "ToolCallRequestEvent", CALL, 1)),
        *told(chat("m2", "ToolCallExecutionEvent", result, 2)),
    )
    assert shape(events)[1:] == [
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
    ]
    assert events[2].error_class == "timeout"


def test_calls_that_the_core_logs_too_are_not_counted_twice(read: Read) -> None:
    logged = {
        "type": "LLMCall", "messages": [], "agent_id": WORKER, **USED,
        "response": {"id": "r1", "model": "model-x", "choices": [{"finish_reason": "stop"}]},
    }  # fmt: skip
    tool = {
        "type": "ToolCall", "tool_name": "search", "arguments": {"q": "x"}, "result": "found",
        "agent_id": WORKER,
    }  # fmt: skip
    result = [{"call_id": "c1", "name": "search", "content": "found", "is_error": False}]
    events, reader = read(
        *begun(),
        logged,
        *told(chat("m1", "ToolCallRequestEvent", CALL, 1, USED)),
        tool,
        *told(chat("m2", "ToolCallExecutionEvent", result, 2)),
    )
    assert shape(events)[1:] == [
        ("model_call", "model-x", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
    ]
    assert (events[1].finish_reason, events[1].input_tokens) == ("stop", 50)
    assert reader.skipped["repeated_call"] == 1


def test_a_program_without_teams_tells_its_own_calls(read: Read) -> None:
    stream = {"agent_id": "writer/default"}
    events, _ = read(
        {"type": "LLMStreamStart", "messages": [], **stream},
        {"type": "LLMStreamEnd", "response": {}, **USED, **stream},
        {
            "type": "ToolCall", "tool_name": "fetch", "arguments": {"u": 1}, "agent_id": None,
            "result": "Error: page is gone",
        },
        {
            "type": "MessageHandlerException", "payload": "{}", "handling_agent": "writer/default",
            "exception": "no handler",
        },
        {"type": "AgentConstructionException", "agent_id": "editor/default", "exception": "no key"},
        {
            "type": "MessageHandlerException", "payload": "{}", "handling_agent": "critic/default",
            "exception": "RateLimitError: Error code: 429",
        },
        {"type": "MessageDropped", "payload": "{}", "sender": None, "receiver": "editor/default"},
    )  # fmt: skip
    assert shape(events) == [
        ("model_call", "writer", "started"),
        ("model_call", "writer", "completed"),
        ("tool_call", "fetch", "started"),
        ("tool_result", "fetch", "failed"),
        ("process_error", "writer", "failed"),
        ("process_error", "editor", "failed"),
        ("model_call", "critic", "failed"),
        ("audit", "message_dropped", "aborted"),
    ]
    assert events[0].call_id == events[1].call_id
    assert events[3].error_message == "Error: page is gone"
    assert {event.trace_id for event in events} == {"trace.jsonl"}


def test_a_team_that_stops_says_why(read: Read) -> None:
    stop = chat("m9", "StopMessage", "Maximum number of turns 2 reached.", 9, source="manager")
    events, _ = read(*begun(), message({"message": stop, "error": None}, MANAGER, OUTPUT))
    assert shape(events)[1:] == [("agent_end", "RoundRobinGroupChat", "completed")]
    assert events[1].finish_reason == "Maximum number of turns 2 reached."
    assert events[1].timestamp - events[0].timestamp == 9.0


def test_a_run_without_its_end_stays_open(read: Read) -> None:
    events, _ = read(*begun())
    assert shape(events) == [("agent_start", "RoundRobinGroupChat", "started")]
    assert events[0].call_id == f"{TEAM}/1"
