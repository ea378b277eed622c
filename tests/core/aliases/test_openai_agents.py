"""OpenAI Agents SDK: spans children first, wrappers that repeat, limits, guardrails, old layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
TRACE = "trace_01"


def trace(trace_id: str = TRACE) -> dict[str, Any]:
    return {"object": "trace", "id": trace_id, "workflow_name": "Support", "group_id": "g-1"}


def span(
    span_id: str,
    parent: str | None,
    seconds: tuple[int, int | None],
    error: Any = None,
    **data: Any,
) -> dict[str, Any]:
    start, end = seconds
    return {
        "object": "trace.span", "id": span_id, "trace_id": TRACE, "parent_id": parent,
        "started_at": f"2026-03-04T05:06:{start:02d}+00:00",
        "ended_at": f"2026-03-04T05:06:{end:02d}+00:00" if end is not None else None,
        "span_data": data, "error": error,
    }  # fmt: skip


def wrapper(kind: str, span_id: str, parent: str | None, seconds: tuple[int, int]) -> Any:
    usage = {"input_tokens": 50, "output_tokens": 5}
    data = {"sdk_span_type": kind, "name": "Agent workflow", "usage": usage}
    return span(span_id, parent, seconds, type="custom", name=kind, data=data)


def model(span_id: str, parent: str, seconds: tuple[int, int], error: Any = None) -> Any:
    usage = None if error else {"input_tokens": 50, "output_tokens": 5}
    return span(span_id, parent, seconds, error, type="generation", model="model-x", usage=usage)


def tool(
    span_id: str, parent: str, seconds: tuple[int, int], error: Any = None, **data: Any
) -> Any:
    call = {"type": "function", "name": "lookup", "input": '{"q":"x"}', "output": "found", **data}
    return span(span_id, parent, seconds, error, **call)


def agent(span_id: str, parent: str | None, seconds: tuple[int, int], error: Any = None) -> Any:
    return span(span_id, parent, seconds, error, type="agent", name="Helper", tools=["lookup"])


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


RAISED = {"message": "Error running tool", "data": {"tool_name": "lookup", "error": "timed out"}}
HANDLED = {
    "message": "Error running tool (non-fatal)",
    "data": {"tool_name": "lookup", "error": "Tool execution failed. Error details are redacted."},
}
REFUSED = {
    "message": "Error getting response",
    "data": {"error": "RateLimitError: Error code: 429"},
}
PASSED_ON = {"message": "Error in agent run", "data": {"error": "Error code: 429 - slow down"}}


def test_a_healthy_run_counts_tokens_once_although_its_wrappers_sum_them_up(read: Read) -> None:
    events, reader = read(
        trace(),
        model("m", "turn", (2, 3)),
        tool("t", "turn", (4, 5)),
        wrapper("turn", "turn", "agent", (2, 6)),
        agent("agent", "task", (1, 7)),
        wrapper("task", "task", None, (0, 8)),
    )
    assert shape(events) == [
        ("agent_start", "Support", "started"),
        ("agent_start", "Helper", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "lookup", "started"),
        ("tool_result", "lookup", "completed"),
        ("agent_end", "Helper", "completed"),
        ("agent_end", "Support", "completed"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 50
    assert events[5].duration_seconds == 1.0
    assert events[4].arguments_hash is not None
    assert (events[0].call_id, events[0].parent_id, events[-1].call_id) == (TRACE, None, TRACE)
    assert events[0].metadata == {"group_id": "g-1"}
    assert events[0].timestamp_source == "inherited"
    assert events[0].timestamp == events[1].timestamp
    assert {event.trace_id for event in events} == {TRACE}
    assert reader.skipped == {"structural_span": 1}


def test_a_model_without_spans_is_told_by_its_turns(read: Read) -> None:
    events, _ = read(
        trace(),
        tool("t", "turn", (4, 5)),
        wrapper("turn", "turn", "agent", (2, 6)),
        agent("agent", "task", (1, 7)),
        wrapper("task", "task", None, (0, 8)),
    )
    assert shape(events)[2:4] == [
        ("model_call", "model", "completed"),
        ("tool_call", "lookup", "started"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 50


def test_a_model_failure_is_told_once_though_the_agent_words_it_otherwise(read: Read) -> None:
    events, _ = read(
        trace(),
        model("m", "turn", (2, 3), REFUSED),
        wrapper("turn", "turn", "agent", (2, 4)),
        agent("agent", "task", (1, 5), PASSED_ON),
        wrapper("task", "task", None, (0, 6)),
    )
    failed = [event for event in events if event.status == "failed"]
    assert shape(failed) == [
        ("model_call", "model-x", "failed"),
        ("agent_end", "Helper", "failed"),
        ("agent_end", "Support", "failed"),
    ]
    assert (failed[0].http_status, failed[0].error_type) == (429, "RateLimitError")
    assert failed[2].error_message == "Error code: 429 - slow down"


def test_a_handled_tool_error_leaves_the_run_well_and_a_raised_one_does_not(read: Read) -> None:
    for error, outcome in ((HANDLED, "completed"), (RAISED, "failed")):
        agents = None if outcome == "completed" else {"message": "Error in agent run", "data": {}}
        events, _ = read(
            trace(),
            tool("t", "turn", (3, 4), error),
            wrapper("turn", "turn", "agent", (2, 5)),
            agent("agent", "task", (1, 6), agents),
            wrapper("task", "task", None, (0, 7)),
        )
        assert [(event.event_type, event.status) for event in events][-3:] == [
            ("tool_result", "failed"),
            ("agent_end", outcome),
            ("agent_end", outcome),
        ]


def test_too_many_turns_are_an_audit_even_after_tools_that_failed(read: Read) -> None:
    limit = {"message": "Max turns exceeded", "data": {"max_turns": 4}}
    events, _ = read(
        trace(),
        tool("t", "turn", (3, 4), HANDLED),
        wrapper("turn", "turn", "agent", (2, 5)),
        agent("agent", "task", (1, 6), limit),
        wrapper("task", "task", None, (0, 7)),
    )
    assert shape(events)[-3:] == [
        ("audit", "turn_limit", "failed"),
        ("agent_end", "Helper", "failed"),
        ("agent_end", "Support", "failed"),
    ]
    assert (events[-3].metadata, events[-3].error_message) == ({"limit": 4}, "Max turns exceeded")


def test_an_agent_that_fails_by_itself_crashes(read: Read) -> None:
    own = {"message": "Error in agent run", "data": {"error": "ValueError: no instructions"}}
    events, _ = read(trace(), agent("agent", "task", (1, 6), own))
    assert shape(events)[-2:] == [
        ("process_error", "Helper", "failed"),
        ("agent_end", "Helper", "failed"),
    ]
    missing = {"message": "Tool not found", "data": {"tool_name": "look_up"}}
    events, _ = read(trace(), agent("agent", "task", (1, 6), missing))
    assert shape(events)[-2] == ("tool_result", "look_up", "failed")


@pytest.mark.parametrize(
    ("error", "crashed"),
    [
        ({"message": "boom"}, True),
        ({"message": "Error in agent run", "data": {"error": "'id'"}}, True),
        ("ValueError: no instructions", False),
        ({"error": {"message": "429", "type": "rate_limit_error"}}, False),
        ("boom", False),
        (True, False),
        (429, False),
        ({"message": {}, "code": "x"}, False),
    ],
)
def test_an_error_that_is_none_of_the_sdk_s_fails_the_run_and_is_no_crash(
    read: Read, error: Any, crashed: bool
) -> None:
    for records in (
        (agent("agent", None, (1, 6), error),),
        (agent("agent", "task", (1, 5)), wrapper("task", "task", None, (0, 6)) | {"error": error}),
    ):
        events, _ = read(trace(), *records)
        assert any(event.event_type == "process_error" for event in events) is crashed
        assert shape(events)[-1] == ("agent_end", "Support", "failed")


@pytest.mark.parametrize("error", [401, "429", "insufficient_quota", {"code": 429}])
def test_an_error_of_a_call_that_is_none_of_the_sdk_s_does_not_fail_the_run(
    read: Read, error: Any
) -> None:
    call = model("m", "agent", (2, 3)) | {"error": error}
    events, _ = read(trace(), call, agent("agent", None, (1, 5)))

    assert [event.status for event in events if event.event_type == "model_call"][-1] == "failed"
    assert [e.status for e in events if e.event_type == "agent_end"] == ["completed", "completed"]


def test_a_guardrail_is_told_once(read: Read) -> None:
    tripped = {"message": "Guardrail tripwire triggered", "data": {"guardrail": "no homework"}}
    guard = span("g", "agent", (2, 3), type="guardrail", name="no homework", triggered=True)
    quiet = span("q", "agent", (2, 3), type="guardrail", name="politeness", triggered=False)
    later = model("m", "agent", (2, 4))  # ran beside the guardrail
    events, _ = read(trace(), guard, quiet, later, agent("agent", None, (1, 5), tripped))
    assert shape([event for event in events if event.status == "failed"]) == [
        ("audit", "guardrail", "failed"),
        ("agent_end", "Helper", "failed"),
        ("agent_end", "Support", "failed"),
    ]
    alone, _ = read(trace(), agent("agent", None, (1, 5), tripped))
    audits = [event for event in alone if event.event_type == "audit"]
    assert [event.metadata for event in audits] == [{"guardrail": "no homework"}]


def test_a_model_that_answers_at_the_second_try_has_not_failed_the_turn(read: Read) -> None:
    own = {"message": "Error in agent run", "data": {"error": "ValueError: bad output"}}
    events, _ = read(
        trace(),
        model("m1", "turn", (2, 3), REFUSED),
        model("m2", "turn", (3, 4)),
        wrapper("turn", "turn", "agent", (2, 5)),
        agent("agent", "task", (1, 6), own),
    )
    assert shape([event for event in events if event.status == "failed"]) == [
        ("model_call", "model-x", "failed"),
        ("process_error", "Helper", "failed"),
        ("agent_end", "Helper", "failed"),
    ]


def test_an_agent_used_as_a_tool_cuts_its_tool_short(read: Read) -> None:
    events, _ = read(
        trace(),
        model("m", "inner", (3, 4), REFUSED),
        agent("inner", "t", (3, 5), PASSED_ON),
        tool("t", "outer", (2, 6), HANDLED),
        agent("outer", None, (1, 7)),
    )
    assert [(event.event_type, event.status) for event in events][-5:] == [
        ("model_call", "failed"),
        ("agent_end", "failed"),
        ("tool_result", "aborted"),
        ("agent_end", "completed"),
        ("agent_end", "completed"),
    ]


def test_the_old_layout_has_the_agent_outermost_and_a_trace_several_runs(read: Read) -> None:
    events, _ = read(
        trace(),
        span("m", "a1", (1, 2), type="response", response_id="r", usage={"input_tokens": 7}),
        agent("a1", None, (1, 3)),
        agent("a2", None, (5, 6)),
    )
    assert shape(events) == [
        ("agent_start", "Support", "started"),
        ("model_call", "response", "started"),
        ("agent_start", "Helper", "started"),
        ("model_call", "response", "completed"),
        ("agent_end", "Helper", "completed"),
        ("agent_end", "Support", "completed"),
        ("agent_start", "Helper", "started"),
        ("agent_start", "Support", "started"),
        ("agent_end", "Helper", "completed"),
        ("agent_end", "Support", "completed"),
    ]
    assert [event.call_id for event in events if event.operation == "Support"] == [
        TRACE, TRACE, f"{TRACE}/2", f"{TRACE}/2",
    ]  # fmt: skip
    assert {event.parent_id for event in events if event.operation == "Helper"} == {TRACE}


def test_a_trace_without_spans_is_a_run_that_stays_open(read: Read) -> None:
    events, _ = read(trace())
    assert [(event.event_type, event.call_id, event.status) for event in events] == [
        ("agent_start", TRACE, "started")
    ]


def test_what_a_tools_output_says_counts(read: Read) -> None:
    events, _ = read(trace(), tool("t", "turn", (3, 4), output='{"error": "no such order"}'))
    assert (events[-1].status, events[-1].error_message) == ("failed", "no such order")


def test_a_cancelled_tool_is_aborted_and_a_server_that_lists_no_tools_fails(read: Read) -> None:
    stopped = {"message": "Tool execution cancelled", "data": {"error": "cancelled by sibling"}}
    lost = {"message": "Error listing tools", "data": {"error": "connection refused"}}
    events, _ = read(
        trace(),
        tool("t", "turn", (3, 4), stopped),
        span("l", "turn", (5, 6), lost, type="mcp_tools", server="maps", result=None),
        span("h", "turn", (6, 6), type="handoff", from_agent="a", to_agent="b"),
    )
    assert [event.status for event in events if event.event_type == "tool_result"] == [
        "aborted",
        "failed",
    ]
    assert events[-1].operation == "mcp:maps"


def test_the_exporters_batch_holds_both(read: Read) -> None:
    spans = [model("m", "agent", (2, 3)), agent("agent", None, (1, 4))]
    data = json.dumps({"data": [trace(), *spans]}, indent=1).encode()
    events, reader = read(data)
    assert len(events) == 6
    assert [event.event_type for event in events if event.offset > 100_000] == [
        event.event_type for event in events
    ]
    answer = next(event for event in events if event.input_tokens)
    assert data[answer.offset - 100_000 :].startswith(
        b'{\n   "object": "trace.span",\n   "id": "m"'
    )
    assert reader.skipped == {}
