"""Weave's calls: whole, or start and end apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def at(second: int) -> str:
    return f"2026-03-01T00:00:{second:02d}Z"


def start(
    name: str, begin: int, parent: str | None = "agent", kind: str | None = None, **inputs: Any
) -> dict[str, Any]:
    return {
        "id": name,
        "project_id": "p",
        "op_name": f"weave:///team/project/op/{name}:abc123",
        "trace_id": "t1",
        "parent_id": parent,
        "started_at": at(begin),
        "attributes": {"weave": {"kind": kind}} if kind else {},
        "inputs": inputs,
    }


def end(name: str, second: int, exception: object = None, **summary: Any) -> dict[str, Any]:
    return {
        "id": name,
        "project_id": "p",
        "ended_at": at(second),
        "exception": exception,
        "output": "Error: said",
        "summary": summary,
    }


RAISED = json.dumps({"type": "ValueError", "message": "x", "traceback": ""})
USAGE = {"model-x": {"prompt_tokens": 6, "completion_tokens": 2, "requests": 1}}
COSTS = {
    "costs": {"model-x": {"prompt_tokens_total_cost": 0.5, "completion_tokens_total_cost": 0.25}}
}


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_start_and_its_end_are_told_once_each(read: Read) -> None:
    asked = {"model": "model-x", "messages": [{"role": "user", "content": "Error 429"}]}
    events, reader = read(
        start("agent", 0, None, "agent"),
        start("chat", 1, **asked),
        end("chat", 2, usage=USAGE, weave=COSTS),
        start("search", 3, kind="tool", q="x"),
        end("search", 4, json.dumps({"type": "TimeoutError", "message": "slow", "traceback": ""})),
        end("agent", 5, usage=USAGE),
        end("nobody", 6),
    )
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "failed"),
        ("agent_end", "agent", "completed"),
    ]
    assert (events[2].input_tokens, events[2].cost_usd) == (6, 0.75)
    assert (events[4].error_class, events[4].error_type) == ("timeout", "TimeoutError")
    assert sum(event.input_tokens or 0 for event in events) == 6
    assert reader.skipped == {"end_without_start": 1}
    assert list(reader.formats) == ["weave_calls"]


def test_whole_calls_tell_both_and_a_wrapper_only_passes_a_failure_on(read: Read) -> None:
    words = "RateLimitError: 429 slow down"
    whole = [
        start("chat", 1, model="model-x", messages=[]) | end("chat", 2, words, usage={}),
        start("step", 1) | end("step", 3, words),
        start("agent", 0, None, "agent") | end("agent", 4, words),
    ]
    events, _ = read(*whole)
    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "failed"),
        ("agent_end", "agent", "failed"),
    ]
    assert events[2].error_class == "rate_limit"


@pytest.mark.parametrize(
    ("exception", "output", "crashed"),
    [
        ("it broke", None, True),
        (RAISED, "half of it", True),
        ("it broke", "all of it", False),
        ("x", None, False),
        (True, None, False),
        ({"message": "it broke"}, None, False),
        ({"type": "ValueError", "message": "x"}, None, False),
    ],
)
def test_an_exception_that_tells_of_nothing_or_comes_with_a_result_is_no_crash(
    read: Read, exception: Any, output: Any, crashed: bool
) -> None:
    ended = end("agent", 5, exception) | {"output": output}
    events, _ = read(start("agent", 0, None, "agent"), ended)
    crash = [("process_error", "agent", "failed")] if crashed else []
    assert shape(events)[1:] == [*crash, ("agent_end", "agent", "failed")]


@pytest.mark.parametrize(
    ("summary", "crashed"),
    [
        ({}, True),
        ({"status_counts": {"success": 2, "error": 1}}, True),
        ({"weave": {"status": "error"}}, True),
        ({"status_counts": {"success": 3, "error": 0}}, False),
        ({"status_counts": {"success": 3}}, False),
        ({"weave": {"status": "success"}}, False),
    ],
)
def test_a_call_that_counts_no_failure_names_no_cause_for_one(
    read: Read, summary: dict[str, Any], crashed: bool
) -> None:
    events, _ = read(start("agent", 0, None, "agent"), end("agent", 5, RAISED, **summary))
    assert ("process_error" in [event.event_type for event in events]) is crashed
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "failed")
    assert bool((events[-1].metadata or {}).get("contradicted")) is not crashed


CLIENT_OPS = [
    "weave:///team/project/op/openai.chat.completions.create:v1",
    "anthropic.Messages.create",
    "litellm.acompletion",
    "google.genai.models.Models.generate_content",
]


def untyped(name: str, op: str, begin: int, parent: str | None, **inputs: Any) -> dict[str, Any]:
    return start(name, begin, parent, **inputs) | {"op_name": op}


@pytest.mark.parametrize("op", CLIENT_OPS)
@pytest.mark.parametrize("form", ["apart", "root first", "root last"])
def test_without_kinds_the_outermost_call_is_the_run_and_a_clients_op_a_model_call(
    read: Read, op: str, form: str
) -> None:
    run, ran = untyped("run", "work", 0, None), end("run", 5, usage=USAGE)
    call, called = untyped("chat", op, 1, "run", model="model-x"), end("chat", 2, usage=USAGE)
    records = {
        "apart": [run, call, called, ran],
        "root first": [run | ran, call | called],
        "root last": [call | called, run | ran],
    }
    events, reader = read(*records[form])
    assert sorted(shape(events)) == [
        ("agent_end", "work", "completed"),
        ("agent_start", "work", "started"),
        ("model_call", "model-x", "completed"),
        ("model_call", "model-x", "started"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 6
    assert not reader.skipped


@pytest.mark.parametrize("form", ["apart", "root first", "root last"])
def test_the_exception_of_a_model_call_is_no_crash_of_the_run_that_repeats_it(
    read: Read, form: str
) -> None:
    words = "RateLimitError: 429"
    run, ran = untyped("run", "work", 0, None), end("run", 5, words)
    call, called = untyped("chat", CLIENT_OPS[0], 1, "run"), end("chat", 2, words)
    ran["output"] = called["output"] = None
    records = {
        "apart": [run, call, called, ran],
        "root first": [run | ran, call | called],
        "root last": [call | called, run | ran],
    }
    events, _ = read(*records[form])
    failed = [event for event in events if event.status == "failed"]
    assert {event.event_type for event in failed} == {"model_call", "agent_end"}
    assert {event.error_class for event in failed} == {"rate_limit"}


def test_a_root_that_comes_first_and_counts_a_failure_below_leaves_the_cause_to_it(
    read: Read,
) -> None:
    words = "ValueError: no such row in the table"
    counted = {"success": 0, "error": 2}
    root = untyped("run", "work", 0, None) | end("run", 5, words, status_counts=counted)
    leaf = untyped("step", "look_up", 1, "run") | end("step", 2, words, status_counts={"error": 1})
    root["output"] = leaf["output"] = None
    events, _ = read(root, leaf)
    assert {(e.event_type, e.operation) for e in events if e.status == "failed"} == {
        ("agent_end", "work"),
        ("tool_result", "look_up"),
    }


@pytest.mark.parametrize(
    ("inputs", "counts", "is_call"),
    [
        ({"model": "model-x"}, {}, True),
        ({"model": "model-x"}, {"success": 2, "error": 0}, False),
        ({}, {"success": 1, "error": 0}, True),
        ({}, {}, False),
    ],
)
def test_a_step_that_used_tokens_by_itself_is_a_model_call(
    read: Read, inputs: dict[str, Any], counts: dict[str, int], is_call: bool
) -> None:
    events, _ = read(
        untyped("run", "work", 0, None),
        untyped("ask", "ask", 1, "run", **inputs),
        end("ask", 2, usage=USAGE, status_counts=counts),
        end("run", 5, usage=USAGE),
    )
    calls = [one for one in events if one.event_type == "model_call"]
    assert [(one.status, one.input_tokens) for one in calls] == (
        [("started", None), ("completed", 6)] if is_call else []
    )


def test_a_client_asked_for_embeddings_calls_no_model_for_an_answer(read: Read) -> None:
    events, _ = read(
        untyped("run", "work", 0, None),
        untyped("embed", "openai.embeddings.create", 1, "run"),
        end("embed", 2),
        end("run", 5),
    )
    assert {event.event_type for event in events} == {"agent_start", "agent_end"}


def test_a_cost_is_that_of_the_model_by_the_name_of_its_answer(read: Read) -> None:
    name = "model-x-2026-02-01"
    summary = {
        "usage": {name: USAGE["model-x"]},
        "weave": {"costs": {name: COSTS["costs"]["model-x"]}},
    }
    events, _ = read(
        {**start("agent", 0, None, "agent"), **end("agent", 5, **summary)},
        {**start("ask", 1, "agent", "llm", model="model-x"), **end("ask", 2, **summary)},
    )
    assert [(event.operation, event.cost_usd) for event in events if event.cost_usd] == [
        ("model-x", 0.75)
    ]
    assert sum(event.input_tokens or 0 for event in events) == 6
