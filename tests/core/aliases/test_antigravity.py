"""Antigravity's transcripts: planners, tool steps, errors told as text, background tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lastsignal.core.aliases.gemini.antigravity import AntigravityDecoder, AntigravityState
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def step(
    index: int, kind: str, status: str = "DONE", source: str = "MODEL", **fields: Any
) -> dict[str, Any]:
    return {
        "step_index": index, "source": source, "type": kind, "status": status,
        "created_at": f"2026-05-01T10:00:{index:02d}Z", **fields,
    }  # fmt: skip


def ran(index: int, body: str) -> str:
    return (
        f"Created At: 2026-05-01T10:00:{index:02d}Z\n"
        f"Completed At: 2026-05-01T10:00:{index + 1:02d}Z\n{body}"
    )


def plan(index: int, *tools: str, content: str = "") -> dict[str, Any]:
    calls = [{"name": tool, "args": {"path": f'"{tool}"'}} for tool in tools]
    return step(index, "PLANNER_RESPONSE", tool_calls=calls, content=content)


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_turn_is_a_run_and_the_steps_after_a_planner_are_its_calls(read: Read) -> None:
    events, reader = read(
        step(1, "USER_INPUT", source="USER_EXPLICIT", content="fix the 429 error"),
        plan(2, "list_dir", "run_command"),
        step(3, "LIST_DIRECTORY", content=ran(3, "Error: is only a file name")),
        step(4, "RUN_COMMAND", content=ran(4, "\tThe command completed successfully.")),
        plan(6, content="done"),
    )
    assert shape(events) == [
        ("agent_start", "antigravity", "started"),
        ("model_call", "antigravity", "completed"),
        ("tool_call", "list_dir", "started"),
        ("tool_call", "run_command", "started"),
        ("tool_result", "list_dir", "completed"),
        ("tool_result", "run_command", "completed"),
        ("model_call", "antigravity", "completed"),
        ("agent_end", "antigravity", "completed"),
    ]
    assert [event.call_id for event in events[2:6]] == ["3", "4", "3", "4"]
    assert events[2].arguments_hash != events[3].arguments_hash
    assert events[4].timestamp - events[2].timestamp == 2.0
    assert {event.trace_id for event in events} == {"trace.jsonl"}
    assert reader.skipped == {"message": 1}


def test_a_step_with_an_error_is_a_failed_call_and_the_run_goes_on(read: Read) -> None:
    text = "Encountered error in step execution: error executing cascade step: STEP_X: no such dir"
    events, _ = read(
        plan(1, "run_command"),
        step(2, "RUN_COMMAND", "ERROR", content=ran(2, text)),
        plan(4, content="it is gone"),
    )
    assert (events[3].status, events[3].error_message) == ("failed", "no such dir")
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "completed")


def test_a_command_that_exits_with_a_code_failed_though_its_step_is_done(read: Read) -> None:
    output = "\n\t\tThe command failed with exit code: 3\n\t\tOutput:\n\t\tboom"
    events, _ = read(plan(1, "run_command"), step(2, "RUN_COMMAND", content=ran(2, output)))
    assert (events[3].status, events[3].error_message) == ("failed", "Exit code: 3")
    assert events[3].metadata == {"exit_code": 3}


def test_a_call_that_could_not_be_read_failed_and_is_retried(read: Read) -> None:
    text = (
        "There was a problem parsing the tool call. \nError Message: model output error: "
        "invalid tool call error (invalid_args) start must be less than end \n"
        "Guidance: try again.\nRetries remaining: 3."
    )
    events, _ = read(
        plan(1, "view_file"),
        step(2, "ERROR_MESSAGE", source="SYSTEM", error=text, content=ran(2, f"Error {text}")),
        plan(3, "view_file"),
        step(4, "VIEW_FILE", content=ran(4, "text")),
        plan(6, content="done"),
    )
    failed, retry = events[3], events[4]
    assert (failed.event_type, failed.operation, failed.status, failed.call_id) == (
        "tool_result", "view_file", "failed", "2",
    )  # fmt: skip
    assert (failed.error_message, failed.error_type) == (
        "start must be less than end", "invalid_args",
    )  # fmt: skip
    assert (retry.event_type, retry.operation, retry.attempt) == ("retry", "view_file", 2)
    assert retry.metadata == {"max_attempts": 5}
    assert events[-1].status == "completed"


def test_a_run_without_retries_left_has_failed_of_what_it_was_retried_for(read: Read) -> None:
    text = "Agent execution terminated due to model provider overload. Retries remaining: {}"
    events, _ = read(
        *(
            step(n, "ERROR_MESSAGE", source="SYSTEM", content=text.format(2 - n))
            for n in range(3)
        )
    )  # fmt: skip
    assert [(event.event_type, event.status, event.attempt) for event in events[1:]] == [
        ("model_call", "failed", None), ("retry", "started", 3),
        ("model_call", "failed", None), ("retry", "started", 4),
        ("model_call", "failed", None), ("agent_end", "failed", None),
    ]  # fmt: skip
    assert {event.error_class for event in events[1:]} == {"overloaded"}


def test_a_denied_call_is_aborted(read: Read) -> None:
    text = "Error Message: tool call denied by the user"
    events, _ = read(plan(1, "write"), step(2, "ERROR_MESSAGE", source="SYSTEM", error=text))
    assert (events[3].event_type, events[3].status) == ("tool_result", "aborted")


def test_an_error_of_the_model_fails_the_run(read: Read) -> None:
    events, _ = read(
        plan(1, "list_dir"),
        step(2, "LIST_DIRECTORY", content=ran(2, "x")),
        step(4, "ERROR_MESSAGE", source="SYSTEM", content=ran(4, "HTTP 429: quota used up")),
    )
    assert shape(events)[-2:] == [
        ("model_call", "antigravity", "failed"), ("agent_end", "antigravity", "failed"),
    ]  # fmt: skip
    assert (events[-2].http_status, events[-2].error_class) == (429, "rate_limit")


def test_a_background_task_ends_its_call_once_unless_it_fails_later(read: Read) -> None:
    text = "Tool is running as a background task with task id: t/2"
    failed = step(
        2, "RUN_COMMAND", "ERROR", content=ran(2, "Encountered error in step execution: x")
    )
    events, reader = read(
        plan(1, "run_command"),
        step(2, "RUN_COMMAND", "RUNNING", content=ran(2, text)),
        step(2, "RUN_COMMAND", content=ran(2, "The command completed successfully.")),
        failed,
        failed,
    )
    assert shape(events)[3:] == [
        ("tool_result", "run_command", "completed"), ("tool_result", "run_command", "failed"),
    ]  # fmt: skip
    assert events[3].metadata == {"background": True}
    assert reader.skipped == {"repeated_step": 1, "repeated_record": 1}


def test_a_step_still_at_work_yields_nothing_yet(read: Read) -> None:
    events, reader = read(
        plan(1, "run_command"),
        step(2, "RUN_COMMAND", "RUNNING", content=ran(2, "half of the output")),
        step(3, "PLANNER_RESPONSE", "RUNNING"),
    )
    assert len(events) == 3
    assert reader.skipped == {"progress": 2}


def test_a_result_at_an_unexpected_index_ends_the_oldest_open_call(read: Read) -> None:
    events, _ = read(plan(1, "grep"), step(4, "GREP_SEARCH", content=ran(4, "found")))
    assert (events[3].call_id, events[3].operation) == ("2", "grep")


def test_a_checkpoint_is_a_compaction(read: Read) -> None:
    events, _ = read(step(9, "CHECKPOINT", source="SYSTEM", content="summary of errors"))
    assert shape(events) == [("audit", "compaction", "completed")]


def test_the_state_survives_a_restart() -> None:
    decoder = AntigravityDecoder("s")
    decoder.decode(msgspec.json.encode(plan(1, "grep")))
    restored = AntigravityDecoder("s")
    restored.state = msgspec.msgpack.decode(
        msgspec.msgpack.encode(decoder.state), type=AntigravityState
    )
    events = restored.decode(msgspec.json.encode(step(2, "GREP_SEARCH", content=ran(2, "x"))))
    assert isinstance(events, list)
    assert [event.operation for event in events] == ["grep"]
