"""Chats as they were sent: OpenAI's and Anthropic's messages, commands in texts, tool notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_messages_of_openai_tell_their_calls(read: Read) -> None:
    function = {"name": "book", "arguments": '{"day": 1}'}
    old = {"role": "assistant", "content": None, "function_call": function}
    events, reader = read(
        {"role": "system", "content": "Error: never"},
        {"role": "user", "content": "Traceback (most recent call last): help"},
        {"role": "assistant", "content": "…", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"error": "full"}'},
        old,
        {"role": "function", "name": "book", "content": "ok"},
        {"role": "assistant", "content": "Error: I am sorry"},
    )
    assert shape(events) == [
        ("model_call", "model", "completed"),
        ("tool_call", "book", "started"),
        ("tool_result", None, "failed"),
        ("model_call", "model", "completed"),
        ("tool_call", "book", "started"),
        ("tool_result", "book", "completed"),
        ("model_call", "model", "completed"),
    ]
    assert events[1].arguments_hash == events[4].arguments_hash
    assert (events[2].call_id, events[2].error_message) == ("c1", "full")
    assert reader.skipped == {"message": 1, "user_input": 1}
    assert list(reader.formats) == ["chat_log"]


def test_messages_of_anthropic_tell_theirs_in_blocks(read: Read) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "book", "input": {"day": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no seats"}
    events, _ = read(
        {"role": "assistant", "content": [{"type": "text", "text": "x"}, use], "type": "message"},
        {"role": "user", "content": [result]},
    )
    assert shape(events) == [
        ("model_call", "model", "completed"),
        ("tool_call", "book", "started"),
        ("tool_result", None, "failed"),
    ]
    assert events[2].error_message == "no seats"


def test_commands_and_return_codes_may_stand_in_the_texts(read: Read) -> None:
    events, _ = read(
        {"role": "user", "content": "Please fix it"},
        {"role": "assistant", "content": "```bash\nmake\n```"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>\nno rule\n</output>"},
        {
            "role": "assistant",
            "content": "```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```",
        },
        {"role": "user", "content": "diff"},
    )
    assert shape(events) == [
        ("model_call", "model", "completed"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "failed"),
        ("model_call", "model", "completed"),
        ("agent_end", "assistant", "completed"),
    ]
    assert (events[2].error_message, events[2].metadata) == ("exit code 2", {"exit_code": 2})


def test_group_chats_name_their_speakers_and_their_terminal(read: Read) -> None:
    def says(name: str, content: str) -> dict[str, Any]:
        return {"role": "user", "name": name, "content": content}

    trace = "Traceback (most recent call last):\n  File 'a'\nKeyError: 'x'"
    failed = f"exitcode: 1 (execution failed)\nCode output: {trace}"
    events, reader = read(
        says("Expert", "Error: I think"),
        says("Computer_terminal", failed),
        says("Computer_terminal", "exitcode: 124 (execution failed)\nCode output: \nTimeout"),
        says("Computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 3"),
        says("Computer_terminal", "There is no code from the last 1 message for me to execute."),
    )
    assert shape(events) == [
        ("model_call", "Expert", "completed"),
        ("tool_result", "code_execution", "failed"),
        ("tool_result", "code_execution", "failed"),
        ("tool_result", "code_execution", "completed"),
    ]
    assert (events[1].error_message, events[1].error_class) == ("KeyError: 'x'", "tool_error")
    assert (events[2].error_message, events[2].error_class) == ("Timeout", "timeout")
    assert events[0].agent == "Expert"
    assert reader.skipped == {"no_code_to_run": 1}


def test_tasks_in_one_log_are_runs_of_their_own(read: Read) -> None:
    note = {"task_id": "b", "role": "user", "tool": {"tool": "query", "args": {"q": "x"}}}
    events, _ = read({"task_id": "a", "role": "assistant", "content": "hi"}, note)
    assert [(e.trace_id, e.event_type, e.operation) for e in events] == [
        ("trace.jsonl#a", "model_call", "model"),
        ("trace.jsonl#b", "tool_call", "query"),
        ("trace.jsonl#b", "tool_result", "query"),
    ]


def test_a_record_that_names_an_event_is_no_chat_message(read: Read) -> None:
    event = {"role": "user", "content": "x", "event": "tool_error", "tool": "search", "err": "boom"}
    events, reader = read(event)
    assert shape(events) == [("tool_result", "search", "failed")]
    assert list(reader.formats) == ["flat"]


def test_labels_of_failures_are_dropped_by_name(read: Read) -> None:
    label = {
        "trajectory_id": "1",
        "failures": [{"step_number": 2}],
        "root_cause": {},
        "failure_summary": "x",
    }
    events, reader = read(label)
    assert (events, reader.skipped) == ([], {"failure_label": 1})


def test_bedrock_s_blocks_among_chats_are_told_by_their_own_layout(read: Read) -> None:
    chat = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]

    def blocks(call: str) -> list[dict[str, Any]]:
        asked = {"toolUse": {"toolUseId": call, "name": "search", "input": {"q": "x"}}}
        failed = {"toolUseId": call, "status": "error", "content": [{"text": "timed out"}]}
        return [
            {"role": "user", "content": [{"text": "search x"}]},
            {"role": "assistant", "content": [asked]},
            {"role": "user", "content": [{"toolResult": failed}]},
        ]

    between = [*chat, *blocks("t1"), *chat]
    around = [*blocks("t1"), *chat, *blocks("t2")]
    for records, failures in ((between, 1), (around, 2)):
        events, reader = read(*records)
        assert set(reader.formats) == {"chat_log", "strands_session"}
        told = [event.error_class for event in events if event.event_type == "tool_result"]
        assert told == ["timeout"] * failures


def test_typed_blocks_stay_a_chat_s(read: Read) -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
    events, reader = read({"role": "user", "content": "hello"}, said, said)
    assert len(events) == 2
    assert list(reader.formats) == ["chat_log"]
