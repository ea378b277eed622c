"""mini-swe-agent: version 2 with its extras, version 1 with texts, and how runs end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
START = 1_800_000_000.0


def answer(second: float, command: str, call_id: str | None = None) -> dict[str, Any]:
    action = {"command": command} | ({"tool_call_id": call_id} if call_id else {})
    response = {
        "usage": {"prompt_tokens": 100, "completion_tokens": 7},
        "choices": [{"finish_reason": "tool_calls"}],
    }
    extra = {"actions": [action], "response": response, "cost": 0.25, "timestamp": START + second}
    return {"role": "assistant", "content": "the server said: Error 429", "extra": extra}


def observation(second: float, code: int, output: str = "", **extra: Any) -> dict[str, Any]:
    fields = {"returncode": code, "raw_output": output, "timestamp": START + second, **extra}
    return {"role": "tool", "content": "…", "tool_call_id": extra.get("id"), "extra": fields}


def document(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    config = {
        "agent": {"step_limit": 3, "cost_limit": 2.0, "wall_time_limit_seconds": 60},
        "model": {"model_name": "provider/model-x"},
    }
    prompts = [{"role": "system", "content": "s"}, {"role": "user", "content": "do it"}]
    return {
        "info": {"mini_version": "2.4.6", "config": config, **info},
        "messages": [*prompts, *messages],
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "task-1",
    }


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_submitted_run_is_completed_though_a_command_failed_on_the_way(read: Read) -> None:
    done = {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}}
    events, reader = read(
        document(
            answer(1, "ls", "c1"),
            observation(2, 2, "ls: no such file", id="c1"),
            answer(3, "echo done", "c2"),
            done,
            exit_status="Submitted",
        )
    )
    assert shape(events) == [
        ("agent_start", "mini-swe-agent", "started"),
        ("model_call", "provider/model-x", "completed"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "failed"),
        ("model_call", "provider/model-x", "completed"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "completed"),
        ("agent_end", "mini-swe-agent", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens, events[1].cost_usd) == (100, 7, 0.25)
    assert events[2].arguments_hash == hash_arguments("ls")
    assert (events[3].error_message, events[3].error_class) == ("exit code 2", "tool_error")
    assert (events[3].call_id, events[3].metadata) == ("c1", {"exit_code": 2})
    assert (events[0].metadata, events[-1].duration_seconds) == ({"instance_id": "task-1"}, 2.0)
    assert list(reader.formats) == ["mini_swe_agent"]


def test_a_program_that_raised_is_a_failed_tool_with_the_last_line_of_its_traceback(
    read: Read,
) -> None:
    output = 'Traceback (most recent call last):\n  File "x.py", line 1\nTimeoutError: too slow\n'
    events, _ = read(document(answer(1, "python x.py"), observation(2, 1, output)))
    assert events[3].error_message == "TimeoutError: too slow"
    assert (events[3].error_type, events[3].error_class) == ("TimeoutError", "tool_error")


def test_a_command_that_timed_out_says_so_and_points_at_its_own_line(read: Read) -> None:
    late = observation(
        31, -1, exception_type="TimeoutExpired", exception="Command 'sleep' timed out after 30 s"
    )
    value = document(answer(1, "sleep 99"), late)
    data = json.dumps(value, indent=1).encode()
    events, _ = read(data)
    failed = events[3]
    assert (failed.status, failed.error_class) == ("failed", "timeout")
    assert failed.error_message == "Command 'sleep' timed out after 30 s"
    lines = data.decode().splitlines()
    assert lines[failed.line - 1].strip() == "{"
    assert lines[failed.line].strip() == '"role": "tool",'


def test_a_clock_that_runs_back_stands_still(read: Read) -> None:
    events, _ = read(
        document(answer(5, "a"), observation(9, 0), answer(1, "b"), observation(10, 0))
    )
    assert [event.timestamp - START for event in events] == [5, 5, 5, 9, 9, 9, 10]


def test_limits_are_told_apart_by_what_was_used(read: Read) -> None:
    stats = {"api_calls": 3, "instance_cost": 0.5}
    steps, _ = read(document(exit_status="LimitsExceeded", model_stats=stats))
    money, _ = read(
        document(exit_status="LimitsExceeded", model_stats={"api_calls": 1, "instance_cost": 2.5})
    )
    time, _ = read(document(exit_status="TimeExceeded", model_stats=stats))
    assert shape(steps)[1:] == [
        ("audit", "step_limit", "failed"),
        ("agent_end", "mini-swe-agent", "failed"),
    ]
    assert steps[1].metadata == {"limit": 3.0, "used": 3.0}
    assert (money[1].operation, money[1].metadata) == (
        "budget",
        {"budget_limit": 2.0, "total_cost_usd": 2.5},
    )
    assert (time[1].operation, time[1].metadata) == ("time_limit", {"limit": 60.0})


def test_an_exception_of_the_provider_is_a_failed_model_call(read: Read) -> None:
    text = "litellm.Timeout: Connection timed out after 600.0 seconds."
    events, _ = read(document(exit_status="Timeout", exception_str=text, traceback="…"))
    assert shape(events) == [
        ("agent_start", "mini-swe-agent", "started"),
        ("model_call", "provider/model-x", "failed"),
        ("agent_end", "mini-swe-agent", "failed"),
    ]
    assert (events[1].error_class, events[1].error_type) == ("timeout", "Timeout")
    assert events[1].error_message == text


def test_an_exception_of_anything_else_is_the_process_s(read: Read) -> None:
    frames = '  File "/x/minisweagent/environments/docker.py", line 9, in execute\n'
    events, _ = read(
        document(exit_status="CalledProcessError", exception_str="docker died", traceback=frames)
    )
    assert shape(events)[1:] == [
        ("process_error", "mini-swe-agent", "failed"),
        ("agent_end", "mini-swe-agent", "failed"),
    ]
    wrapped, _ = read(
        document(
            exit_status="MyError", exception_str="boom", traceback='File "/v/litellm/main.py"\n'
        )
    )
    assert wrapped[1].event_type == "model_call"


@pytest.mark.parametrize(
    ("status", "info", "crashed"),
    [
        ("SomethingNewError", {}, True),
        ("SystemExit", {}, True),
        ("Boom", {"traceback": "Traceback …"}, True),
        ("Boom", {"exception_str": "it broke"}, True),
        ("Boom", {}, False),
        ("Error", {}, False),
        ("ERROR", {}, False),
        ("STATUS_CODE_ERROR", {}, False),
        ("A", {}, False),
        ("boom", {}, False),
        ("-1", {}, False),
        ("2026-02-30", {}, False),
        (7, {}, False),
    ],
)
def test_a_word_that_is_no_exception_s_name_is_a_failure_and_no_crash(
    read: Read, status: Any, info: dict[str, Any], crashed: bool
) -> None:
    events, _ = read(document(exit_status=status, **info))
    assert ("process_error" in {event.event_type for event in events}) is crashed
    assert shape(events)[-1] == ("agent_end", "mini-swe-agent", "failed")


@pytest.mark.parametrize("status", ["TimeoutError", "LimitsExceeded", "context_length_exceeded"])
@pytest.mark.parametrize(
    ("last", "info"),
    [
        ({"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}}, {}),
        ({"role": "user", "content": "diff"}, {"submission": "diff"}),
    ],
)
def test_an_exit_that_the_last_message_contradicts_fails_the_run_and_names_no_cause(
    read: Read, status: str, last: dict[str, Any], info: dict[str, Any]
) -> None:
    events, _ = read(document(answer(1, "ls"), last, exit_status=status, **info))
    assert [event.event_type for event in events if event.status == "failed"] == ["agent_end"]
    assert (events[-1].error_message, events[-1].metadata) == (status, {"contradicted": True})

    other = {"role": "exit", "content": "", "extra": {"exit_status": status}}
    events, _ = read(document(answer(1, "ls"), other, exit_status=status, submission=""))
    assert events[-1].metadata is None


def test_answers_that_cannot_be_used_are_failed_calls_and_users_abort(read: Read) -> None:
    malformed = {
        "role": "user",
        "content": "Tool call error:\n<error>\nNo tool calls found.\n</error>",
        "extra": {"interrupt_type": "FormatError", "cost": 0.5, "timestamp": START + 1},
    }
    rejected = {
        "role": "user",
        "content": "Commands not executed.",
        "extra": {"interrupt_type": "UserRejection"},
    }
    events, _ = read(
        document(malformed, answer(2, "rm -r x", "c1"), rejected, exit_status="UserInterruption")
    )
    assert shape(events)[1:] == [
        ("model_call", "provider/model-x", "failed"),
        ("model_call", "provider/model-x", "completed"),
        ("tool_call", "bash", "started"),
        ("tool_result", "bash", "aborted"),
        ("agent_end", "mini-swe-agent", "aborted"),
    ]
    assert (events[1].error_message, events[1].error_class) == ("No tool calls found.", "schema")
    assert events[1].cost_usd == 0.5


def test_a_run_without_an_exit_status_has_not_ended(read: Read) -> None:
    events, _ = read(document(answer(1, "ls"), exit_status=""))
    assert [event.event_type for event in events] == ["agent_start", "model_call", "tool_call"]


def test_version_one_tells_commands_and_return_codes_in_its_texts(read: Read) -> None:
    def say(role: str, content: str, second: int) -> dict[str, Any]:
        return {"role": role, "content": content, "timestamp": START + second}

    killed = "timed out and has been killed."
    found_none = "in triple backticks, found 0 actions."
    value = {
        "info": {"mini_version": "1.17.5", "exit_status": "Submitted"},
        "trajectory_format": "mini-swe-agent-1",
        "messages": [
            say("system", "s", 0),
            say("user", "<returncode>9</returncode> in the task", 0),
            say("assistant", "I look.\n```bash\nmake\n```", 1),
            say("user", "<returncode>2</returncode>\n<output>\nmake: failed\n</output>", 2),
            say("assistant", "Again.\n```bash\nmake slow\n```", 3),
            say("user", f"The last command <command>make slow</command> {killed}", 4),
            say("assistant", "no command", 5),
            say("user", f"Please always provide EXACTLY ONE action {found_none}", 6),
            say("assistant", "```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```", 7),
            say("user", "diff --git a b", 8),
        ],
    }  # fmt: skip
    events, _ = read(value)
    assert [(e.event_type, e.status) for e in events] == [
        ("agent_start", "started"),
        ("model_call", "completed"),
        ("tool_call", "started"),
        ("tool_result", "failed"),
        ("model_call", "completed"),
        ("tool_call", "started"),
        ("tool_result", "failed"),
        ("model_call", "failed"),
        ("model_call", "completed"),
        ("tool_call", "started"),
        ("tool_result", "completed"),
        ("agent_end", "completed"),
    ]
    assert (events[3].error_message, events[6].error_class) == ("exit code 2", "timeout")
    assert events[7].error_type == "FormatError"


def test_a_run_begins_with_its_first_message_not_with_the_first_answer(read: Read) -> None:
    told = document(answer(9, "ls"), exit_status="Submitted")
    told["messages"][1]["extra"] = {"timestamp": START + 2}
    events, _ = read(told)
    assert (events[0].event_type, events[0].timestamp) == ("agent_start", START + 2)
    assert events[-1].duration_seconds == 7.0
