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
        (json.dumps({"type": "ValueError", "message": "x", "traceback": ""}), "half of it", True),
        ("it broke", "all of it", False),
        ("x", None, False),
        (True, None, False),
        ({"message": "it broke"}, None, False),
    ],
)
def test_an_exception_that_tells_of_nothing_or_comes_with_a_result_is_no_crash(
    read: Read, exception: Any, output: Any, crashed: bool
) -> None:
    ended = end("agent", 5, exception) | {"output": output}
    events, _ = read(start("agent", 0, None, "agent"), ended)
    crash = [("process_error", "agent", "failed")] if crashed else []
    assert shape(events)[1:] == [*crash, ("agent_end", "agent", "failed")]
