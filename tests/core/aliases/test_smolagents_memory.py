"""smolagents' memory: steps, errors of tools and of the model, the limit of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
START = 1_800_000_000.0
TASK = {"task": "Error: find x", "task_images": None}


def step(number: int, **fields: Any) -> dict[str, Any]:
    timing = {"start_time": START + number, "end_time": START + number + 0.5, "duration": 0.5}
    told = {
        "step_number": number,
        "timing": timing,
        "model_input_messages": [],
        "tool_calls": [],
        "error": None,
        "model_output_message": None,
        "model_output": "Error: I think",
        "token_usage": {"input_tokens": 20, "output_tokens": 2},
        "is_final_answer": False,
    }
    return told | fields


def call(name: str = "search") -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": {"q": 1}}}


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_steps_are_answers_with_their_calls_up_to_the_final_one(read: Read) -> None:
    plan = {"plan": "p", "model_input_messages": [], "timing": {"end_time": START + 1}}
    events, reader = read(
        {"system_prompt": "Error: never"},
        TASK,
        plan,
        step(2, tool_calls=[call()], observations="Error: said the page"),
        step(3, tool_calls=[call("final_answer")], is_final_answer=True),
    )
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model", "completed"),
        ("model_call", "model", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("model_call", "model", "completed"),
        ("tool_call", "final_answer", "started"),
        ("tool_result", "final_answer", "completed"),
        ("agent_end", "agent", "completed"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 40
    assert reader.skipped == {"prompt": 1, "task": 1}
    assert list(reader.formats) == ["smolagents_memory"]


def test_a_tool_that_raised_is_named_by_the_answer_or_by_the_error(read: Read) -> None:
    message = "Error executing tool 'search' with arguments {'q': 'timeout'}: ValueError: bad page"
    error = {"type": "AgentToolExecutionError", "message": message}
    answer = {"role": "assistant", "tool_calls": [call("browse")]}
    events, _ = read(TASK, step(1, error=error, model_output_message=answer))
    assert shape(events)[2:] == [
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
    ]
    assert (events[3].error_message, events[3].error_type) == ("bad page", "ValueError")
    assert (events[3].call_id, events[3].error_class) == ("c1", "tool_error")
    unknown = {
        "type": "AgentToolExecutionError",
        "message": "Unknown tool fly, should be one of: x.",
    }
    events, _ = read(TASK, step(1, error=unknown))
    assert (events[3].operation, events[3].error_class) == ("fly", "not_found")


def test_code_that_raised_is_the_interpreter_s_failure(read: Read) -> None:
    error = {"type": "AgentExecutionError", "message": "InterpreterError: name 'x' is not defined"}
    events, _ = read(TASK, step(1, tool_calls=[call("python_interpreter")], error=error))
    assert shape(events)[3:] == [("tool_result", "python_interpreter", "failed")]


def test_an_answer_that_cannot_be_parsed_is_a_failed_call_and_the_run_goes_on(read: Read) -> None:
    error = {"type": "AgentParsingError", "message": "no code found"}
    events, _ = read(TASK, step(1, error=error), step(2, is_final_answer=True))
    assert shape(events)[1:] == [
        ("model_call", "model", "failed"),
        ("model_call", "model", "completed"),
        ("agent_end", "agent", "completed"),
    ]
    assert events[1].error_class == "schema"


def test_an_error_of_the_model_s_service_ends_the_run(read: Read) -> None:
    message = "Error in generating model output:\nError code: 429 - slow down"
    error = {"type": "AgentGenerationError", "message": message}
    events, _ = read(TASK, step(1, error=error, model_output=None, token_usage=None))
    assert shape(events)[1:] == [
        ("model_call", "model", "failed"),
        ("agent_end", "agent", "failed"),
    ]


def test_a_step_that_holds_nothing_is_a_call_that_raised(read: Read) -> None:
    events, _ = read(TASK, step(1, model_output=None, token_usage=None))
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model", "failed"),
        ("agent_end", "agent", "failed"),
    ]


def test_the_limit_of_steps_is_an_audit(read: Read) -> None:
    error = {"type": "AgentMaxStepsError", "message": "Reached max steps."}
    events, _ = read(TASK, step(1, tool_calls=[call()]), step(2, error=error))
    assert shape(events)[-2:] == [
        ("audit", "step_limit", "failed"),
        ("agent_end", "agent", "failed"),
    ]
    assert events[-2].metadata == {"limit": 1}


def test_each_task_is_a_run_of_its_own(read: Read) -> None:
    events, _ = read(TASK, step(1, is_final_answer=True), TASK, step(2, is_final_answer=True))
    assert {event.trace_id for event in events} == {"trace.jsonl", "trace.jsonl#2"}


@pytest.mark.parametrize(
    "message",
    [
        "Error executing tool 'charts' with arguments {'q': 1}: TimeoutError: no answer",
        "Error when executing tool 'charts' with arguments {}: no answer",
        "Invalid call to tool 'charts' with arguments {}: q is missing",
        "Error in calling team member 'charts': no answer",
        "Unknown tool charts, should be one of: find",
    ],
)
def test_the_tool_that_failed_is_named_by_the_message(read: Read, message: str) -> None:
    error = {"type": "AgentToolExecutionError", "message": message}
    timing = {"start_time": 1.8e9, "end_time": 1.8e9 + 1, "duration": 1.0}
    told = {"step_number": 1, "timing": timing, "tool_calls": [], "is_final_answer": False}
    events, _ = read({"task": "x"}, {**told, "error": error})

    assert [e.operation for e in events if e.event_type == "tool_result"] == ["charts"]


def old_step(number: int, tool: str | None, **fields: Any) -> dict[str, Any]:
    """Return a step as versions up to 1.13 write it."""
    calls = [] if tool is None else [call(name=tool)]
    return {
        "model_input_messages": None, "tool_calls": calls, "start_time": 1.8e9 + number,
        "end_time": 1.8e9 + number + 0.5, "step": number, "error": None, "duration": 0.5,
        "model_output_message": None, "model_output": "x", "observations": "ok",
        "action_output": None, **fields,
    }  # fmt: skip


def test_steps_of_old_versions_have_their_times_beside_their_number(read: Read) -> None:
    error = {"type": "AgentExecutionError", "message": "timed out"}
    events, reader = read(
        TASK, old_step(1, "charts"), old_step(2, "charts", error=error), old_step(3, "final_answer")
    )
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "charts", "started"),
        ("tool_result", "charts", "completed"),
        ("model_call", "model", "completed"),
        ("tool_call", "charts", "started"),
        ("tool_result", "charts", "failed"),
        ("model_call", "model", "completed"),
        ("tool_call", "final_answer", "started"),
        ("tool_result", "final_answer", "completed"),
        ("agent_end", "agent", "completed"),
    ]
    assert events[6].error_class == "timeout"
    assert events[1].duration_seconds == 0.5
    assert reader.skipped == {"task": 1}


def test_each_step_of_an_old_agent_that_writes_code_may_have_ended_the_run(read: Read) -> None:
    events, _ = read(TASK, old_step(1, "python_interpreter"), old_step(2, "python_interpreter"))
    ends = [event.status for event in events if event.event_type == "agent_end"]
    assert ends == ["completed", "completed"]
