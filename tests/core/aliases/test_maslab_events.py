"""mas-lab ObsEvents of both schema versions: agents, calls, policy, hidden failures, disorder."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.maslab.events import ObsEventDecoder
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

START = 1_780_000_000.0


def line(kind: str, after: float, agent: str = "planner", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "agent_id": agent, "run_id": "", "timestamp": START + after, **fields}


def read(*records: dict[str, Any]) -> tuple[list[Event], Reader]:
    reader = Reader("events.jsonl", LADDER, 0.0)
    events: list[Event] = []
    for number, value in enumerate(records, 1):
        events += reader.read([(json.dumps(value).encode(), number * 1000, number)])
    return events + reader.finish(), reader


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_the_first_schema_without_ids_pairs_calls_and_nests_agents() -> None:
    run = {"run_id": "f00dcafe"}
    events, reader = read(
        line("execution_start", 0, **run, input="429 error?"),
        line("llm_call_start", 1, **run, model="vendor/model-a", messages=[]),
        line(
            "llm_call_end", 3, **run, latency_ms=2000.0, finish_reason=None,
            response={"content": "ok", "usage": {"prompt_tokens": 30, "completion_tokens": 4}},
        ),
        line("tool_call_start", 4, **run, tool_name="delegate_to_fares", arguments=None),
        line("execution_start", 5, "fares", **run),
        line("context_assembled", 5, "fares", **run, segments=[]),
        line("execution_end", 6, "fares", **run, status="success", output="done"),
        line(
            "tool_call_end", 7, **run, latency_ms=3000.0, tool_name="delegate_to_fares",
            result={"result": {"status": "ok", "result": "done"}},
        ),
        line("user_response", 8, **run, content="here", message_type="info"),
        line("execution_end", 9, **run, status="success", output="here"),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "planner", "started"),
        ("model_call", "vendor/model-a", "started"),
        ("model_call", "vendor/model-a", "completed"),
        ("tool_call", "delegate_to_fares", "started"),
        ("agent_start", "fares", "started"),
        ("agent_end", "fares", "completed"),
        ("tool_result", "delegate_to_fares", "completed"),
        ("agent_end", "planner", "completed"),
    ]
    assert {event.trace_id for event in events} == {"f00dcafe"}
    assert events[1].call_id == events[2].call_id
    assert events[3].call_id == events[6].call_id == events[4].parent_id
    assert events[0].parent_id is None and events[7].parent_id is None
    assert (events[2].input_tokens, events[2].duration_seconds) == (30, 2.0)
    assert reader.skipped == {"runtime_internal": 1, "user_response": 1}


def test_a_failed_llm_call_is_the_leaf_of_all_errors_above_it() -> None:
    error = {"message": "HTTP 429 Too Many Requests", "status_code": 429}
    events, _ = read(
        line("mas_call_start", 0, "mas", call_id="m"),
        line("execution_start", 1, call_id="p", parent_call_id="m"),
        line("tool_call_start", 2, call_id="d", parent_call_id="p", tool_name="delegate_to_w"),
        line("execution_start", 3, "w", call_id="w", parent_call_id="d"),
        line("llm_call_start", 4, "w", call_id="l", parent_call_id="w"),
        line("llm_call_end", 5, "w", call_id="l", parent_call_id="w", status="error", error=error),
        line("execution_end", 6, "w", call_id="w", parent_call_id="w", status="error"),
        line(
            "tool_call_end", 7, call_id="d", parent_call_id="p", tool_name="delegate_to_w",
            status="error", output="w failed: HTTP 429 Too Many Requests",
        ),
        line("execution_end", 8, call_id="p", parent_call_id="p", status="error"),
        line("mas_call_end", 9, "mas", call_id="m", status="error"),
    )  # fmt: skip
    failed = [event for event in events if event.status == "failed"]
    assert shape(failed) == [
        ("model_call", "llm", "failed"),
        ("agent_end", "w", "failed"),
        ("agent_end", "planner", "failed"),
        ("agent_end", "mas", "failed"),
    ]
    assert (failed[0].http_status, failed[0].error_class) == (429, "rate_limit")
    assert [event.parent_id for event in failed[1:]] == ["d", "m", None]
    delegation = next(event for event in events if event.event_type == "tool_result")
    assert delegation.status == "aborted"


def test_a_failure_inside_a_tools_output_fails_the_call_and_not_the_run() -> None:
    output = json.dumps({"route": "R9", "error": "class Gold not available on R9"}, indent=1)
    events, _ = read(
        line("execution_start", 0, call_id="p"),
        line("tool_call_start", 1, call_id="t", tool_name="fares", arguments={"class": "Gold"}),
        line("tool_call_end", 2, call_id="t", tool_name="fares", output=output),
        line("llm_call_start", 3, call_id="l"),
        line("llm_call_end", 4, call_id="l", output="an error: none", next_step="STOP"),
        line("execution_end", 5, call_id="p", status="ok"),
    )
    assert shape(events)[2] == ("tool_result", "fares", "failed")
    assert events[2].error_message == "class Gold not available on R9"
    assert events[1].arguments_hash is not None
    assert (events[4].status, events[4].finish_reason) == ("completed", "STOP")
    assert events[-1].status == "completed"


def test_a_triggered_budget_gate_states_both_numbers_as_written() -> None:
    payload = {"event": "budget_gate_triggered", "total_cost_usd": 75.0, "budget_limit": 60.5}
    events, _ = read(line("audit", 0, run_id="r1", payload=payload))
    audit = events[0]
    assert (audit.event_type, audit.operation, audit.status) == ("audit", "budget", "failed")
    assert audit.error_message == ("budget_gate_triggered: total_cost_usd 75.0, budget_limit 60.5")
    assert audit.error_class == "budget"
    assert audit.metadata == payload
    assert audit.cost_usd is None


@pytest.mark.parametrize(
    ("payload", "operation", "status"),
    [
        ({"event": "checkpoint_saved", "size": 3}, "checkpoint_saved", "completed"),
        ({"event": "budget_gate_passed", "total_cost_usd": 1, "budget": 9}, "budget", "completed"),
        ({"event": "budget_check", "total_cost_usd": 10, "budget_limit": 9}, "budget", "failed"),
        ({"event": "guardrail_blocked", "reason": "pii"}, "guardrail", "failed"),
        ('{"event": "step_limit_reached", "limit": 20}', "step_limit", "failed"),
        (None, "audit", "completed"),
    ],
)  # fmt: skip
def test_audit_payloads_are_named_by_what_they_are_about(
    payload: Any, operation: str, status: str
) -> None:
    events, _ = read(line("audit", 0, payload=payload))
    assert (events[0].operation, events[0].status) == (operation, status)


def test_an_unrecoverable_kernel_error_is_a_process_error_and_the_leaf() -> None:
    events, _ = read(
        line("execution_start", 0, call_id="p"),
        line("tool_call_start", 1, call_id="t", tool_name="search"),
        line(
            "boundary_error", 2, code="RETRY_BUDGET_EXHAUSTED", recoverable=False,
            message="Retry budget exhausted", parent_call_id="t",
        ),
        line("execution_end", 3, call_id="p", status="error"),
    )  # fmt: skip
    assert shape(events)[2:] == [
        ("process_error", "search", "failed"),
        ("agent_end", "planner", "failed"),
    ]
    assert events[2].error_type == "RETRY_BUDGET_EXHAUSTED"
    assert events[2].error_class == "crash"


def test_a_kernel_error_that_says_nothing_is_not_fatal() -> None:
    events, _ = read(line("boundary_error", 0, status="success", output="here"))
    assert [(event.event_type, event.status) for event in events] == [("audit", "failed")]


def test_a_recoverable_kernel_error_is_only_noted() -> None:
    events, _ = read(line("boundary_error", 0, code="X", recoverable=True, message="again"))
    assert shape(events) == [("audit", "kernel_error", "failed")]


def test_an_agent_that_fails_by_itself_is_its_own_leaf() -> None:
    events, _ = read(
        line("execution_start", 0, call_id="p"),
        line("execution_end", 1, call_id="p", status="error", output="ValueError: bad plan\nmore"),
    )
    assert shape(events)[1:] == [
        ("process_error", "planner", "failed"),
        ("agent_end", "planner", "failed"),
    ]
    assert (events[1].error_message, events[1].error_type) == ("ValueError: bad plan", "ValueError")


@pytest.mark.parametrize("said", [{}, {"output": "here"}, {"output": "Errors are none"}])
def test_an_agent_that_does_not_say_why_it_failed_has_only_ended(said: dict[str, Any]) -> None:
    events, _ = read(
        line("execution_start", 0, call_id="p"),
        line("execution_end", 1, call_id="p", status="error", **said),
    )
    assert shape(events)[1:] == [("agent_end", "planner", "failed")]


def test_an_agent_that_ran_out_of_time_hit_a_limit() -> None:
    events, _ = read(
        line("execution_start", 0, call_id="p"),
        line("execution_end", 1, call_id="p", status="timeout"),
    )
    assert shape(events)[1:] == [
        ("audit", "time_limit", "failed"),
        ("agent_end", "planner", "failed"),
    ]
    assert events[1].error_class == "timeout"


@pytest.mark.parametrize(
    ("output", "limited"), [("here", False), ("Timed out after 30 s", True), (None, True)]
)
def test_an_agent_that_was_out_of_time_has_no_answer(output: str | None, limited: bool) -> None:
    events, _ = read(
        line("execution_start", 0, call_id="p"),
        line("execution_end", 1, call_id="p", status="timeout", output=output),
    )
    assert ("audit" in [event.event_type for event in events]) is limited
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "failed")
    assert events[-1].metadata == (None if limited else {"contradicted": True})


def test_a_run_was_not_out_of_time_whose_last_step_was_an_agents_good_end() -> None:
    records = [
        line("mas_call_start", 0, "mas", call_id="m"),
        line("execution_start", 1, call_id="p", parent_call_id="m"),
        line("execution_end", 2, call_id="p", status="success", output="here"),
        line("llm_call_start", 3, "mas", call_id="l"),
        line("mas_call_end", 9, "mas", call_id="m", status="timeout"),
    ]
    events, _ = read(*records)
    assert [event.event_type for event in events if event.status == "failed"] == [
        "audit",
        "agent_end",
    ]
    events, _ = read(*records[:3], records[4])
    assert [event.event_type for event in events if event.status == "failed"] == ["agent_end"]
    assert events[-1].metadata == {"contradicted": True}


def test_where_lines_have_no_order_a_word_for_a_timeout_names_no_cause() -> None:
    records = [
        line("execution_end", 1, call_id="p", status="timeout") | {"timestamp": "<ts>"},
        line("execution_start", 0, call_id="p") | {"timestamp": "<ts>"},
    ]
    events, _ = read(*records)
    assert [event.event_type for event in events if event.status == "failed"] == ["agent_end"]
    failed = next(event for event in events if event.status == "failed")
    assert failed.metadata == {"contradicted": True}


def test_an_answer_that_is_an_error_counts_where_nothing_else_told_it() -> None:
    answer = line("user_response", 1, content="Cannot reach the service", message_type="error")
    events, _ = read(line("execution_start", 0, call_id="p"), answer)
    assert shape(events)[1:] == [("process_error", "planner", "failed")]
    assert events[1].error_message == "Cannot reach the service"


def test_policies_that_allow_are_silent_and_others_speak() -> None:
    events, reader = read(
        line("tool_call_start", 0, call_id="t", tool_name="rm"),
        line("governance_decision", 1, decision="ALLOW", reason="no error here", call_id="t"),
        line(
            "governance_decision", 2, decision="RETRY", reason="connection reset", call_id="t",
            failure_class="transient", failure_code="ECONNRESET", retry_attempts=1,
        ),
        line("governance_decision", 3, decision="BLOCK", reason="destructive", policy_name="safe"),
        line("hitl_gate", 4, question="Go on?"),
        line("hitl_resolve", 5, resolution="reject"),
    )  # fmt: skip
    assert shape(events)[1:] == [
        ("retry", "rm", "started"),
        ("audit", "guardrail", "failed"),
        ("audit", "permission", "aborted"),
    ]
    assert (events[1].attempt, events[1].error_message) == (1, "connection reset")
    assert events[2].error_message == "destructive"
    assert reader.skipped == {"allowed": 2}


def test_a_call_told_by_several_agents_or_wrappers_counts_once() -> None:
    start = {"call_id": "t", "tool_name": "search"}
    events, reader = read(
        line(
            "tool_call_start", 0, call_id="t", tool_name="contract_call", activity="contract_call"
        ),
        line("tool_call_start", 0.001, **start),
        line("tool_call_start", 0.001, "agent", **start),
        line("tool_call_end", 0.5, **start, output="x"),
        line("tool_call_end", 0.5, "mas", **start, output="x"),
    )
    assert shape(events) == [
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
    ]
    assert reader.skipped == {"wrapper_span": 1, "repeated_call": 2}


def test_lines_out_of_order_come_out_in_order_of_time() -> None:
    events, _ = read(
        line("execution_start", 0.0, call_id="p"),
        line("tool_call_end", 0.004, call_id="t", tool_name="search", output="x"),
        line("llm_call_start", 0.010, call_id="l"),
        line("tool_call_start", 0.002, call_id="t", tool_name="search"),
    )
    assert shape(events) == [
        ("agent_start", "planner", "started"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("model_call", "llm", "started"),
    ]


def test_stripped_times_and_ids_leave_only_the_ends() -> None:
    stripped = {"timestamp": "<stripped>", "call_id": "<stripped>", "run_id": "<stripped>"}
    events, reader = read(
        {"kind": "mas_call_end", "agent_id": "mas", "status": "success", **stripped},
        {"kind": "mas_call_start", "agent_id": "mas", **stripped},
        {"kind": "llm_call_end", "agent_id": "planner", "output": "x", **stripped},
        {"kind": "llm_call_start", "agent_id": "planner", **stripped},
    )
    assert shape(events) == [("agent_end", "mas", "completed"), ("model_call", "llm", "completed")]
    assert {event.trace_id for event in events} == {"events.jsonl"}
    assert reader.skipped == {"start_without_order": 2}


def test_runs_without_an_id_in_one_file_are_parted_by_their_marker() -> None:
    events, _ = read(
        line("mas_call_start", 0, "mas", call_id="m1"),
        line("execution_start", 1, call_id="planner-u1", parent_call_id="m1"),
        line("mas_call_end", 2, "mas", call_id="m1", status="success"),
        line("mas_call_start", 10, "mas", call_id="m2"),
        line("execution_start", 11, call_id="planner-u1", parent_call_id="m2"),
        line("mas_call_end", 12, "mas", call_id="m2", status="success"),
    )
    assert [event.trace_id for event in events] == ["events.jsonl"] * 3 + ["events.jsonl#2"] * 3


def test_a_run_id_said_once_holds_for_the_lines_after_it() -> None:
    first = line("mas_call_start", 0, "mas", call_id="m", run_id="r-7")
    second = {"kind": "execution_start", "agent_id": "a", "call_id": "x", "timestamp": START + 1}
    events, _ = read(first, second)
    assert [event.trace_id for event in events] == ["r-7", "r-7"]


def test_other_tools_of_the_runtime_are_calls_too() -> None:
    events, _ = read(
        line("rag_query_start", 0, call_id="q", query="429"),
        line("rag_query_end", 1, call_id="q", status="success", result="text about errors"),
        line("skill_execution_start", 2, call_id="s", skill_name="sum"),
        line("skill_execution_end", 3, call_id="s", status="error", error="boom"),
    )
    assert shape(events) == [
        ("tool_call", "rag_query", "started"),
        ("tool_result", "rag_query", "completed"),
        ("tool_call", "sum", "started"),
        ("tool_result", "sum", "failed"),
    ]


def test_the_state_survives_a_restart_between_start_and_end() -> None:
    first = ObsEventDecoder("s")
    start = line("llm_call_start", 0, model="vendor/m")
    assert isinstance(first.decode(json.dumps(start).encode()), list)
    second = ObsEventDecoder("s")
    second.state = msgspec.msgpack.decode(
        msgspec.msgpack.encode(first.state), type=type(second.state)
    )
    ended = second.decode(json.dumps(line("llm_call_end", 1)).encode())
    assert isinstance(ended, list)
    assert (ended[0].operation, ended[0].call_id) == ("vendor/m", "llm_call/planner/#1")


def test_runs_that_stand_interleaved_in_one_file_know_nothing_of_one_another() -> None:
    one, two = {"run_id": "aaaa0001"}, {"run_id": "bbbb0002"}
    events, _ = read(
        line("execution_start", 0, **one, call_id="r1"),
        line("llm_call_start", 1, **one, call_id="m1", parent_call_id="r1", model="x"),
        line("execution_start", 2, "clerk", **two, call_id="r2"),
        line("llm_call_end", 3, **one, call_id="m1", status="error", error={"message": "gone"}),
        line("execution_end", 4, "clerk", **two, call_id="r2", status="error", error="lost"),
    )

    start = next(event for event in events if event.call_id == "r2")
    assert (start.event_type, start.parent_id) == ("agent_start", None)
    assert [e.error_message for e in events if e.event_type == "process_error"] == ["lost"]


@pytest.mark.parametrize("status", [False, True, None, 0, "x", []])
def test_a_status_that_is_no_word_for_a_failure_leaves_a_run_well(status: Any) -> None:
    events, _ = read(
        line("execution_start", 0, call_id="p"),
        line("llm_call_end", 2, call_id="l", parent_call_id="p", status=status, output="hi"),
        line("execution_end", 3, call_id="p", status=status, output="here"),
    )
    assert {event.status for event in events[1:]} == {"completed"}
