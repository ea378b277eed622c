"""Anthropic's managed agents: runs from running to idle, failures told by two records."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.managed_agents.session import ManagedDecoder, ManagedState
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def called(name: str, *arguments: Any) -> bytes:
    return json.dumps([f"client.beta.sessions.{name}", *arguments]).encode()


def event(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"sevt_{second}.{kind}", "type": kind,
        "processed_at": f"2026-06-05T04:00:{second:02d}Z", **fields,
    }  # fmt: skip


def seen(second: int, kind: str, **fields: Any) -> bytes:
    return called("events.stream", event(second, kind, **fields))


CREATED = called(
    "create", {"id": "sesn_1", "agent": {"name": "Scout", "model": {"id": "m-1"}}}
)  # fmt: skip
RUNNING = seen(1, "session.status_running")
REQUEST = seen(2, "span.model_request_start")
REQUEST_ID = event(2, "span.model_request_start")["id"]
USAGE = {
    "input_tokens": 2, "output_tokens": 9, "cache_read_input_tokens": 70,
    "cache_creation_input_tokens": 0,
}  # fmt: skip


def answered(second: int, failed: bool = False) -> bytes:
    return seen(
        second, "span.model_request_end", model_request_start_id=REQUEST_ID, is_error=failed,
        model_usage=USAGE,
    )  # fmt: skip


def idle(second: int, reason: str) -> bytes:
    return seen(second, "session.status_idle", stop_reason={"type": reason})


def error(second: int, kind: str, retry: str, **fields: Any) -> bytes:
    told = {"type": kind, "message": f"{kind}: no luck", "retry_status": {"type": retry}, **fields}
    return seen(second, "session.error", error=told)


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_session_is_a_run_until_it_is_idle(read: Read) -> None:
    use = event(3, "agent.tool_use", name="bash", input={"command": "date"})
    events, reader = read(
        b"",
        CREATED,
        called("events.send", ["sesn_1", {"events": [{"type": "user.message"}]}]),
        RUNNING,
        seen(1, "session.thread_status_running", agent_name="Scout"),
        seen(2, "user.message", content=[{"type": "text", "text": "429"}]),
        REQUEST,
        called("events.stream", use),
        answered(4),
        seen(5, "agent.tool_result", tool_use_id=use["id"], is_error=False,
             content=[{"type": "text", "text": "Error: in a file"}]),
        seen(6, "agent.message", content=[]),
        idle(7, "end_turn"),
        idle(7, "end_turn"),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "Scout", "started"),
        ("model_call", "m-1", "started"),
        ("tool_call", "bash", "started"),
        ("model_call", "m-1", "completed"),
        ("tool_result", "bash", "completed"),
        ("agent_end", "Scout", "completed"),
    ]
    assert (events[3].call_id, events[3].input_tokens) == (REQUEST_ID, 72)
    assert events[5].duration_seconds == 6.0
    assert {told.trace_id for told in events} == {"sesn_1"}
    assert reader.skipped == {
        "blank": 1, "client_call": 2, "session_status": 1, "message": 2, "repeated_event": 1,
    }  # fmt: skip


def test_a_run_that_waits_for_its_user_goes_on(read: Read) -> None:
    use = event(3, "agent.custom_tool_use", name="weather", input={})
    events, _ = read(
        CREATED, RUNNING, called("events.stream", use), idle(4, "requires_action"),
        seen(5, "user.custom_tool_result", custom_tool_use_id=use["id"],
             content=[{"type": "text", "text": '{"error": "no such city"}'}]),
        seen(6, "session.status_running"), idle(7, "end_turn"),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "Scout", "started"),
        ("tool_call", "weather", "started"),
        ("tool_result", "weather", "failed"),
        ("agent_end", "Scout", "completed"),
    ]
    assert events[2].error_message == "no such city"


def test_a_denied_call_is_aborted(read: Read) -> None:
    use = event(3, "agent.mcp_tool_use", name="search", input={})
    events, _ = read(
        CREATED, RUNNING, called("events.stream", use),
        seen(4, "user.tool_confirmation", tool_use_id=use["id"], result="deny"),
        seen(5, "agent.mcp_tool_result", mcp_tool_use_id=use["id"], is_error=True,
             content=[{"type": "text", "text": "denied by the user"}]),
    )  # fmt: skip
    assert shape(events)[2:] == [
        ("audit", "permission", "aborted"),
        ("tool_result", "search", "aborted"),
    ]


def test_a_failed_request_and_the_error_after_it_are_one_failure(read: Read) -> None:
    events, _ = read(
        CREATED, RUNNING, REQUEST, answered(3, failed=True),
        error(3, "model_overloaded_error", "retrying"),
        seen(4, "span.model_request_start"),
        seen(5, "span.model_request_end", is_error=True,
             model_request_start_id=event(4, "span.model_request_start")["id"]),
        error(5, "model_overloaded_error", "exhausted"),
        idle(6, "retries_exhausted"),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "Scout", "started"),
        ("model_call", "m-1", "started"),
        ("model_call", "m-1", "failed"),
        ("retry", "m-1", "started"),
        ("model_call", "m-1", "started"),
        ("model_call", "m-1", "failed"),
        ("agent_end", "Scout", "failed"),
    ]
    assert (events[2].error_message, events[2].call_id) == (
        "model_overloaded_error: no luck", REQUEST_ID,
    )  # fmt: skip
    assert (events[2].error_class, events[3].attempt) == ("overloaded", 1)
    assert events[6].error_message == "model_overloaded_error: no luck"


def test_a_failed_request_without_any_reason_is_told_at_the_next_event(read: Read) -> None:
    events, _ = read(CREATED, RUNNING, REQUEST, answered(3, failed=True), idle(4, "end_turn"))
    assert shape(events)[2:] == [
        ("model_call", "m-1", "failed"),
        ("agent_end", "Scout", "completed"),
    ]
    assert events[2].error_message == "the model request failed"


def test_a_terminated_session_failed_for_the_error_before_it(read: Read) -> None:
    events, _ = read(
        CREATED, RUNNING, error(2, "billing_error", "terminal"),
        seen(3, "session.status_terminated"),
    )  # fmt: skip
    assert shape(events)[1:] == [("model_call", "m-1", "failed"), ("agent_end", "Scout", "failed")]
    events, _ = read(CREATED, RUNNING, seen(3, "session.status_terminated"))
    assert shape(events)[1:] == [
        ("process_error", None, "failed"),
        ("agent_end", "Scout", "failed"),
    ]


@pytest.mark.parametrize(
    "last",
    [
        idle(3, "retries_exhausted"),  # of nothing that has failed
        seen(3, "session.status_terminated", stop_reason={"type": "end_turn"}),
    ],
)
def test_an_end_that_its_session_contradicts_fails_the_run_and_names_no_cause(
    read: Read, last: bytes
) -> None:
    events, _ = read(CREATED, RUNNING, last)
    assert shape(events)[1:] == [("agent_end", "Scout", "failed")]
    assert events[-1].metadata == {"contradicted": True}


def test_an_mcp_server_that_cannot_be_reached_is_its_own_failure(read: Read) -> None:
    events, _ = read(
        CREATED, RUNNING, error(2, "mcp_connection_failed_error", "terminal", mcp_server_name="a"),
        idle(5, "end_turn"),
    )  # fmt: skip
    assert shape(events)[1:] == [
        ("tool_result", "a", "failed"),
        ("agent_end", "Scout", "completed"),
    ]
    assert events[1].error_class == "connection"


def test_an_interrupted_run_is_aborted(read: Read) -> None:
    events, _ = read(CREATED, RUNNING, seen(2, "user.interrupt"), idle(3, "end_turn"))
    assert shape(events)[-1] == ("agent_end", "Scout", "aborted")


def test_bare_events_carry_no_session(read: Read) -> None:
    events, _ = read(
        event(1, "session.status_running"),
        event(2, "agent.thread_context_compacted"),
        event(3, "session.status_idle", stop_reason={"type": "end_turn"}),
    )
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("audit", "compaction", "completed"),
        ("agent_end", "agent", "completed"),
    ]
    assert {told.trace_id for told in events} == {"trace.jsonl"}


@pytest.mark.parametrize("record", [b'["client.other", {}]', b'{"type": "x", "id": "evt_1"}'])
def test_other_records_are_not_taken(read: Read, record: bytes) -> None:
    assert read(record)[1].formats.get("managed_agents") is None


def test_the_state_survives_a_restart() -> None:
    decoder = ManagedDecoder("s")
    for record in (CREATED, RUNNING, REQUEST, answered(3, failed=True)):
        decoder.decode(record)
    restored = ManagedDecoder("s")
    restored.state = msgspec.msgpack.decode(
        msgspec.msgpack.encode(decoder.state), type=ManagedState
    )
    events = restored.decode(error(4, "model_rate_limited_error", "terminal"))
    assert isinstance(events, list)
    assert shape(events) == [("model_call", "m-1", "failed")]
