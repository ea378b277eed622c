"""OpenCode: its bus in every wrapping, what `opencode run` prints, and saved sessions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.opencode.bus import BusDecoder, BusState
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
START = 1_779_000_000_000


def bus(kind: str, **properties: Any) -> bytes:
    event = {"type": kind, "properties": {"sessionID": "ses_1", **properties}}
    return json.dumps(["event", {"event": event}]).encode()


def status(kind: str, **fields: Any) -> bytes:
    return bus("session.status", status={"type": kind, **fields})


def message(identity: str, second: int, completed: int | None = None, **fields: Any) -> bytes:
    times = {"created": START + second * 1000}
    if completed is not None:
        times["completed"] = START + completed * 1000
    info = {
        "id": identity, "role": "assistant", "agent": "build", "modelID": "m-1", "cost": 0.5,
        "tokens": {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 80, "write": 1}},
        "time": times, "finish": "stop", **fields,
    }  # fmt: skip
    return bus("message.updated", info=info)


def tool(second: int, state: str, **fields: Any) -> bytes:
    times = {"start": START + second * 1000, "end": START + (second + 1) * 1000}
    part = {
        "id": "p1", "type": "tool", "tool": "bash", "callID": "c1",
        "state": {"status": state, "input": {"command": "ls"}, "time": times, **fields},
    }  # fmt: skip
    return bus("message.part.updated", part=part, time=START + second * 1000)


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


USER = message("u1", 0, role="user", modelID=None, tokens=None)


def test_a_busy_session_is_a_run_and_parts_are_told_as_they_change(read: Read) -> None:
    events, reader = read(
        b'["chat.message", {"sessionID": "ses_1"}, {"parts": [{"text": "429 error"}]}]',
        USER,
        status("busy"),
        message("a1", 1),
        tool(2, "pending"),
        tool(2, "running"),
        tool(2, "running"),
        tool(2, "completed", output="Error: in a file", metadata={"exit": 0}),
        tool(2, "completed", output="Error: in a file", metadata={"exit": 0}),
        message("a1", 1, 4),
        message("a1", 1, 4),
        status("busy"),
        status("idle"),
        bus("session.idle"),
        bus("session.diff", diff=[]),
    )
    assert shape(events) == [
        ("agent_start", "build", "started"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "completed"),
        ("model_call", "m-1", "completed"),
        ("agent_end", "build", "completed"),
    ]
    call = events[3]
    assert (call.input_tokens, call.output_tokens, call.cost_usd) == (91, 7, 0.5)
    assert (call.duration_seconds, call.finish_reason) == (3.0, "stop")
    assert (events[0].timestamp, events[0].timestamp_source) == (START / 1000, "inherited")
    assert (events[2].duration_seconds, events[4].duration_seconds) == (1.0, 4.0)
    assert {event.trace_id for event in events} == {"ses_1"}
    assert reader.skipped == {
        "hook": 1, "message": 2, "message_part": 1, "session_status": 2, "bus_event": 1,
        "repeated_record": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("state", "fields", "expected"),
    [
        ("error", {"error": "No such file"}, ("failed", "No such file")),
        ("completed", {"metadata": {"exit": 2}}, ("failed", "exit 2")),
        ("error", {"error": "The user rejected permission to use this tool"},
         ("aborted", "The user rejected permission to use this tool")),
        ("error", {"error": "Tool execution aborted"}, ("aborted", "Tool execution aborted")),
    ],
)  # fmt: skip
def test_a_tool_fails_by_its_state_or_exit_code(
    read: Read, state: str, fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    events, _ = read(status("busy"), tool(2, state, **fields))
    assert (events[-1].status, events[-1].error_message) == expected


def test_retries_are_told_once_and_an_error_once(read: Read) -> None:
    error = {
        "name": "APIError", "data": {"message": "Rate limit exceeded", "statusCode": 429},
    }  # fmt: skip
    part = {"type": "retry", "attempt": 1, "error": error}
    events, reader = read(
        USER,
        status("busy"),
        message("a1", 1),
        status("retry", attempt=1, message="Too Many Requests", next=START),
        bus("message.part.updated", part=part),
        status("retry", attempt=2, message="Too Many Requests", next=START),
        message("a1", 1, 9, error=error),
        bus("session.error", error=error),
        status("idle"),
    )
    assert shape(events) == [
        ("agent_start", "build", "started"),
        ("retry", "m-1", "started"),
        ("retry", "m-1", "started"),
        ("model_call", "m-1", "failed"),
        ("agent_end", "build", "failed"),
    ]
    assert [event.attempt for event in events[1:3]] == [1, 2]
    assert events[1].error_class == "rate_limit"
    assert (events[3].http_status, events[3].error_type) == (429, "APIError")
    assert events[4].error_message == "Rate limit exceeded"
    assert reader.skipped["repeated_error"] == 1


def test_an_aborted_message_aborts_the_run(read: Read) -> None:
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    events, _ = read(USER, status("busy"), bus("session.error", error=error), bus("session.idle"))
    assert shape(events)[1:] == [
        ("model_call", "model", "aborted"),
        ("agent_end", "build", "aborted"),
    ]


@pytest.mark.parametrize(
    ("error", "finish", "ended"),
    [
        ({"name": "APIError", "data": {"message": "boom"}}, "stop", "failed"),
        ("HTTP 429 Too Many Requests", None, "failed"),
        ("HTTP 429 Too Many Requests", "stop", "completed"),
    ],
)
def test_an_error_beside_the_end_of_an_answer_has_the_shape_that_errors_have(
    read: Read, error: Any, finish: str | None, ended: str
) -> None:
    said = message("a1", 1, 9, error=error, finish=finish)
    events, _ = read(USER, status("busy"), said, status("idle"))

    assert (events[-2].event_type, events[-2].status) == ("model_call", ended)
    assert events[-1].status == ended


def test_an_earlier_runs_error_does_not_fail_the_next(read: Read) -> None:
    error = {"name": "UnknownError", "data": {"message": "boom"}}
    events, _ = read(
        USER, status("busy"), bus("session.error", error=error), status("idle"),
        status("busy"), status("idle"),
    )  # fmt: skip
    ends = [event.status for event in events if event.event_type == "agent_end"]
    assert ends == ["failed", "completed"]


def test_policies_and_compactions_are_audits(read: Read) -> None:
    events, _ = read(USER, bus("permission.replied", reply="reject"), bus("session.compacted"))
    assert shape(events) == [
        ("audit", "permission", "aborted"), ("audit", "compaction", "completed"),
    ]  # fmt: skip


def test_bare_events_of_the_server_are_the_same(read: Read) -> None:
    event = {"type": "session.status", "properties": {"sessionID": "s", "status": {"type": "busy"}}}
    assert shape(read(event)[0]) == [("agent_start", "opencode", "started")]
    wrapped = {"directory": "/tmp", "payload": event}
    assert shape(read(wrapped)[0]) == [("agent_start", "opencode", "started")]


def test_an_array_of_something_else_is_not_taken(read: Read) -> None:
    _, reader = read(b'["event", {"event": {"type": "x"}}]', b'["other", {}]')
    assert reader.formats == {}


def test_the_state_survives_a_restart() -> None:
    decoder = BusDecoder("s")
    error = {"name": "UnknownError", "data": {"message": "boom"}}
    for record in (USER, status("busy"), tool(2, "running"), bus("session.error", error=error)):
        decoder.decode(record)
    restored = BusDecoder("s")
    restored.state = msgspec.msgpack.decode(msgspec.msgpack.encode(decoder.state), type=BusState)
    events = restored.decode(status("idle"))
    assert isinstance(events, list)
    assert (events[0].status, events[0].error_message) == ("failed", "boom")


def line(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": START + second * 1000, "sessionID": "ses_2", **fields}


def finished(second: int, reason: str) -> dict[str, Any]:
    tokens = {"input": 3, "output": 4, "reasoning": 0, "cache": {"read": 5, "write": 0}}
    return line(second, "step_finish", part={
        "id": f"p{second}", "type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0.1,
    })  # fmt: skip


def test_the_run_stream_closes_with_the_step_that_stops(read: Read) -> None:
    part = {"tool": "bash", "callID": "c1", "state": {"status": "error", "error": "boom"}}
    events, reader = read(
        line(0, "step_start", part={"type": "step-start"}),
        line(1, "tool_use", part=part),
        finished(2, "tool-calls"),
        line(3, "text", part={"text": "error 429"}),
        finished(4, "stop"),
    )
    assert shape(events) == [
        ("agent_start", "opencode", "started"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "failed"),
        ("model_call", "model", "completed"),
        ("model_call", "model", "completed"),
        ("agent_end", "opencode", "completed"),
    ]
    assert (events[3].input_tokens, events[3].cost_usd) == (8, 0.1)
    assert reader.skipped == {"message_part": 1}


def test_an_error_of_the_run_stream_fails_the_run(read: Read) -> None:
    error = {"name": "ProviderAuthError", "data": {"message": "Invalid API key"}}
    events, _ = read(line(1, "error", error=error))
    assert shape(events) == [
        ("agent_start", "opencode", "started"),
        ("model_call", "model", "failed"),
        ("agent_end", "opencode", "failed"),
    ]
    assert events[1].error_class == "auth"


def saved(identity: str, role: str, second: int, ended: int | None = None, **fields: Any) -> Any:
    times = {"created": START + second * 1000}
    if ended is not None:
        times["completed"] = START + ended * 1000
    info = {"id": identity, "sessionID": "ses_1", "role": role, "time": times, **fields}
    return info | ({"modelID": "m-1", "mode": "build"} if role == "assistant" else {})


def saved_tool(message_id: str, second: int, status: str, **fields: Any) -> Any:
    times = {"start": START + second * 1000, "end": START + (second + 1) * 1000}
    return {
        "id": f"prt_{second}", "sessionID": "ses_1", "messageID": message_id, "type": "tool",
        "tool": "bash", "callID": f"c{second}",
        "state": {"status": status, "input": {"command": "ls"}, "time": times, **fields},
    }  # fmt: skip


def exported(*messages: tuple[Any, list[Any]]) -> dict[str, Any]:
    info = {"id": "ses_1", "projectID": "p", "title": "Error: 429", "time": {"created": START}}
    return {"info": info, "messages": [{"info": one, "parts": parts} for one, parts in messages]}


OVERLOADED = {"name": "APIError", "data": {"message": "Overloaded", "statusCode": 529}}


def test_an_exported_session_is_a_run_for_each_of_its_prompts(read: Read) -> None:
    document = exported(
        (saved("msg_1", "user", 0), []),
        (
            saved("msg_2", "assistant", 1, 4, finish="tool-calls"),
            [saved_tool("msg_2", 2, "error", error="no such file")],
        ),
        (saved("msg_3", "assistant", 5, 6, finish="stop"), []),
        (saved("msg_4", "user", 60), []),
        (saved("msg_5", "assistant", 61, error=OVERLOADED), []),
    )
    events, reader = read(json.dumps(document, indent=1).encode())

    assert list(reader.formats) == ["opencode_saved"]
    assert shape(events) == [
        ("agent_start", "opencode", "started"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "failed"),
        ("model_call", "m-1", "completed"),
        ("model_call", "m-1", "completed"),
        ("agent_end", "build", "completed"),
        ("agent_start", "build", "started"),
        ("model_call", "m-1", "failed"),
        ("agent_end", "build", "failed"),
    ]
    assert {event.trace_id for event in events} == {"ses_1"}
    assert [event.timestamp - START / 1000 for event in events] == [0, 2, 3, 4, 6, 6, 60, 61, 61]
    assert (events[-2].http_status, events[-2].error_class) == (529, "overloaded")
    lines = json.dumps(document, indent=1).split("\n")
    assert '"tool"' in "".join(lines[events[2].line - 1 : events[2].line + 6])


def test_a_session_whose_last_answer_has_no_end_goes_on_or_was_killed(read: Read) -> None:
    events, _ = read(
        exported((saved("msg_1", "user", 0), []), (saved("msg_2", "assistant", 1), []))
    )

    assert shape(events) == [("agent_start", "opencode", "started")]
