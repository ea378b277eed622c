"""Qwen Code's chats: messages in parts, results with the client's own record, API errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lastsignal.core.aliases.gemini.qwen import QwenDecoder, QwenState
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def record(second: int, kind: str, parts: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "uuid": f"u{second}", "parentUuid": None, "sessionId": "q-1", "type": kind,
        "timestamp": f"2026-05-05T06:00:{second:02d}.000Z", **fields,
    }  # fmt: skip
    if parts is not None:
        value["message"] = {"role": "model" if kind == "assistant" else "user", "parts": parts}
    return value


def answer(second: int, *parts: Any) -> dict[str, Any]:
    usage = {"promptTokenCount": 90, "candidatesTokenCount": 9, "thoughtsTokenCount": 1}
    return record(second, "assistant", list(parts), model="q-max", usageMetadata=usage)


def api_error(second: int, **fields: Any) -> dict[str, Any]:
    event = {"event.name": "qwen-code.api_error", "model": "q-max", **fields}
    return record(second, "system", subtype="ui_telemetry", systemPayload={"uiEvent": event})


PROMPT = record(1, "user", [{"text": "explain 429"}])
CALL = {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}}}


def output(second: int, status: str, response: dict[str, Any], **details: Any) -> dict[str, Any]:
    part = {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": response}}
    return record(
        second, "tool_result", [part], toolCallResult={"callId": "c1", "status": status, **details}
    )


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_turn_is_a_run(read: Read) -> None:
    events, reader = read(
        PROMPT,
        answer(2, {"text": "let me see", "thought": True}, CALL),
        record(3, "system", subtype="ui_telemetry",
               systemPayload={"uiEvent": {"event.name": "qwen-code.api_response"}}),
        output(4, "success", {"output": "Error: a file\nExit Code: 0"}),
        answer(6, {"text": "done"}),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "qwen-code", "started"),
        ("model_call", "q-max", "completed"),
        ("tool_call", "run_shell_command", "started"),
        ("tool_result", "run_shell_command", "completed"),
        ("model_call", "q-max", "completed"),
        ("agent_end", "qwen-code", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (90, 10)
    assert events[-1].duration_seconds == 4.0
    assert reader.skipped == {"prompt": 1, "telemetry_detail": 1}


def test_a_tool_fails_by_its_status_its_response_or_its_exit_code(read: Read) -> None:
    for value, status, message in (
        (output(3, "error", {"error": "No such file"}), "failed", "No such file"),
        (output(3, "error", {}, error={"message": "boom"}), "failed", "boom"),
        (output(3, "cancelled", {"error": "[Operation Cancelled] by user"}), "aborted",
         "[Operation Cancelled] by user"),
        (output(3, "success", {"output": "x\nExit Code: 7"}), "failed", "Exit Code: 7"),
    ):  # fmt: skip
        events, _ = read(PROMPT, answer(2, CALL), value)
        assert (events[-1].status, events[-1].error_message) == (status, message)


def test_an_error_that_would_come_again_ends_the_run_at_once(read: Read) -> None:
    events, _ = read(PROMPT, api_error(2, error_message="Invalid API key", status_code=401))
    assert shape(events) == [
        ("agent_start", "qwen-code", "started"),
        ("model_call", "q-max", "failed"),
        ("agent_end", "qwen-code", "failed"),
    ]
    assert (events[1].http_status, events[1].error_class) == (401, "auth")


def test_what_follows_a_passing_error_tells_whether_it_was_retried(read: Read) -> None:
    failing = api_error(2, error_message="Too Many Requests", status_code=429)
    events, _ = read(PROMPT, failing, answer(4, {"text": "done"}))
    assert shape(events)[1:] == [
        ("model_call", "q-max", "failed"),
        ("retry", "q-max", "started"),
        ("model_call", "q-max", "completed"),
        ("agent_end", "qwen-code", "completed"),
    ]
    assert (events[2].attempt, events[2].http_status) == (1, 429)
    again = record(9, "user", [{"text": "again"}])
    events, _ = read(PROMPT, failing, again)
    assert shape(events)[1:] == [
        ("model_call", "q-max", "failed"),
        ("agent_end", "qwen-code", "failed"),
    ]


def test_a_request_that_fails_every_time_is_given_up(read: Read) -> None:
    errors = [api_error(n, error_message="overloaded", status_code=503) for n in range(2, 7)]
    events, _ = read(PROMPT, *errors)
    assert [event.attempt for event in events if event.event_type == "retry"] == [1, 2, 3, 4]
    assert shape(events)[-1] == ("agent_end", "qwen-code", "failed")


def test_a_compression_is_a_compaction(read: Read) -> None:
    info = {"originalTokenCount": 900, "newTokenCount": 90}
    events, _ = read(record(1, "system", subtype="chat_compression", systemPayload={"info": info}))
    assert shape(events) == [("audit", "compaction", "completed")]
    assert events[0].metadata == {"tokens_before": 900, "tokens_after": 90}


def test_a_copied_record_is_told_once(read: Read) -> None:
    events, reader = read(PROMPT, answer(2, {"text": "a"}), answer(2, {"text": "a"}))
    assert len(events) == 3
    assert reader.skipped == {"prompt": 1, "copied_record": 1}


def test_the_state_survives_a_restart() -> None:
    decoder = QwenDecoder("s")
    decoder.decode(msgspec.json.encode(answer(2, CALL)))
    decoder.decode(msgspec.json.encode(api_error(3, error_message="x", status_code=503)))
    restored = QwenDecoder("s")
    restored.state = msgspec.msgpack.decode(msgspec.msgpack.encode(decoder.state), type=QwenState)
    events = restored.decode(msgspec.json.encode(answer(4, {"text": "done"})))
    assert isinstance(events, list)
    assert [event.event_type for event in events] == ["retry", "model_call", "agent_end"]


def test_an_error_that_stands_in_the_chat_ends_the_turn_where_one_beside_it_may_be_retried(
    read: Read,
) -> None:
    refused = {"status_code": 429, "error_message": "slow down"}
    said = record(4, "assistant", [{"text": "[API Error: slow down (Status: 429)]"}])
    retried, _ = read(PROMPT, api_error(2, **refused))
    events, _ = read(PROMPT, api_error(2, **refused), said)
    assert shape(retried) == [
        ("agent_start", "qwen-code", "started"),
        ("model_call", "q-max", "failed"),
    ]
    assert shape(events)[2:] == [
        ("retry", "q-max", "started"),
        ("model_call", "q-max", "failed"),
        ("agent_end", "qwen-code", "failed"),
    ]
