"""AG2's event log: turns, calls and results that come twice, usage that comes beside its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
T = 1780000000.5


def event(path: str, time: float = T, **data: Any) -> dict[str, Any]:
    return {"type": f"ag2.events.{path}", "data": {"created_at": time, **data}}


def within(path: str, **data: Any) -> dict[str, Any]:
    return {"__event__": f"ag2.events.{path}", **data}


def asked(time: float = T) -> dict[str, Any]:
    part = within("input_events.TextInput", content="Error: find out")
    return event("input_events.ModelRequest", time, parts=[part])


def usage(spent: int) -> dict[str, Any]:
    counts = {"prompt_tokens": float(spent), "completion_tokens": 7.0, "total_tokens": None}
    return {"__dataclass__": "ag2.events.types.Usage", "data": counts}


def answer(time: float, *calls: str, spent: int = 100) -> dict[str, Any]:
    held = [
        within("tool_events.ToolCallEvent", id=one, name="look", arguments="{}") for one in calls
    ]
    return event(
        "types.ModelResponse",
        time,
        message=None if calls else within("types.ModelMessage", content="Error: none found"),
        tool_calls=within("tool_events.ToolCallsEvent", calls=held),
        usage=usage(spent) if spent else None,
        model="small-1",
        finish_reason="tool_calls" if calls else "stop",
    )


def output(text: str) -> dict[str, Any]:
    part = within("input_events.TextInput", content=text)
    return {"__dataclass__": "ag2.events.tool_events.ToolResult", "data": {"parts": [part]}}


def result(call_id: str, text: str, time: float = T + 2) -> dict[str, Any]:
    return event(
        "tool_events.ToolResultEvent", time, parent_id=call_id, name="look", result=output(text)
    )


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(one.event_type, one.operation, one.status) for one in events]


def test_an_answer_without_calls_ends_the_turn_and_a_call_is_told_once(read: Read) -> None:
    call = event("tool_events.ToolCallEvent", T + 1, id="c1", name="look", arguments="{}")
    found = result("c1", "3 timeouts, Error: in the middle")
    again = {"__event__": found["type"], **found["data"]}
    events, reader = read(
        asked(),
        answer(T + 1, "c1"),
        call,
        found,
        event("tool_events.ToolResultsEvent", T + 2, results=[again]),
        answer(T + 3),
    )

    assert shape(events) == [
        ("agent_start", "agent", "started"),
        ("model_call", "small-1", "completed"),
        ("tool_call", "look", "started"),
        ("tool_result", "look", "completed"),
        ("model_call", "small-1", "completed"),
        ("agent_end", "agent", "completed"),
    ]
    assert (events[-1].timestamp, events[-1].duration_seconds) == (T + 3, 3.0)
    assert reader.skipped == {"repeated_call": 1, "repeated_result": 1}
    assert list(reader.formats) == ["ag2_events"]


@pytest.mark.parametrize("place", ["before", "before an answer without it", "behind"])
def test_usage_counts_once_wherever_its_own_event_stands(read: Read, place: str) -> None:
    own = event("types.UsageEvent", T + 1, usage=usage(100), kind="model_call", model="small-1")
    told = answer(T + 2, spent=0 if place.endswith("without it") else 100)
    pair = [told, own] if place == "behind" else [own, told]
    events, _ = read(asked(), *pair)

    assert [one.input_tokens for one in events] == [None, 100, None]


def test_usage_of_what_no_answer_tells_is_a_call_and_a_sub_agents_sum_is_none(read: Read) -> None:
    events, reader = read(
        event("types.UsageEvent", usage=usage(50), kind="compaction", model="small-1"),
        event("types.UsageEvent", usage=usage(70), kind="subtask", label="writer"),
    )

    assert [(one.event_type, one.input_tokens) for one in events] == [("model_call", 50)]
    assert reader.skipped == {"usage_sum": 1}


def test_a_tool_fails_by_its_exception_or_by_what_it_returns(read: Read) -> None:
    error = {"__exception__": "TimeoutError", "message": "no answer within 30 s"}
    events, _ = read(
        asked(),
        answer(T + 1, "c1", "c2"),
        event("tool_events.ToolErrorEvent", T + 2, parent_id="c1", name="look", error=error),
        result("c2", '{"error": "permission denied"}'),
    )

    failed = [one for one in events if one.status == "failed"]
    assert [(one.call_id, one.error_type, one.error_class) for one in failed] == [
        ("c1", "TimeoutError", "timeout"),
        ("c2", None, "permission"),
    ]


@pytest.mark.parametrize(
    ("name", "data", "status", "said"),
    [
        ("TaskCompleted", {"result": "Error"}, "completed", None),
        ("TaskFailed", {"error": {"__exception__": "KeyError", "message": "'x'"}}, "failed", "'x'"),
        ("TaskExpired", {}, "failed", "the task's time has run out"),
        ("TaskCancelled", {"reason": "not needed"}, "aborted", "not needed"),
    ],
)
def test_a_task_is_the_run_of_another_agent(
    read: Read, name: str, data: dict[str, Any], status: str, said: str | None
) -> None:
    about = {"task_id": "t1", "agent_name": "writer", "objective": "write"}
    events, _ = read(
        asked(),
        event("task_events.TaskStarted", T + 1, **about),
        event(f"task_events.{name}", T + 2, **about, **data),
    )

    assert shape(events)[1:] == [
        ("agent_start", "writer", "started"),
        ("agent_end", "writer", status),
    ]
    assert (events[2].call_id, events[2].parent_id) == ("t1", "turn")
    assert events[2].error_message == said


def test_a_halt_is_the_guardrails_word_and_fails_the_turn(read: Read) -> None:
    halt = event("alert.HaltEvent", T + 2, reason="FATAL: too costly", source="spend", alerts=[])
    events, _ = read(asked(), answer(T + 1, "c1"), halt, answer(T + 3, spent=0))

    assert shape(events)[3:] == [
        ("audit", "guardrail", "failed"),
        ("model_call", "small-1", "completed"),
        ("agent_end", "agent", "failed"),
    ]
    assert events[-1].error_message == "FATAL: too costly"
    assert events[3].metadata == {"guardrail": "spend"}


def test_the_segments_of_a_stream_are_one_trace() -> None:
    names = ("store/log/s-1.dropped-1.jsonl", "store/log/s-1.jsonl")
    line = b'{"type": "ag2.events.input_events.ModelRequest", "data": {"created_at": 1780000000.5}}'
    traces = [Reader(name, LADDER, 0.0).read([(line, 0, 1)])[0].trace_id for name in names]

    assert traces == ["s-1", "s-1"]


def test_events_of_the_program_are_none_of_an_agents(read: Read) -> None:
    own = {"type": "shop.events.BasketFilled", "data": {"created_at": T, "error": "none"}}
    events, reader = read(asked(), own)

    assert len(events) == 1
    assert reader.skipped == {"event_of_the_program": 1}


def test_a_wrapper_where_an_events_fields_belong_wraps_nothing(read: Read) -> None:
    events, reader = read(
        event("input_events.ModelRequest", **{"__exception__": "KeyError"}),
        event("types.ModelResponse", **{"__dataclass__": "ag2.x.Y", "data": {"model": "m"}}),
    )

    assert shape(events)[0] == ("agent_start", "agent", "started")
    assert list(reader.formats) == ["ag2_events"]
