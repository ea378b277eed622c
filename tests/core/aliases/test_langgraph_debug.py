"""LangGraph's debug stream: nodes, the calls in their messages, and ends that are never written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def record(kind: str, step: int, second: int, **payload: Any) -> dict[str, Any]:
    time = f"2026-03-04T05:06:{second:02d}+00:00"
    return {"step": step, "timestamp": time, "type": kind, "payload": payload}


def task(step: int, second: int, task_id: str, name: str) -> dict[str, Any]:
    return record("task", step, second, id=task_id, name=name, input={}, triggers=[])


def result(
    step: int, second: int, task_id: str, name: str, *messages: Any, **fields: Any
) -> dict[str, Any]:
    payload = {"id": task_id, "name": name, "error": None, "interrupts": []}
    return record("task_result", step, second, **payload, result={"messages": messages}, **fields)


def raises(step: int, second: int, task_id: str, name: str, error: str) -> dict[str, Any]:
    failed = result(step, second, task_id, name)
    failed["payload"] |= {"error": error, "result": {}}
    return failed


def asks(message_id: str, call_id: str) -> dict[str, Any]:
    return {
        "type": "ai", "id": message_id, "content": "Error: what the user wrote",
        "response_metadata": {"model_name": "model-x", "finish_reason": "tool_calls"},
        "usage_metadata": {"input_tokens": 10, "output_tokens": 2},
        "tool_calls": [{"name": "search", "args": {"q": "a"}, "id": call_id}],
    }  # fmt: skip


def answers(call_id: str, content: str, status: str = "success") -> dict[str, Any]:
    return {
        "type": "tool", "id": f"m-{call_id}", "name": "search", "tool_call_id": call_id,
        "content": content, "status": status,
    }  # fmt: skip


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_nodes_begin_and_end_and_their_messages_tell_the_calls(read: Read) -> None:
    done = {"type": "ai", "id": "m2", "content": "done", "tool_calls": []}
    events, reader = read(
        record("checkpoint", -1, 0, values={}, metadata={"source": "input"}),
        task(1, 1, "t1", "agent"),
        result(1, 2, "t1", "agent", asks("m1", "c1")),
        task(2, 3, "t2", "tools"),
        result(2, 4, "t2", "tools", asks("m1", "c1"), answers("c1", "found")),
        task(3, 5, "t3", "agent"),
        result(3, 6, "t3", "agent", done),
    )
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model-x", "completed"),
        ("agent_end", "agent", "completed"),
        ("agent_start", "tools", "started"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("agent_end", "tools", "completed"),
        ("agent_start", "agent", "started"),
        ("agent_end", "agent", "completed"),
    ]
    assert (events[4].call_id, events[5].call_id, events[4].agent) == ("c1", "c1", "agent")
    assert (events[0].call_id, events[2].call_id) == ("t1", "t1")
    assert (events[1].input_tokens, events[1].finish_reason) == (10, "tool_calls")
    assert sum(event.input_tokens or 0 for event in events) == 10
    assert {event.trace_id for event in events} == {"trace.jsonl"}
    assert reader.skipped == {"checkpoint": 1}


def test_a_tool_that_failed_is_told_by_its_message(read: Read) -> None:
    text = "Error: TimeoutError('read timed out')\n Please fix your mistakes."
    events, _ = read(
        task(1, 1, "t1", "tools"), result(1, 2, "t1", "tools", answers("c1", text, "error"))
    )
    assert shape(events)[1:] == [
        ("tool_result", "search", "failed"),
        ("agent_end", "tools", "completed"),
    ]
    assert (events[1].error_type, events[1].error_message) == ("TimeoutError", "read timed out")


def test_a_node_that_raises_is_a_failed_action(read: Read) -> None:
    failed = raises(1, 2, "t1", "agent", "RateLimitError('Error code: 429 - slow down')")
    events, _ = read(task(1, 1, "t1", "agent"), failed)
    assert shape(events)[1:] == [
        ("model_call", "agent", "failed"),
        ("agent_end", "agent", "failed"),
    ]
    assert (events[1].http_status, events[1].error_class) == (429, "rate_limit")
    assert events[1].parent_id == "t1"
    failed["payload"]["error"] = "ValueError('boom')"
    events, _ = read(task(1, 1, "t1", "agent"), failed)
    assert (events[1].event_type, events[1].error_class) == ("tool_result", "crash")


@pytest.mark.parametrize("missing", ["name", None])
def test_an_error_beside_what_a_node_has_written_or_of_no_node_is_no_failed_action(
    read: Read, missing: str | None
) -> None:
    failed = raises(1, 2, "t1", "agent", "RateLimitError('Error code: 429 - slow down')")
    if missing:
        del failed["payload"][missing]
    else:
        failed["payload"]["result"] = {"messages": [{"type": "ai", "content": "done"}]}
    events, _ = read(task(1, 1, "t1", "agent"), failed)
    assert [event.event_type for event in events if event.status == "failed"] == ["agent_end"]
    assert events[-1].metadata == {"contradicted": True}
    assert events[-1].error_message == "Error code: 429 - slow down"


def test_the_recursion_limit_of_a_graph_inside_is_an_audit(read: Read) -> None:
    error = "GraphRecursionError('Recursion limit of 4 reached')"
    events, _ = read(raises(1, 2, "t1", "researcher", error))
    assert shape(events) == [
        ("audit", "recursion_limit", "failed"),
        ("agent_end", "researcher", "failed"),
    ]
    assert events[0].metadata == {"limit": 4}


def test_a_stream_that_stops_leaves_its_node_or_its_call_open(read: Read) -> None:
    inside, _ = read(task(1, 1, "t1", "agent"))
    assert [(event.event_type, event.call_id) for event in inside] == [("agent_start", "t1")]
    between, _ = read(task(1, 1, "t1", "agent"), result(1, 2, "t1", "agent", asks("m1", "c9")))
    assert [event.event_type for event in between] == ["agent_start", "model_call"]
    again, _ = read(
        task(2, 1, "t1", "agent"),
        result(2, 2, "t1", "agent", asks("m1", "c9")),
        task(1, 3, "t2", "agent"),
    )
    assert [(event.event_type, event.trace_id) for event in again[-2:]] == [
        ("model_call", "trace.jsonl"),
        ("agent_start", "trace.jsonl#2"),
    ]


def checkpoint(step: int, second: int, *names: str) -> dict[str, Any]:
    return record("checkpoint", step, second, metadata={"source": "loop"}, next=list(names))


def test_a_checkpoint_with_nothing_to_come_ends_the_run(read: Read) -> None:
    begun = (task(1, 1, "t1", "agent"), result(1, 2, "t1", "agent", asks("m1", "c1")))
    done, reader = read(*begun, checkpoint(1, 3))
    assert shape(done)[2:] == [("agent_end", "agent", "completed")]
    assert reader.skipped == {}


def test_a_checkpoint_says_what_comes_next_and_that_a_stop_there_has_two_readings(
    read: Read,
) -> None:
    begun = (task(1, 1, "t1", "agent"), result(1, 2, "t1", "agent", asks("m1", "c1")))
    stopped, reader = read(*begun, checkpoint(1, 3, "tools"))
    assert [event.event_type for event in stopped] == ["agent_start", "model_call", "audit"]
    assert stopped[-1].metadata == {
        "next": "tools",
        "reading": "a planned pause (interrupt_before, interrupt_after) and the recursion limit"
        " look alike",
    }
    assert reader.skipped == {}


def node(step: int, second: int, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    task_id = f"t{step}"
    return task(step, second, task_id, name), result(step, second, task_id, name)


def test_a_node_ends_only_when_its_graph_goes_on_or_ends(read: Read) -> None:
    begun = checkpoint(0, 0, "draft")
    stopped, _ = read(begun, *node(1, 1, "draft"), checkpoint(1, 2, "publish"))
    assert [event.event_type for event in stopped] == ["agent_start", "audit"]
    done, reader = read(
        begun, *node(1, 1, "draft"), checkpoint(1, 2, "publish"),
        *node(2, 9, "publish"), checkpoint(2, 10),
    )  # fmt: skip
    assert shape(done) == [
        ("agent_start", "draft", "started"),
        ("audit", "checkpoint", "completed"),
        ("agent_end", "draft", "completed"),
        ("agent_start", "publish", "started"),
        ("agent_end", "publish", "completed"),
    ]
    assert [event.timestamp - done[0].timestamp for event in done] == [0, 1, 0, 8, 8]
    assert reader.skipped == {"checkpoint": 1, "node_returned": 2}


def test_a_stop_before_nodes_that_it_has_entered_before_is_no_planned_pause(read: Read) -> None:
    events, _ = read(
        checkpoint(0, 0, "writer"),
        *node(1, 1, "writer"), checkpoint(1, 2, "critic"),
        *node(2, 3, "critic"), checkpoint(2, 4, "writer"),
        *node(3, 5, "writer"), checkpoint(3, 6, "critic"),
    )  # fmt: skip
    stops = [event.metadata for event in events if event.event_type == "audit"]
    assert isinstance(stops[0], dict)
    assert isinstance(stops[-1], dict)
    assert "look alike" in stops[0]["reading"]
    assert "no planned pause but its recursion limit" in stops[-1]["reading"]


def test_a_stop_where_the_graph_has_gone_on_before_is_a_pause(read: Read) -> None:
    first = (
        task(1, 1, "t1", "agent"),
        result(1, 2, "t1", "agent", asks("m1", "c1")),
        checkpoint(1, 3, "tools"),
    )
    resumed = (
        checkpoint(1, 4, "tools"),
        task(2, 5, "t2", "tools"),
        result(2, 6, "t2", "tools", answers("c1", "found")),
        checkpoint(2, 7, "agent"),
        task(3, 8, "t3", "agent"),
        result(3, 9, "t3", "agent", asks("m2", "c2")),
        checkpoint(3, 10, "tools"),
    )
    events, _ = read(*first, *resumed)
    ends = [event for event in events if event.event_type == "agent_end"]
    assert [(event.operation, event.status) for event in ends] == [
        ("agent", "completed"),
        ("tools", "completed"),
        ("agent", "aborted"),
    ]
    assert ends[-1].error_message == "it is paused before tools"
    calls = [event.call_id for event in events if event.event_type == "tool_call"]
    assert calls == ["c1"]


def test_a_node_that_makes_its_calls_itself_leaves_none_open(read: Read) -> None:
    both = result(1, 2, "t1", "agent", asks("m1", "c1"), answers("c1", "found"))
    events, _ = read(task(1, 1, "t1", "agent"), both, task(2, 3, "t2", "next"))
    assert shape(events)[2:] == [
        ("tool_result", "search", "completed"),
        ("agent_end", "agent", "completed"),
        ("agent_start", "next", "started"),
    ]


def test_a_node_that_waits_for_a_human_is_aborted(read: Read) -> None:
    paused = result(1, 2, "t1", "approve")
    paused["payload"]["interrupts"] = [{"value": "ok?"}]
    events, _ = read(task(1, 1, "t1", "approve"), paused)
    assert (events[-1].status, events[-1].finish_reason) == ("aborted", "interrupt")
    assert events[-1].error_message == "it waits for an answer to its interrupt"


def test_steps_that_begin_anew_are_another_run(read: Read) -> None:
    events, _ = read(
        task(1, 1, "t1", "agent"), task(2, 2, "t2", "tools"), task(1, 3, "t3", "agent")
    )
    assert [event.trace_id for event in events] == ["trace.jsonl", "trace.jsonl", "trace.jsonl#2"]


def test_older_versions_write_results_as_pairs(read: Read) -> None:
    older = result(1, 2, "t1", "agent")
    older["payload"]["result"] = [["messages", [asks("m1", "c1")]]]
    events, _ = read(older, task(2, 3, "t2", "tools"))
    assert shape(events) == [
        ("model_call", "model-x", "completed"),
        ("agent_end", "agent", "completed"),
        ("agent_start", "tools", "started"),
        ("tool_call", "search", "started"),
    ]
