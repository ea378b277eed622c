"""Sessions of coding assistants one behind the other in a file: the next shows that one is over."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lastsignal.app import diagnose
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.events import LEFT_OFF
from lastsignal.core.framing import Framer
from lastsignal.edges.inputs import FileSource
from lastsignal.edges.rulefiles import load_rules

Session = list[Any]
_BEGAN = 1_760_000_000
_USAGE = {"input_tokens": 7, "output_tokens": 3}
_TOKENS = {"input": 7, "output": 3, "total": 10}


def iso(seconds: int) -> str:
    return datetime.fromtimestamp(_BEGAN + seconds, tz=UTC).isoformat().replace("+00:00", "Z")


def claude(name: str, at: int) -> Session:
    def line(number: int, kind: str, **message: Any) -> dict[str, Any]:
        return {
            "type": kind, "sessionId": name, "uuid": f"{name}-{number}", "parentUuid": None,
            "timestamp": iso(at + number), "isSidechain": False, "message": message,
        }  # fmt: skip

    call = {"type": "tool_use", "id": f"call-{name}", "name": "Bash", "input": {"command": "make"}}
    done = {"type": "tool_result", "tool_use_id": f"call-{name}", "content": "ok"}
    said = {"type": "text", "text": "done"}
    return [
        line(1, "assistant", id=f"{name}1", model="s", stop_reason="tool_use", content=[call]),
        line(2, "user", role="user", content=[done]),
        line(3, "assistant", id=f"{name}2", model="s", stop_reason="end_turn", content=[said]),
    ]


def codex(name: str, at: int) -> Session:
    def line(second: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": iso(at + second), "type": kind, "payload": payload}

    call = {"type": "function_call", "name": "shell", "call_id": name, "arguments": "{}"}
    return [
        line(0, "session_meta", id=name, cwd="/srv", cli_version="1"),
        line(1, "event_msg", type="task_started", turn_id="1"),
        line(2, "response_item", **call),
        line(3, "response_item", type="function_call_output", call_id=name, output="ok"),
        line(4, "event_msg", type="task_complete", turn_id="1", last_agent_message="done"),
    ]


def gemini(name: str, at: int) -> Session:
    def answer(number: int, content: str, *calls: Any) -> dict[str, Any]:
        return {
            "id": f"{name}{number}", "timestamp": iso(at + number), "type": "gemini", "model": "g",
            "content": content, "tokens": _TOKENS, "toolCalls": list(calls),
        }  # fmt: skip

    call = {"id": f"call-{name}", "name": "run_shell_command", "args": {}, "timestamp": iso(at + 1)}
    return [
        {"sessionId": name, "projectHash": "ab", "startTime": iso(at), "kind": "main"},
        answer(1, "", call | {"status": "executing"}),
        answer(1, "", call | {"status": "success"}),
        answer(2, "done"),
    ]


def gemini_stream(name: str, at: int) -> Session:
    tool = {"tool_id": name, "tool_name": "read_file", "parameters": {}}
    return [
        {"type": "init", "timestamp": iso(at), "session_id": name, "model": "g"},
        {"type": "tool_use", "timestamp": iso(at + 1), **tool},
        {"type": "tool_result", "timestamp": iso(at + 2), "tool_id": name, "status": "success"},
        {"type": "result", "timestamp": iso(at + 3), "status": "success", "stats": {"turns": 1}},
    ]


def qwen(name: str, at: int) -> Session:
    def line(number: int, kind: str, *parts: Any) -> dict[str, Any]:
        return {
            "sessionId": name, "uuid": f"{name}{number}", "timestamp": iso(at + number),
            "type": kind, "model": "q", "message": {"parts": list(parts)},
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
        }  # fmt: skip

    tool = {"id": name, "name": "run_shell_command"}
    return [
        line(1, "assistant", {"functionCall": tool | {"args": {}}}),
        line(2, "tool_result", {"functionResponse": tool | {"response": {"output": "ok"}}}),
        line(3, "assistant", {"text": "done"}),
    ]


def pi(name: str, at: int) -> Session:
    def line(number: int, **message: Any) -> dict[str, Any]:
        return {
            "type": "message", "id": f"{name}{number}", "parentId": None,
            "timestamp": iso(at + number), "message": message,
        }  # fmt: skip

    call = {"type": "toolCall", "id": name, "name": "bash", "arguments": {}}
    said = {"type": "text", "text": "done"}
    return [
        {"type": "session", "version": 3, "id": name, "timestamp": iso(at), "cwd": "/srv"},
        line(1, role="assistant", model="m", stopReason="toolUse", content=[call], usage=_USAGE),
        line(2, role="toolResult", toolCallId=name, toolName="bash", content=[], isError=False),
        line(3, role="assistant", model="m", stopReason="stop", content=[said], usage=_USAGE),
    ]


def opencode_run(name: str, at: int) -> Session:
    def line(second: int, kind: str, **part: Any) -> dict[str, Any]:
        time = (_BEGAN + at + second) * 1000
        return {"type": kind, "timestamp": time, "sessionID": name, "part": part}

    tool = {"type": "tool", "id": f"{name}t", "tool": "bash", "callID": name}
    return [
        line(0, "step_start", type="step-start", id=f"{name}s"),
        line(1, "tool_use", state={"status": "running", "input": {}}, **tool),
        line(2, "tool_use", state={"status": "completed", "input": {}, "output": "ok"}, **tool),
        line(3, "step_finish", type="step-finish", id=f"{name}f", reason="stop", cost=0),
    ]


ASSISTANTS: dict[str, tuple[Callable[[str, int], Session], int]] = {
    "claude": (claude, 1),
    "codex": (codex, 3),
    "gemini": (gemini, 2),
    "gemini stream": (gemini_stream, 2),
    "qwen": (qwen, 1),
    "pi": (pi, 2),
    "opencode run": (opencode_run, 2),
}
"""How each writes a session, and after how many records it is in the middle of a call."""


def written(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def diagnosed(folder: Path, *records: Any) -> list[Diagnosis]:
    path = folder / "joined.jsonl"
    path.write_bytes(written(*records))
    return diagnose([FileSource(path, "joined.jsonl")], load_rules()).traces


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_a_session_that_was_cut_does_not_hang_because_another_one_follows(
    assistant: str, tmp_path: Path
) -> None:
    session, cut = ASSISTANTS[assistant]
    (alone,) = diagnosed(tmp_path, *session("one", 0)[:cut])
    assert (alone.outcome, alone.findings()) == ("unfinished", [])

    joined = diagnosed(tmp_path, *session("one", 0)[:cut], *session("two", 90_000))
    assert joined[0] == alone
    assert [one.outcome for one in joined] == ["unfinished", "succeeded"]


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_a_call_that_hangs_in_the_session_itself_is_found(assistant: str, tmp_path: Path) -> None:
    session, cut = ASSISTANTS[assistant]
    late = session("one", 7200)
    (trace,) = diagnosed(tmp_path, *session("one", 0)[:cut], *late[cut:])
    assert [one.rule for one in trace.findings()] == ["session_call_hangs"]


def test_who_goes_on_with_a_session_that_was_left_may_hang_again(tmp_path: Path) -> None:
    records = [*claude("one", 0)[:1], *claude("two", 90_000)]
    call = {"type": "tool_use", "id": "again", "name": "Bash", "input": {"command": "test"}}
    later, latest = claude("one", 100_000)[0], claude("three", 200_000)
    later |= {"uuid": "again", "message": {"id": "m9", "model": "s", "content": [call]}}
    answers = claude("two", 190_000)
    traces = diagnosed(tmp_path, *records, later, *answers, *latest)
    found = {one.trace_id: [finding.rule for finding in one.findings()] for one in traces}
    assert found == {"one": ["session_call_hangs"], "two": [], "three": []}


def test_it_is_told_once_also_over_a_restart() -> None:
    records = Framer().feed(written(*claude("one", 0)[:1], *claude("two", 90_000)))
    whole = Reader("joined.jsonl", LADDER, 0.0).read(records)
    assert [
        (event.trace_id, event.timestamp - _BEGAN) for event in whole if event.operation == LEFT_OFF
    ] == [("one", 1)]
    first = Reader("joined.jsonl", LADDER, 0.0)
    begun = first.read(records[:1])
    second = Reader("joined.jsonl", LADDER, 0.0)
    second.restore(first.save())
    assert [*begun, *second.read(records[1:])] == whole
