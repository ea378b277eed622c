"""Strands sessions: messages alone, in files of their own, and the files beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(call_id: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": "search", "input": {"q": "x"}}}


def result(call_id: str, words: str, status: str = "success") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "status": status, "content": [{"text": words}]}}


def stored(number: int, message: dict[str, Any]) -> dict[str, Any]:
    time = f"2026-03-01T00:00:{number:02d}+00:00"
    return {"message": message, "message_id": number, "redact_message": None, "created_at": time}


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_turn_opens_with_the_user_and_closes_with_the_last_answer(read: Read) -> None:
    events, reader = read(
        user({"text": "Error: find x"}),
        assistant({"text": "Error: I look"}, use("t1")),
        user(result("t1", "TimeoutError: slow", "error")),
        assistant(use("t2")),
        user(result("t2", '{"error": "hidden"}')),
        assistant({"text": "done"}),
    )
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", None, "failed"),
        ("model_call", "model", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", None, "failed"),
        ("model_call", "model", "completed"),
        ("agent_end", "agent", "completed"),
    ]
    assert (events[3].call_id, events[3].error_class) == ("t1", "timeout")
    assert events[6].error_message == "hidden"
    assert list(reader.formats) == ["strands_session"]


def test_a_prompt_without_an_answer_is_a_run_that_never_ended(read: Read) -> None:
    events, _ = read(user({"text": "hi"}))
    assert shape(events) == [("agent_start", "agent", "started")]


def test_messages_in_files_of_their_own_meet_in_their_session() -> None:
    folder = "/data/session_abc/agents/agent_helper"
    told: list[Event] = []
    for number, message in enumerate([user({"text": "hi"}), assistant({"text": "done"})]):
        reader = Reader(f"{folder}/messages/message_{number}.json", LADDER, 1000.0)
        told += reader.read([(json.dumps(stored(number, message)).encode(), 0, 1)])
    assert {(event.trace_id, event.agent) for event in told} == {("abc", "helper")}
    assert told[-1].event_type == "agent_end"
    assert told[-1].timestamp - told[0].timestamp == 1.0


def test_the_files_of_session_and_agent_are_headers(read: Read) -> None:
    session = {"session_id": "abc", "session_type": "AGENT", "created_at": "2026-03-01T00:00:00Z"}
    agent = {"agent_id": "helper", "state": {}, "conversation_manager_state": {}}
    events, reader = read(session, agent)
    assert (events, reader.skipped) == ([], {"session_header": 2})
