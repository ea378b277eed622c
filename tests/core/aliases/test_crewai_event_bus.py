"""CrewAI's event bus: one failure told by many, retries, threads out of order, older versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


class Bus:
    """Gives events their ids, parents and places in the order of emission."""

    def __init__(self) -> None:
        self.sequence = 0

    def emit(
        self, kind: str, event_id: str, parent: str | None = None, start: str | None = None,
        **fields: Any,
    ) -> dict[str, Any]:  # fmt: skip
        self.sequence += 1
        return {
            "type": kind, "timestamp": f"2026-03-04T05:06:{self.sequence:02d}Z",
            "event_id": event_id, "parent_event_id": parent, "started_event_id": start,
            "emission_sequence": self.sequence, "source_fingerprint": None, **fields,
        }  # fmt: skip

    def started(self) -> list[dict[str, Any]]:
        """A crew, its task and its agent at work."""
        return [
            self.emit("crew_kickoff_started", "crew", crew_name="Trip crew"),
            self.emit("task_started", "task", "crew", task_name="find fares"),
            self.emit(
                "agent_execution_started", "agent", "task", agent={"role": "Scout", "goal": "g"}
            ),
        ]

    def ended(self) -> list[dict[str, Any]]:
        """The same, ended well."""
        return [
            self.emit("agent_execution_completed", "e1", "task", "agent", agent={"role": "Scout"}),
            self.emit("task_completed", "e2", "crew", "task"),
            self.emit("crew_kickoff_completed", "e3", None, "crew", total_tokens=70),
        ]

    def tool(self, kind: str, event_id: str, start: str | None = None, **fields: Any) -> Any:
        call = {"tool_name": "search", "tool_args": {"q": "x"}, "agent_role": "Scout"}
        return self.emit(kind, event_id, "agent", start, **call, **fields)


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_healthy_crew_tells_its_runs_and_calls(read: Read) -> None:
    bus = Bus()
    model = {"call_id": "llm-1", "model": "acme/model-x"}
    events, reader = read(
        *bus.started(),
        bus.emit("llm_call_started", "m1", "agent", **model, messages="Error 429: timeout"),
        bus.emit("llm_stream_chunk", "m2", "m1", chunk="x", call_id="llm-1"),
        bus.emit(
            "llm_call_completed", "m3", "agent", "m1", **model, finish_reason="stop",
            usage={"prompt_tokens": 60, "completion_tokens": 10}, response="x",
        ),
        bus.tool("tool_usage_started", "t1", run_attempts=1),
        bus.tool("tool_usage_finished", "t2", "t1", run_attempts=1, output="found", failure=None),
        *bus.ended(),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "Trip crew", "started"),
        ("agent_start", "Scout", "started"),
        ("model_call", "acme/model-x", "started"),
        ("model_call", "acme/model-x", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("agent_end", "Scout", "completed"),
        ("agent_end", "Trip crew", "completed"),
    ]
    assert [event.call_id for event in events] == [
        "crew", "agent", "llm-1", "llm-1", "t1", "t1", "agent", "crew",
    ]  # fmt: skip
    assert [event.parent_id for event in events] == [
        None, "crew", "agent", "agent", "agent", "agent", "crew", None,
    ]  # fmt: skip
    assert {event.trace_id for event in events} == {"crew"}
    assert (events[3].input_tokens, events[3].output_tokens) == (60, 10)
    assert sum(event.input_tokens or 0 for event in events) == 60
    assert events[-1].metadata == {"total_tokens": 70}
    assert reader.skipped == {"structural_span": 2, "stream_chunk": 1}


def test_a_tool_that_fails_three_times_is_told_three_times_with_its_retries(read: Read) -> None:
    bus = Bus()
    records = bus.started()
    for attempt in (1, 2, 3):
        start, error = f"s{attempt}", f"e{attempt}0"
        records.append(bus.tool("tool_usage_started", start, run_attempts=attempt))
        records.append(
            bus.tool(
                "tool_usage_error", error, start, run_attempts=attempt,
                error="TimeoutError('Read timed out')",
            )
        )  # fmt: skip
    failure = {"message": "Read timed out", "reason": "exception", "code": "TimeoutError"}
    records.append(bus.tool("tool_failure_detected", "f1", failure=failure, run_attempts=0))
    events, reader = read(*records, *bus.ended())
    calls = [event for event in events if event.operation == "search"]
    assert [(event.event_type, event.status, event.attempt) for event in calls] == [
        ("tool_call", "started", 1),
        ("tool_result", "failed", 1),
        ("retry", "started", 1),
        ("tool_call", "started", 2),
        ("tool_result", "failed", 2),
        ("retry", "started", 2),
        ("tool_call", "started", 3),
        ("tool_result", "failed", 3),
    ]
    assert (calls[1].error_type, calls[1].error_class) == ("TimeoutError", "timeout")
    assert (calls[2].error_message, calls[2].error_class) == ("Read timed out", "timeout")
    assert len({event.arguments_hash for event in calls if event.arguments_hash}) == 1
    assert events[-1].status == "completed"
    assert reader.skipped == {"structural_span": 2, "repeated_error": 1}


def test_lines_of_threads_come_back_into_the_order_of_emission(read: Read) -> None:
    bus = Bus()
    records = bus.started()
    start = bus.tool("tool_usage_started", "t1", run_attempts=1)
    error = bus.tool("tool_usage_error", "t2", "t1", run_attempts=1, error="ValueError('x')")
    for record, time in ((start, "100"), (error, "900")):
        record["timestamp"] = f"2026-03-04T05:06:04.{time}Z"
    failure = {"message": "x", "reason": "exception", "code": "ValueError"}
    events, _ = read(
        *records, error, start, bus.tool("tool_failure_detected", "t3", failure=failure)
    )
    assert shape(events)[2:] == [
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
    ]
    assert [event.sequence for event in events[2:]] == [4, 5]
    assert [event.call_id for event in events[2:]] == ["t1", "t1"]


def test_a_model_failure_passes_through_agent_task_and_crew_once(read: Read) -> None:
    bus = Bus()
    error = "Error code: 429 - slow down"
    events, reader = read(
        *bus.started(),
        bus.emit("llm_call_started", "m1", "agent", call_id="llm-1", model="model-x"),
        bus.emit("llm_call_failed", "m2", "agent", "m1", call_id="llm-1", error=error),
        bus.emit(
            "agent_execution_error", "a2", "task", "agent", error=error, agent={"role": "Scout"}
        ),
        bus.emit("task_failed", "k2", "crew", "task", error=error),
        bus.emit("crew_kickoff_failed", "c2", None, "crew", error=error),
    )
    assert shape(events)[2:] == [
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "failed"),
        ("agent_end", "Scout", "failed"),
        ("agent_end", "Trip crew", "failed"),
    ]
    assert (events[3].http_status, events[3].error_class) == (429, "rate_limit")
    assert reader.skipped == {"structural_span": 2}


def test_an_agent_that_tries_again_after_a_silent_model_failure_is_a_retry(read: Read) -> None:
    bus = Bus()
    error = "Error code: 503 - overloaded"
    agent = {"agent": {"role": "Scout"}}
    events, _ = read(
        *bus.started(),
        bus.emit("flow_started", "f1", "agent", flow_name="AgentExecutor"),
        bus.emit("flow_failed", "f2", "agent", "f1", flow_name="AgentExecutor", error=error),
        bus.emit("agent_execution_error", "a2", "task", "agent", error=error, **agent),
        bus.emit("agent_execution_started", "again", "task", **agent),
        bus.emit("agent_execution_error", "a3", "task", "again", error=error, **agent),
        bus.emit("crew_kickoff_failed", "c2", None, "crew", error=error),
    )
    assert shape(events)[2:] == [
        ("model_call", "Scout", "failed"),
        ("agent_end", "Scout", "failed"),
        ("retry", "Scout", "started"),
        ("agent_start", "Scout", "started"),
        ("model_call", "Scout", "failed"),
        ("agent_end", "Scout", "failed"),
        ("agent_end", "Trip crew", "failed"),
    ]
    retry = events[4]
    assert (retry.attempt, retry.error_message) == (1, error)
    assert events[5].attempt == 2
    assert events[2].parent_id == "agent"


def test_a_crew_that_fails_by_itself_crashes_and_one_without_end_stays_open(read: Read) -> None:
    bus = Bus()
    own, _ = read(
        *bus.started()[:1],
        bus.emit("crew_kickoff_failed", "c2", None, "crew", error="no tasks"),
    )
    assert shape(own)[1:] == [
        ("process_error", "Trip crew", "failed"),
        ("agent_end", "Trip crew", "failed"),
    ]
    vanished, _ = read(*Bus().started())
    assert [(event.call_id, event.status) for event in vanished] == [
        ("crew", "started"),
        ("agent", "started"),
    ]


def test_a_crew_that_failed_without_an_error_names_no_crash(read: Read) -> None:
    bus = Bus()
    events, _ = read(*bus.started()[:1], bus.emit("crew_kickoff_failed", "c2", None, "crew"))
    assert shape(events)[1:] == [("agent_end", "Trip crew", "failed")]


def test_a_tool_may_return_and_say_that_it_failed(read: Read) -> None:
    bus = Bus()
    failure = {"message": "no such page", "reason": "reported", "code": "NOT_FOUND"}
    events, reader = read(
        *bus.started(),
        bus.tool("tool_usage_started", "t1"),
        bus.tool("tool_usage_finished", "t2", "t1", output="no such page", failure=failure),
        bus.tool("tool_failure_detected", "t3", failure=failure),
        bus.tool("tool_usage_started", "t4"),
        bus.tool("tool_usage_finished", "t5", "t4", output='{"error": "quota used up"}'),
    )
    results = [event for event in events if event.event_type == "tool_result"]
    assert [(event.status, event.error_message) for event in results] == [
        ("failed", "no such page"),
        ("failed", "quota used up"),
    ]
    assert results[0].error_type == "NOT_FOUND"
    assert reader.skipped["repeated_error"] == 1


def test_a_selection_error_has_no_start_and_is_told(read: Read) -> None:
    bus = Bus()
    events, _ = read(
        *bus.started(), bus.tool("tool_selection_error", "t1", error="no tool named 'serch'")
    )
    assert shape(events)[2:] == [("tool_result", "search", "failed")]
    assert events[2].error_message == "no tool named 'serch'"


def test_an_mcp_tool_inside_a_tool_is_the_same_call(read: Read) -> None:
    bus = Bus()
    mcp = {"server_name": "maps", "tool_name": "search"}
    events, reader = read(
        *bus.started(),
        bus.tool("tool_usage_started", "t1"),
        bus.emit("mcp_tool_execution_started", "x1", "t1", **mcp),
        bus.emit("mcp_tool_execution_failed", "x2", "t1", "x1", error="gone", **mcp),
        bus.tool("tool_usage_error", "t2", "t1", error="gone"),
        bus.emit("mcp_connection_failed", "x3", "agent", server_name="maps", error="refused"),
    )
    assert shape(events)[2:] == [
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
        ("tool_result", "mcp_connection:maps", "failed"),
    ]
    assert reader.skipped == {"structural_span": 1, "nested_call": 2}


def test_guardrails_loops_and_signals_are_no_calls(read: Read) -> None:
    bus = Bus()
    events, _ = read(
        *bus.started(),
        bus.emit(
            "llm_guardrail_completed", "g1", "task", success=False, error="too short", retry_count=0
        ),
        bus.emit("llm_guardrail_started", "g2", "task", retry_count=1, task_name="find fares"),
        bus.emit("llm_guardrail_completed", "g3", "task", success=True, retry_count=1),
        bus.emit("loop_detected", "l1", "agent", repeated_tool="search(x)", iteration=4),
        bus.emit("SIGTERM", "s2", reason="shutdown"),
        bus.emit("sighup", "s3"),
    )
    assert shape(events)[2:] == [
        ("audit", "guardrail", "failed"),
        ("retry", "find fares", "started"),
        ("audit", "loop", "failed"),
        ("process_error", "SIGTERM", "failed"),
        ("process_error", "SIGHUP", "failed"),
    ]
    assert (events[2].error_message, events[3].attempt) == ("too short", 1)
    assert events[4].metadata == {"iteration": 4}


@pytest.mark.parametrize("name", ["SIGINT", "sigint"])
def test_who_stops_a_crew_by_hand_aborts_its_run(read: Read, name: str) -> None:
    bus = Bus()
    events, reader = read(
        *bus.started(),
        bus.emit(name, "s1"),
        bus.emit("crew_kickoff_failed", "f1", None, "crew", error="KeyboardInterrupt"),
    )
    start, end = events[0], events[-1]
    assert (end.event_type, end.operation, end.status) == ("agent_end", "Trip crew", "aborted")
    assert end.call_id == start.call_id
    assert end.error_message == "SIGINT received"
    assert "process_error" not in {event.event_type for event in events}
    assert reader.skipped["repeated_end"] == 1


def test_a_flow_alone_is_a_run_and_its_failing_method_an_action(read: Read) -> None:
    bus = Bus()
    events, _ = read(
        bus.emit("flow_started", "flow", flow_name="Report"),
        bus.emit("method_execution_started", "m1", "flow", method_name="load"),
        bus.emit(
            "method_execution_failed", "m2", "flow", "m1", method_name="load", error="no file"
        ),
        bus.emit("flow_failed", "f2", None, "flow", flow_name="Report", error="no file"),
    )
    assert shape(events) == [
        ("agent_start", "Report", "started"),
        ("tool_result", "load", "failed"),
        ("agent_end", "Report", "failed"),
    ]


def test_older_versions_without_ids_pair_by_kind_and_name(read: Read) -> None:
    def old(kind: str, second: int, **fields: Any) -> dict[str, Any]:
        time = f"2025-06-01T10:00:{second:02d}"
        return {"type": kind, "timestamp": time, "source_fingerprint": "f", **fields}

    tool = {"tool_name": "search", "tool_args": '{"q": "x"}', "run_attempts": 1}
    records = [
        record
        for second in (0, 20)
        for record in (
            old("crew_kickoff_started", second + 1, crew_name="crew"),
            old("agent_execution_started", second + 2, agent={"role": "Scout"}),
            old("tool_usage_started", second + 3, **tool),
            old("tool_usage_error", second + 4, **tool, error="boom"),
            old("agent_execution_completed", second + 5, agent={"role": "Scout"}),
            old("crew_kickoff_completed", second + 6, crew_name="crew"),
        )
    ]
    events, _ = read(*records)
    assert shape(events)[:6] == [
        ("agent_start", "crew", "started"),
        ("agent_start", "Scout", "started"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
        ("agent_end", "Scout", "completed"),
        ("agent_end", "crew", "completed"),
    ]
    assert [event.trace_id for event in events] == ["trace.jsonl"] * 6 + ["trace.jsonl#2"] * 6
    for run in (events[:6], events[6:]):
        assert [event.call_id for event in run[:3]] == [event.call_id for event in run[:2:-1]]


def test_an_agent_whose_model_tells_its_own_failures_fails_by_itself(read: Read) -> None:
    bus = Bus()
    model = {"call_id": "llm-1", "model": "model-x"}
    events, _ = read(
        *bus.started(),
        bus.emit("llm_call_started", "m1", "agent", **model),
        bus.emit("llm_call_completed", "m2", "agent", "m1", **model),
        bus.emit(
            "agent_execution_error", "a2", "task", "agent", agent={"role": "Scout"}, error="no rows"
        ),
    )

    assert [(e.event_type, e.status) for e in events][-2:] == [
        ("process_error", "failed"),
        ("agent_end", "failed"),
    ]
