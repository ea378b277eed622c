"""Claude stream-json and Agent SDK output: results, retries, limits, denials, sub-agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

SESSION = "5b1f-stream"
INIT = {
    "type": "system", "subtype": "init", "session_id": SESSION, "model": "claude-test-2",
    "tools": ["Bash"], "cwd": "/tmp",
}  # fmt: skip


def said(message_id: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {
        "id": message_id, "model": "claude-test-2", "role": "assistant", "content": list(blocks),
        "usage": {"input_tokens": 11, "output_tokens": 2},
    }  # fmt: skip
    return {"type": "assistant", "message": message, "session_id": SESSION, "uuid": "u", **fields}


def gave(call_id: str, content: Any, is_error: bool = False, **fields: Any) -> dict[str, Any]:
    block = {
        "type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error,
    }  # fmt: skip
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "session_id": SESSION, **fields}


def ended(subtype: str = "success", **fields: Any) -> dict[str, Any]:
    return {
        "type": "result", "subtype": subtype, "session_id": SESSION, "is_error": False,
        "num_turns": 2, "duration_ms": 4500, "total_cost_usd": 0.25,
        "permission_denials": [], **fields,
    }  # fmt: skip


def call(call_id: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"x": 1}}


TEXT = {"type": "text", "text": "all fine, no error"}


def read(*records: dict[str, Any]) -> tuple[list[Event], Reader]:
    reader = Reader("out.jsonl", LADDER, 1000.0)
    events: list[Event] = []
    for number, record in enumerate(records, 1):
        events += reader.read([(json.dumps(record).encode(), number * 1000, number)])
    return events + reader.finish(), reader


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_healthy_stream_opens_with_init_and_closes_with_its_result() -> None:
    events, reader = read(
        INIT, said("m1", call("t1")), gave("t1", "ok"), said("m2", TEXT), said("m2", TEXT), ended()
    )
    assert shape(events) == [
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude-test-2", "completed"),
        ("tool_call", "Bash", "started"),
        ("tool_result", "Bash", "completed"),
        ("model_call", "claude-test-2", "completed"),
        ("agent_end", "claude-code", "completed"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 22
    assert sum(event.cost_usd or 0 for event in events) == 0.25
    assert events[-1].duration_seconds == 4.5
    assert {event.trace_id for event in events} == {SESSION}
    assert {event.timestamp_source for event in events} == {"ingest"}
    assert reader.skipped == {"repeated_record": 1}


def test_a_cumulative_cost_is_counted_by_its_growth() -> None:
    events, _ = read(
        INIT, said("m1", TEXT), ended(), INIT, said("m2", TEXT), ended(total_cost_usd=0.75)
    )
    assert [event.cost_usd for event in events if event.event_type == "agent_end"] == [0.25, 0.5]


@pytest.mark.parametrize("name", ["total_cost_usd", "total_cost", "cost_usd"])
def test_the_cost_of_a_session_is_read_by_each_name_that_it_has_had(name: str) -> None:
    result = {key: value for key, value in ended().items() if key != "total_cost_usd"}
    events, _ = read(INIT, {**result, name: 0.5})
    assert events[-1].cost_usd == 0.5


def test_retries_name_the_model_and_the_error_that_made_them_necessary() -> None:
    retry = {
        "type": "system", "subtype": "api_retry", "session_id": SESSION, "attempt": 3,
        "max_retries": 10, "retry_delay_ms": 2500, "error_status": 429, "error": "rate_limit",
    }  # fmt: skip
    events, _ = read(INIT, retry)
    assert shape(events)[1] == ("retry", "claude-test-2", "started")
    assert (events[1].attempt, events[1].http_status) == (3, 429)
    assert events[1].error_message == events[1].error_type == "rate_limit"
    assert events[1].metadata == {"delay_seconds": 2.5, "max_attempts": 10}


@pytest.mark.parametrize(
    ("subtype", "said", "crashed"),
    [
        ("error_during_execution", {}, True),
        ("error", {"errors": ["worker died"]}, True),
        ("error", {"error": "worker died"}, True),
        ("error", {"is_error": True}, True),
        ("error", {}, False),
        ("error", {"result": "all is done"}, False),
        ("errors", {}, False),
    ],
)
def test_a_subtype_that_is_none_of_the_format_s_is_no_crash_by_itself(
    subtype: str, said: dict[str, Any], crashed: bool
) -> None:
    events, _ = read(INIT, ended(subtype, **said))

    assert ("process_error" in {event.event_type for event in events}) is crashed
    assert shape(events)[-1] == ("agent_end", "claude-code", "failed")


@pytest.mark.parametrize(
    "subtype", ["error_max_turns", "error_max_budget_usd", "error_during_execution"]
)
def test_a_subtype_of_an_error_beside_the_answer_fails_the_run_and_names_no_cause(
    subtype: str,
) -> None:
    events, _ = read(INIT, ended(subtype, result="all is done", is_error=False))
    assert shape(events)[1:] == [("agent_end", "claude-code", "failed")]
    assert events[-1].error_type == subtype
    assert (events[-1].metadata or {})["contradicted"] is True

    for said in ({"is_error": True}, {"errors": ["it broke"]}):
        events, _ = read(INIT, ended(subtype, result="all is done", **said))
        assert [event.status for event in events][1:] == ["failed", "failed"]


def test_an_error_result_with_subtype_success_fails_the_run_once() -> None:
    synthetic = {
        "type": "assistant", "session_id": SESSION, "error": "rate_limit",
        "message": {
            "id": "x", "model": "<synthetic>",
            "content": [{"type": "text", "text": "API Error: 429 Slow down"}],
        },
    }  # fmt: skip
    last = ended(is_error=True, result="API Error: 429 Slow down", api_error_status=429)
    events, _ = read(INIT, synthetic, last)
    assert shape(events) == [
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude-test-2", "failed"),
        ("agent_end", "claude-code", "failed"),
    ]
    assert (events[1].http_status, events[1].error_class) == (429, "rate_limit")
    assert (events[2].http_status, events[2].error_class) == (429, "rate_limit")


def test_an_error_result_that_nothing_announced_names_its_cause() -> None:
    last = ended(is_error=True, result="API Error: 401 Invalid API key", api_error_status=401)
    events, _ = read(last)
    assert shape(events) == [
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude", "failed"),
        ("agent_end", "claude-code", "failed"),
    ]
    assert (events[1].http_status, events[1].error_class) == (401, "auth")


def test_the_turn_limit_is_a_policy_decision_that_fails_the_run() -> None:
    last = ended("error_max_turns", num_turns=5, errors=["Reached maximum number of turns (4)"])
    events, _ = read(INIT, said("m1", call("t1")), gave("t1", "ok"), last)
    audit, end = events[-2:]
    assert (audit.event_type, audit.operation, audit.status) == ("audit", "turn_limit", "failed")
    assert audit.error_message == "Reached maximum number of turns (4)"
    assert audit.metadata == {
        "limit_kind": "error_max_turns", "limit": 4, "num_turns": 5, "total_cost_usd": 0.25,
    }  # fmt: skip
    assert (end.event_type, end.status) == ("agent_end", "failed")


def test_the_budget_limit_states_what_was_spent_and_allowed() -> None:
    last = ended(
        "error_max_budget_usd", total_cost_usd=2.125, errors=["Reached maximum budget ($2)"]
    )
    events, _ = read(INIT, last)
    audit = events[1]
    assert (audit.operation, audit.status, audit.error_class) == ("budget", "failed", "budget")
    assert audit.metadata == {
        "limit_kind": "error_max_budget_usd",
        "budget_limit": 2.0,
        "num_turns": 2,
        "total_cost_usd": 2.125,
    }
    assert events[2].status == "failed"


def test_an_execution_error_is_a_process_error_unless_the_user_aborted() -> None:
    crashed, _ = read(INIT, ended("error_during_execution", errors=["Error: spawn E2BIG"]))
    assert shape(crashed)[1:] == [
        ("process_error", None, "failed"),
        ("agent_end", "claude-code", "failed"),
    ]
    assert crashed[1].error_message == "Error: spawn E2BIG"
    stopped, _ = read(INIT, ended("error_during_execution", terminal_reason="aborted_streaming"))
    assert shape(stopped)[1:] == [("agent_end", "claude-code", "aborted")]


def test_output_that_never_fitted_the_schema_is_a_schema_error() -> None:
    events, _ = read(INIT, ended("error_max_structured_output_retries", is_error=True))
    assert (events[1].event_type, events[1].error_class) == ("process_error", "schema")
    assert events[2].status == "failed"


def test_denied_calls_are_aborted_not_failed() -> None:
    denial = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "rm"}}
    refused = gave("t1", "Claude requested permissions to use Bash, but you haven't", True)
    events, _ = read(
        INIT, said("m1", call("t1")), refused, said("m2", TEXT), ended(permission_denials=[denial])
    )
    assert shape(events)[3] == ("tool_result", "Bash", "aborted")
    audit = events[-2]
    assert (audit.operation, audit.status, audit.call_id) == ("permission", "aborted", "t1")
    assert audit.metadata == {"tool_name": "Bash"}
    assert events[-1].status == "completed"


def test_a_sub_agent_is_nested_and_ends_with_the_call_that_started_it() -> None:
    events, _ = read(
        INIT,
        said("m1", call("t1", "Agent")),
        said("s1", call("t2"), parent_tool_use_id="t1"),
        gave("t2", "boom", True, parent_tool_use_id="t1"),
        said("s2", TEXT, parent_tool_use_id="t1"),
        gave("t1", "done"),
        ended(),
    )
    assert shape(events)[3:-1] == [
        ("agent_start", "Agent", "started"),
        ("model_call", "claude-test-2", "completed"),
        ("tool_call", "Bash", "started"),
        ("tool_result", "Bash", "failed"),
        ("model_call", "claude-test-2", "completed"),
        ("agent_end", "Agent", "completed"),
        ("tool_result", "Agent", "completed"),
    ]
    assert events[3].parent_id == "t1"


def test_chunks_and_controls_are_dropped_by_name_and_a_sub_agents_retry_is_kept() -> None:
    retry = {"agent_id": "a", "attempt": 1, "max_retries": 4, "error_status": 529}
    events, reader = read(
        INIT,
        {"type": "stream_event", "session_id": SESSION, "event": {"type": "error"}},
        {"type": "rate_limit_event", "session_id": SESSION, "rate_limit_info": {}},
        {"type": "tool_progress", "session_id": SESSION, "subagent_retry": retry},
        {"type": "system", "subtype": "status", "session_id": SESSION},
    )
    assert shape(events)[1:] == [("retry", "claude-test-2", "started")]
    assert (events[1].attempt, events[1].http_status) == (1, 529)
    assert reader.skipped == {"stream_chunk": 1, "control_message": 1, "system_notice": 1}


def test_the_result_of_another_agent_is_not_taken() -> None:
    _, reader = read({"type": "result", "status": "success", "stats": {}})
    assert "claude_stream" not in reader.formats
