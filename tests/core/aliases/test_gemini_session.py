"""Gemini CLI's saved chats: messages written again as they grow, and whole documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.gemini.session import GeminiState, SessionDecoder
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]

HEADER = {
    "sessionId": "chat-1", "projectHash": "abc", "startTime": "2026-05-02T09:00:00.000Z",
    "lastUpdated": "2026-05-02T09:00:00.000Z", "kind": "main",
}  # fmt: skip
TOKENS = {"input": 100, "output": 20, "cached": 40, "thoughts": 5, "tool": 0, "total": 125}


def message(
    identity: str, kind: str, second: int, content: Any = "", **fields: Any
) -> dict[str, Any]:
    return {
        "id": identity, "timestamp": f"2026-05-02T09:00:{second:02d}.000Z", "type": kind,
        "content": content, **fields,
    }  # fmt: skip


def call(identity: str, status: str, second: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": identity, "name": "run_shell_command", "args": {"command": identity},
        "status": status, "timestamp": f"2026-05-02T09:00:{second:02d}.000Z", **fields,
    }  # fmt: skip


def result(**response: Any) -> list[dict[str, Any]]:
    return [{"functionResponse": {"id": "c", "name": "t", "response": response}}]


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_message_that_grows_is_told_once(read: Read) -> None:
    def answer(*calls: dict[str, Any]) -> dict[str, Any]:
        return message("a1", "gemini", 2, toolCalls=list(calls), tokens=TOKENS, model="gem-x")

    events, reader = read(
        HEADER,
        message("u1", "user", 1, [{"text": "why 429 errors?"}]),
        answer(call("c1", "scheduled", 2)),
        answer(call("c1", "executing", 3)),
        answer(call("c1", "success", 4, result=result(output="Output: (empty)\nExit Code: 0"))),
        answer(call("c1", "success", 4, result=result(output="Output: (empty)\nExit Code: 0"))),
        message("a2", "gemini", 6, "done", tokens=TOKENS, model="gem-x"),
        {"$set": {"lastUpdated": "2026-05-02T09:00:07.000Z"}},
    )
    assert shape(events) == [
        ("agent_start", "gemini-cli", "started"),
        ("model_call", "gem-x", "completed"),
        ("tool_call", "run_shell_command", "started"),
        ("tool_result", "run_shell_command", "completed"),
        ("model_call", "gem-x", "completed"),
        ("agent_end", "gemini-cli", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (100, 25)
    assert events[1].metadata == {"cache_read_tokens": 40, "thinking_tokens": 5}
    assert events[3].timestamp - events[2].timestamp == 2.0
    assert {event.trace_id for event in events} == {"chat-1"}
    assert reader.skipped == {
        "session_header": 1, "prompt": 1, "repeated_message": 2, "change": 1,
    }  # fmt: skip


def test_tokens_that_come_after_the_answer_do_not_open_the_run_again(read: Read) -> None:
    events, _ = read(
        HEADER,
        message("a1", "gemini", 2, "done"),
        message("a1", "gemini", 2, "done", tokens=TOKENS, model="gem-x"),
    )
    assert shape(events) == [
        ("agent_start", "gemini-cli", "started"),
        ("agent_end", "gemini-cli", "completed"),
        ("model_call", "gem-x", "completed"),
    ]


def test_failed_cancelled_and_denied_tools_are_told_apart(read: Read) -> None:
    calls = [
        call("c1", "error", 3, result=result(error="File not found: /x"), resultDisplay="no"),
        call("c2", "cancelled", 3, result=result(error="[Operation Cancelled] Reason: User did")),
        call("c3", "error", 3, resultDisplay="Tool execution denied by policy"),
        call("c4", "success", 3, result=result(output="Error: x\nExit Code: 0\nExit Code: 2\n")),
        call("c5", "success", 3, name="read_file", result=result(output="Error: in a log")),
        call("c6", "success", 3, name="db__query", result=result(output='{"error": "locked"}')),
    ]
    events, _ = read(HEADER, message("a1", "gemini", 2, toolCalls=calls, tokens=TOKENS))
    ends = {event.call_id: event for event in events if event.event_type == "tool_result"}
    assert {name: end.status for name, end in ends.items()} == {
        "c1": "failed", "c2": "aborted", "c3": "aborted", "c4": "failed", "c5": "completed",
        "c6": "failed",
    }  # fmt: skip
    assert (ends["c1"].error_message, ends["c1"].error_class) == ("File not found: /x", "not_found")
    assert (ends["c4"].error_message, ends["c4"].metadata) == ("Exit Code: 2", {"exit_code": 2})
    assert ends["c6"].error_message == "locked"


def test_an_api_error_fails_the_run(read: Read) -> None:
    told = '{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}'
    text = f"[API Error: {told}]"
    events, _ = read(
        HEADER, message("u1", "user", 1, "hi"), message("e1", "error", 4, text),
        message("e1", "error", 4, text),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "gemini-cli", "started"),
        ("model_call", "gemini", "failed"),
        ("agent_end", "gemini-cli", "failed"),
    ]
    assert (events[1].error_message, events[1].http_status) == ("The model is overloaded.", 503)
    assert events[1].error_class == "overloaded"


@pytest.mark.parametrize(
    ("text", "error_class"),
    [
        ("Connection error: fetch failed", "connection"),
        ('{"error":{"code":503,"message":"Try later","status":"UNAVAILABLE"}}', "overloaded"),
        ("You have exhausted your capacity on this model.", "rate_limit"),
        (
            "[API Error: You have exhausted your capacity on this model. "
            "Your quota will reset after 5h2m.]",
            "quota",
        ),
        ("the answer broke off", "unknown"),
    ],
)
def test_an_error_instead_of_an_answer_is_a_failed_call_of_the_model(
    read: Read, text: str, error_class: str
) -> None:
    events, reader = read(
        HEADER,
        message("u1", "user", 1, "hi"),
        message("a1", "gemini", 2, "hello", tokens=TOKENS, model="gem-x"),
        message("u2", "user", 3, "go on"),
        message("i1", "info", 3, "Connection error: this is told and no failure"),
        message("w1", "warning", 3, "503: this neither"),
        message("e1", "error", 4, text),
    )
    assert shape(events)[3:] == [
        ("agent_start", "gemini-cli", "started"),
        ("model_call", "gemini", "failed"),
        ("agent_end", "gemini-cli", "failed"),
    ]
    assert {event.error_class for event in events[4:]} == {error_class}
    assert reader.skipped["notice"] == 2


def test_what_the_client_makes_of_a_command_is_no_failed_call(read: Read) -> None:
    events, reader = read(
        HEADER,
        message("u1", "user", 1, "/foo"),
        message("e1", "error", 1, "Unknown command: /foo"),
    )
    assert (events, reader.skipped["notice"]) == ([], 1)


def test_a_prompt_that_is_written_again_waits_for_no_second_answer(read: Read) -> None:
    events, _ = read(
        HEADER,
        message("u1", "user", 1, "hi"),
        message("a1", "gemini", 2, "hello", tokens=TOKENS, model="gem-x"),
        message("u1", "user", 1, "hi"),
        message("e1", "error", 4, "Unknown command: /foo"),
    )
    assert events[-1].status == "completed"


def test_an_error_of_the_interface_between_turns_says_nothing(read: Read) -> None:
    events, reader = read(HEADER, message("e1", "error", 4, "Unknown command: /foo"))
    assert events == []
    assert reader.skipped == {"session_header": 1, "notice": 1}


def test_a_cancelled_request_aborts_the_run(read: Read) -> None:
    events, _ = read(
        HEADER,
        message("a1", "gemini", 2, tokens=TOKENS, toolCalls=[call("c1", "executing", 2)]),
        message("i1", "info", 4, "Request cancelled."),
    )
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "aborted")


def test_the_turn_limit_and_a_loop_are_limits(read: Read) -> None:
    limit = "The session has reached the maximum number of turns: 5."
    events, _ = read(
        HEADER, message("a1", "gemini", 2, tokens=TOKENS), message("i1", "info", 3, limit)
    )
    assert shape(events)[-2:] == [
        ("audit", "turn_limit", "failed"), ("agent_end", "gemini-cli", "failed"),
    ]  # fmt: skip
    assert events[-1].error_message == limit
    assert events[-2].metadata == {"limit": 5}
    events, _ = read(HEADER, message("i1", "info", 3, "A potential loop was detected. Stopped."))
    assert shape(events)[1] == ("audit", "loop", "failed")


def test_a_whole_document_is_read_with_each_message_at_its_place(read: Read) -> None:
    document = {
        "sessionId": "chat-2", "projectHash": "abc",
        "messages": [
            message("u1", "user", 1, "do it"),
            message("a1", "gemini", 2, toolCalls=[call("c1", "success", 3)]),
            message("a2", "gemini", 4, "done"),
        ],
    }  # fmt: skip
    text = json.dumps(document, indent=2).encode()
    events, _ = read(text)
    assert shape(events) == [
        ("agent_start", "gemini-cli", "started"),
        ("model_call", "gemini", "completed"),
        ("tool_call", "run_shell_command", "started"),
        ("tool_result", "run_shell_command", "completed"),
        ("model_call", "gemini", "completed"),
        ("agent_end", "gemini-cli", "completed"),
    ]
    assert events[4].offset - 100_000 == text.rindex(b"{", 0, text.index(b'"a2"'))
    assert events[4].line == 1 + text[: events[4].offset - 100_000].count(b"\n")


def test_a_rewound_chat_is_only_a_change(read: Read) -> None:
    events, reader = read(HEADER, {"$rewindTo": "u1"})
    assert events == []
    assert reader.skipped == {"session_header": 1, "change": 1}


def test_the_words_of_other_layouts_are_not_taken(read: Read) -> None:
    _, reader = read(message("x", "error", 1, "boom"))
    assert "gemini_session" not in reader.formats


def test_the_state_survives_a_restart() -> None:
    decoder = SessionDecoder("s")
    answer = message("a1", "gemini", 2, toolCalls=[call("c1", "executing", 2)], tokens=TOKENS)
    decoder.decode(msgspec.json.encode(HEADER))
    decoder.decode(msgspec.json.encode(answer))
    restored = SessionDecoder("s")
    restored.state = msgspec.msgpack.decode(msgspec.msgpack.encode(decoder.state), type=GeminiState)
    answer["toolCalls"] = [call("c1", "success", 5)]
    events = restored.decode(msgspec.json.encode(answer))
    assert isinstance(events, list)
    assert [event.event_type for event in events] == ["tool_result"]
