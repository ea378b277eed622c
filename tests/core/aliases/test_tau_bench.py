"""tau-bench: conversations with rewards, several in one source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def asks(call_id: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": "book", "arguments": f'{{"day": {arguments["day"]}}}'}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def answers(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": "book", "content": content}


def result(*messages: dict[str, Any], reward: float = 1.0, **fields: Any) -> dict[str, Any]:
    first = [{"role": "system", "content": "Error: policy"}, {"role": "user", "content": "Hi"}]
    told = {"task_id": 3, "trial": 0, "reward": reward, "info": {}, "traj": [*first, *messages]}
    return told | fields


def test_a_rewarded_conversation_succeeds_whatever_a_tool_said_on_the_way(read: Read) -> None:
    events, reader = read(
        result(
            asks("c1", day=1),
            answers("c1", "Error: no seats"),
            asks("c1", day=2),
            answers("c1", '{"status": "booked"}'),
            {"role": "assistant", "content": "Error: I apologise"},
        )
    )
    assert [(e.event_type, e.operation, e.status) for e in events] == [
        ("agent_start", "tau-bench", "started"),
        ("model_call", "model", "completed"),
        ("tool_call", "book", "started"),
        ("tool_result", "book", "failed"),
        ("model_call", "model", "completed"),
        ("tool_call", "book", "started"),
        ("tool_result", "book", "completed"),
        ("model_call", "model", "completed"),
        ("agent_end", "tau-bench", "completed"),
    ]
    assert events[3].error_message == "Error: no seats"
    assert events[2].arguments_hash != events[5].arguments_hash
    assert {event.trace_id for event in events} == {"trace.jsonl#task-3.0"}
    assert events[-1].metadata == {"reward": 1.0}
    assert list(reader.formats) == ["tau_bench"]


def test_a_reward_of_nothing_is_a_failed_run(read: Read) -> None:
    events, _ = read(result(reward=0.0))
    assert (events[-1].status, events[-1].error_message) == ("failed", "reward 0")


def test_results_in_one_source_are_runs_of_their_own(read: Read) -> None:
    events, _ = read(result(), result(trial=1, reward=0))
    assert [event.trace_id.rpartition("#")[2] for event in events] == [
        "task-3.0",
        "task-3.0",
        "task-3.1",
        "task-3.1",
    ]


def test_a_run_that_raised_holds_its_error_and_no_messages(read: Read) -> None:
    info = {"error": "litellm.RateLimitError: 429 slow down", "traceback": ""}
    events, _ = read(result(reward=0.0, info=info, traj=[]))
    assert [(e.event_type, e.status) for e in events] == [
        ("agent_start", "started"),
        ("model_call", "failed"),
        ("agent_end", "failed"),
    ]
    assert events[1].error_class == "rate_limit"


@pytest.mark.parametrize(
    ("reward", "error", "traceback", "crashed"),
    [
        (0.0, "'id'", "Traceback …", True),
        (0.0, "KeyError: 'user'", "", True),
        (None, "the server has gone", "", True),
        (1.0, "KeyError: 'user'", "Traceback …", False),
        (0.0, -1, "", False),
        (0.0, "x", "", False),
    ],
)
def test_an_error_that_says_nothing_or_comes_with_a_reward_is_no_crash(
    read: Read, reward: float | None, error: Any, traceback: str, crashed: bool
) -> None:
    events, _ = read(result(reward=reward, info={"error": error, "traceback": traceback}))
    assert (events[-2].event_type == "process_error") is crashed
    assert events[-1].status == "failed"
