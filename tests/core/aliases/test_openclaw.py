"""pi and OpenClaw: sessions, trajectories and the telemetry plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.openclaw.session import SessionDecoder, SessionState
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]

HEADER = {
    "type": "session", "version": 3, "id": "s-1", "timestamp": "2026-06-01T05:00:00.000Z",
    "cwd": "/tmp",
}  # fmt: skip
USAGE = {"input": 2, "output": 30, "cacheRead": 100, "cacheWrite": 8, "cost": {"total": 0.25}}


def entry(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind, "id": f"e{second}", "parentId": None,
        "timestamp": f"2026-06-01T05:00:{second:02d}.000Z", **fields,
    }  # fmt: skip


def said(second: int, role: str, text: str = "", *calls: str, **fields: Any) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "toolCall", "id": call, "name": "exec", "arguments": {"command": call}}
        for call in calls
    ]
    message = {"role": role, "content": blocks, "timestamp": 0, **fields}
    return entry(second, "message", message=message)


def answer(
    second: int, text: str, *calls: str, reason: str = "stop", **fields: Any
) -> dict[str, Any]:
    return said(
        second, "assistant", text, *calls, model="m-1", provider="lab", usage=USAGE,
        stopReason="toolUse" if calls else reason, **fields,
    )  # fmt: skip


def failed(second: int, text: str) -> dict[str, Any]:
    return said(second, "assistant", model="m-1", stopReason="error", errorMessage=text)


def output(second: int, text: str, failed: bool = False, **details: Any) -> dict[str, Any]:
    return said(
        second,
        "toolResult",
        text,
        toolCallId="c1",
        toolName="exec",
        isError=failed,
        details=details,
    )


PROMPT = said(1, "user", "why the 429 error?")
OVERLOADED = '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_turn_is_a_run_and_tokens_are_all_that_the_model_read(read: Read) -> None:
    events, reader = read(
        HEADER,
        entry(0, "model_change", provider="lab", modelId="m-1"),
        PROMPT,
        answer(2, "let me see", "c1"),
        output(3, "Error: in a file", status="completed", exitCode=0, durationMs=80),
        answer(5, "done"),
    )
    assert shape(events) == [
        ("agent_start", "main", "started"),
        ("model_call", "m-1", "completed"),
        ("tool_call", "exec", "started"),
        ("tool_result", "exec", "completed"),
        ("model_call", "m-1", "completed"),
        ("agent_end", "main", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens, events[1].cost_usd) == (110, 30, 0.25)
    assert events[1].metadata == {
        "provider": "lab", "cache_read_tokens": 100, "cache_creation_tokens": 8,
    }  # fmt: skip
    assert events[3].duration_seconds == 0.08
    assert {event.trace_id for event in events} == {"s-1"}
    assert reader.skipped == {"session_header": 1, "session_entry": 1, "prompt": 1}


@pytest.mark.parametrize(
    ("result", "status", "message"),
    [
        (output(3, "no", True, status="error", error="it is off"), "failed", "it is off"),
        (output(3, "x", status="completed", exitCode=2), "failed", "Command exited with code 2"),
        (output(3, "boom\n\nCommand exited with code 7", True), "failed",
         "Command exited with code 7"),
        (output(3, "x\nCommand timed out after 5 seconds", True), "failed",
         "Command timed out after 5 seconds"),
        (output(3, '{"status": "error", "error": "locked"}', True), "failed", "locked"),
        (output(3, "Operation aborted", True), "aborted", "Operation aborted"),
        (output(3, "still running", status="running", pid=7), "completed", None),
    ],
)  # fmt: skip
def test_a_tool_fails_by_its_flag_or_its_details(
    read: Read, result: dict[str, Any], status: str, message: str | None
) -> None:
    events, _ = read(HEADER, PROMPT, answer(2, "", "c1"), result)
    assert (events[-1].event_type, events[-1].status) == ("tool_result", status)
    assert events[-1].error_message == message


def test_a_passing_error_is_retried_by_the_client(read: Read) -> None:
    events, _ = read(
        HEADER, PROMPT, failed(2, OVERLOADED), failed(4, OVERLOADED), answer(8, "done")
    )
    assert shape(events) == [
        ("agent_start", "main", "started"),
        ("model_call", "m-1", "failed"),
        ("retry", "m-1", "started"),
        ("model_call", "m-1", "failed"),
        ("retry", "m-1", "started"),
        ("model_call", "m-1", "completed"),
        ("agent_end", "main", "completed"),
    ]
    assert (events[1].error_message, events[1].http_status) == ("Overloaded", 529)
    assert [event.attempt for event in events if event.event_type == "retry"] == [1, 2]


def test_the_turn_ends_with_an_error_that_would_come_again(read: Read) -> None:
    events, _ = read(HEADER, PROMPT, failed(2, "401 Invalid API key"))
    assert shape(events)[1:] == [("model_call", "m-1", "failed"), ("agent_end", "main", "failed")]
    assert events[1].error_class == "auth"


def test_the_turn_ends_with_one_failure_more_than_the_client_retries(read: Read) -> None:
    events, _ = read(HEADER, PROMPT, *(failed(n, OVERLOADED) for n in range(2, 6)))
    assert shape(events)[-1] == ("agent_end", "main", "failed")
    assert sum(event.event_type == "agent_end" for event in events) == 1


def test_a_prompt_after_an_error_shows_that_the_turn_had_ended(read: Read) -> None:
    events, _ = read(HEADER, PROMPT, failed(2, OVERLOADED), said(9, "user", "go on"))
    assert shape(events)[1:] == [("model_call", "m-1", "failed"), ("agent_end", "main", "failed")]


def test_an_interrupted_answer_aborts_the_run(read: Read) -> None:
    events, _ = read(
        HEADER, PROMPT, answer(2, "", reason="aborted", errorMessage="Request aborted")
    )
    assert shape(events)[1:] == [("model_call", "m-1", "aborted"), ("agent_end", "main", "aborted")]


def test_a_turn_that_waits_for_its_sub_agents_has_ended(read: Read) -> None:
    events, _ = read(
        HEADER, PROMPT, answer(2, "", "c1"), output(3, "{}", status="yielded"),
        entry(3, "custom_message", customType="openclaw.sessions_yield", content="waiting"),
    )  # fmt: skip
    assert shape(events)[-1] == ("agent_end", "main", "completed")


def test_a_command_line_backends_answer_is_counted_once(read: Read) -> None:
    events, reader = read(HEADER, PROMPT, answer(2, "done"), answer(2, "done", api="cli"))
    assert sum(event.event_type == "model_call" for event in events) == 1
    assert reader.skipped["repeated_answer"] == 1
    events, _ = read(HEADER, PROMPT, answer(2, "done", api="cli"))
    assert sum(event.event_type == "model_call" for event in events) == 1


def test_what_a_forked_session_copies_is_told_by_its_parent(read: Read) -> None:
    forked_at = "2026-06-01T05:00:10.000Z"
    header = {**HEADER, "id": "s-2", "timestamp": forked_at, "parentSession": "/tmp/s-1.jsonl"}
    events, reader = read(header, PROMPT, answer(2, "first"), said(11, "user"), answer(12, "then"))
    assert [event.call_id for event in events if event.event_type == "model_call"] == ["e12"]
    assert {event.trace_id for event in events} == {"s-2"}
    assert reader.skipped == {"session_header": 1, "copied_from_fork": 2, "prompt": 1}


def test_a_session_that_another_has_begun_and_that_copies_nothing_is_told_whole(
    read: Read,
) -> None:
    header = {**HEADER, "id": "s-2", "parentSession": "/tmp/s-1.jsonl"}
    events, reader = read(header, PROMPT, answer(2, "first"))
    assert [event.call_id for event in events if event.event_type == "model_call"] == ["e2"]
    assert "copied_from_fork" not in reader.skipped


def test_an_older_header_and_messages_without_a_stop_reason(read: Read) -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "model": "m-0"}
    events, _ = read(
        {"type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00Z", "cwd": "/"},
        {"type": "message", "timestamp": "2025-01-01T00:00:01Z", "message": message},
        {"type": "compaction", "id": "c", "parentId": "b", "timestamp": "2025-01-01T00:00:02Z",
         "tokensBefore": 500},
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "main", "started"),
        ("model_call", "m-0", "completed"),
        ("agent_end", "main", "completed"),
        ("audit", "compaction", "completed"),
    ]
    assert events[3].metadata == {"tokens_before": 500}


def test_the_state_of_a_session_survives_a_restart() -> None:
    decoder = SessionDecoder("s")
    for record in (HEADER, PROMPT, failed(2, OVERLOADED)):
        decoder.decode(msgspec.json.encode(record))
    restored = SessionDecoder("s")
    restored.state = msgspec.msgpack.decode(
        msgspec.msgpack.encode(decoder.state), type=SessionState
    )
    events = restored.decode(msgspec.json.encode(answer(4, "done")))
    assert isinstance(events, list)
    assert shape(events)[0] == ("retry", "m-1", "started")
    assert events[0].error_message == "Overloaded"


def telemetry(sequence: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind, "sessionKey": "agent:main:main", "agentId": "main", "seq": sequence,
        "ts": 1_780_000_000_000 + sequence * 1000, **fields,
    }  # fmt: skip


def test_telemetry_opens_an_agent_once_and_ends_one_that_never_started(read: Read) -> None:
    events, reader = read(
        {
            "type": "message.in",
            "channel": "web",
            "content": "429",
            "ts": 1_780_000_000_000,
            "seq": 0,
        },
        telemetry(1, "agent.start", prompt="p"),
        telemetry(2, "agent.start", prompt="p", messages=[]),
        telemetry(3, "tool.start", toolName="exec", params={"command": "ls"}),
        telemetry(4, "tool.end", toolName="exec", success=True, durationMs=500),
        telemetry(5, "llm.usage", model="m-1", inputTokens=5, outputTokens=6),
        telemetry(6, "agent.end", success=True, durationMs=5000, messages=[]),
        telemetry(7, "agent.end", success=True, durationMs=9000, sessionKey="other"),
    )
    assert shape(events) == [
        ("agent_start", "main", "started"),
        ("tool_call", "exec", "started"),
        ("tool_result", "exec", "completed"),
        ("model_call", "m-1", "completed"),
        ("agent_end", "main", "completed"),
        ("agent_end", "main", "completed"),
    ]
    assert (events[2].duration_seconds, events[2].sequence) == (0.5, 4)
    assert events[5].trace_id == "other"
    assert reader.skipped == {"message": 1, "repeated_start": 1}


def test_telemetry_tells_a_failure_once(read: Read) -> None:
    events, _ = read(
        telemetry(1, "agent.start"),
        telemetry(2, "tool.end", toolName="exec", success=False, error="disk full"),
        telemetry(3, "agent.end", success=False, error="disk full"),
    )
    assert shape(events)[1:] == [("tool_result", "exec", "failed"), ("agent_end", "main", "failed")]
    events, _ = read(
        telemetry(1, "agent.start"), telemetry(3, "agent.end", success=False, error="429 slow down")
    )
    assert shape(events)[1:] == [
        ("model_call", "model", "failed"), ("agent_end", "main", "failed"),
    ]  # fmt: skip
    assert (events[1].http_status, events[1].error_class) == (429, "rate_limit")


def test_telemetry_of_a_request_that_timed_out_tells_of_the_model_s_call(read: Read) -> None:
    events, _ = read(
        telemetry(1, "agent.start"),
        telemetry(2, "tool.end", toolName="exec", success=False, error="disk full"),
        telemetry(3, "agent.end", success=False, error="LLM request timed out."),
    )
    assert shape(events)[2:] == [
        ("model_call", "model", "failed"), ("agent_end", "main", "failed"),
    ]  # fmt: skip
    assert {event.error_class for event in events[2:]} == {"timeout"}


@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        ({"success": False}, "failed", "the agent ended without success"),
        ({"success": False, "error": True}, "failed", "the agent ended without success"),
        ({"success": False, "error": "-"}, "failed", "the agent ended without success"),
        ({"success": True, "error": "disk full"}, "failed", "disk full"),
        ({"success": True, "error": ""}, "completed", None),
    ],
)
def test_telemetry_of_an_end_that_does_not_say_what_failed_tells_of_no_crash(
    read: Read, said: dict[str, Any], status: str, message: str | None
) -> None:
    events, _ = read(telemetry(1, "agent.start"), telemetry(3, "agent.end", **said))
    assert shape(events)[1:] == [("agent_end", "main", status)]
    assert events[1].error_message == message


def stage(sequence: int, kind: str, **data: Any) -> dict[str, Any]:
    return {
        "traceSchema": "openclaw-trajectory", "type": kind, "seq": sequence, "sessionId": "s-1",
        "runId": "run-1", "modelId": "m-1", "ts": f"2026-06-02T00:00:{sequence:02d}.000Z",
        "data": data,
    }  # fmt: skip


def test_a_trajectory_is_a_run_from_its_prompt_to_its_end(read: Read) -> None:
    events, reader = read(
        stage(0, "session.started"),
        stage(1, "prompt.submitted", prompt="429"),
        stage(4, "model.completed", usage=USAGE),
        stage(5, "session.ended", status="success"),
    )
    assert shape(events) == [
        ("agent_start", "openclaw", "started"),
        ("model_call", "m-1", "completed"),
        ("agent_end", "openclaw", "completed"),
    ]
    assert (events[1].input_tokens, events[2].duration_seconds) == (110, 4.0)
    assert {event.trace_id for event in events} == {"run-1"}
    assert reader.skipped == {"structural_span": 1}


@pytest.mark.parametrize(
    ("data", "leaf"),
    [
        ({"promptError": "529 Overloaded"}, ("model_call", "m-1", "failed")),
        ({"timedOut": True}, ("model_call", "m-1", "failed")),
        ({"timedOutByRunBudget": True}, ("audit", "time_limit", "failed")),
    ],
)
def test_a_failed_trajectory_has_one_cause(
    read: Read, data: dict[str, Any], leaf: tuple[str, str, str]
) -> None:
    events, _ = read(stage(4, "model.completed", **data), stage(5, "session.ended", status="error"))
    failures = [event for event in events if event.status == "failed"]
    assert shape(failures) == [leaf, ("agent_end", "openclaw", "failed")]
    assert failures[1].error_message == failures[0].error_message


def test_a_trajectory_may_fail_without_a_call(read: Read) -> None:
    events, _ = read(stage(5, "session.ended", status="error", terminalError="worker died"))
    assert shape(events)[1:] == [
        ("process_error", None, "failed"), ("agent_end", "openclaw", "failed"),
    ]  # fmt: skip
    assert events[1].error_message == "worker died"
    events, _ = read(stage(5, "session.ended", status="error", terminalError="429 slow down"))
    assert shape(events)[1:] == [
        ("model_call", "m-1", "failed"), ("agent_end", "openclaw", "failed"),
    ]  # fmt: skip
    events, _ = read(stage(5, "session.ended", status="error"))
    assert shape(events)[1:] == [("agent_end", "openclaw", "failed")]
    events, _ = read(stage(1, "prompt.submitted"), stage(5, "session.ended", status="interrupted"))
    assert shape(events)[1:] == [("agent_end", "openclaw", "aborted")]
