"""Langfuse: exports of traces, pages, single observations; types, levels and attributes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def at(second: int) -> str:
    return f"2026-03-01T00:00:{second:02d}.000Z"


def observation(
    name: str, kind: str, begin: int, end: int | None, parent: str | None = "root", **fields: Any
) -> dict[str, Any]:
    return {
        "id": name,
        "traceId": "t1",
        "type": kind,
        "name": name,
        "parentObservationId": parent,
        "startTime": at(begin),
        "endTime": None if end is None else at(end),
        "level": "DEFAULT",
        "statusMessage": None,
        "usageDetails": {},
        "costDetails": {},
        "model": None,
        **fields,
    }


def export(*observations: dict[str, Any]) -> dict[str, Any]:
    return {"trace": {"id": "t1", "timestamp": at(0)}, "observations": list(observations)}


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


USED = {
    "model": "model-x",
    "usageDetails": {"input": 50, "output": 6, "total": 56},
    "costDetails": {"total": 0.25},
}


def test_a_models_call_around_others_and_a_tool_is_the_run(read: Read) -> None:
    for output in ('"found"', '"RateLimitError: 429 Too Many Requests"'):
        events, _ = read(
            export(
                observation("generate", "GENERATION", 0, 4, None, **USED),
                observation("ask", "GENERATION", 1, 2, "generate", **USED),
                observation("search", "TOOL", 3, 4, "generate", output=output),
            )
        )
        assert shape(events)[:3] == [
            ("agent_start", "generate", "started"),
            ("model_call", "model-x", "started"),
            ("model_call", "model-x", "completed"),
        ]
        assert shape(events)[-1] == ("agent_end", "generate", "completed")
        assert sum(event.input_tokens or 0 for event in events) == 50

    alone, _ = read(
        export(
            observation("generate", "GENERATION", 0, 4, None, **USED),
            observation("ask", "GENERATION", 1, 2, "generate", **USED),
        )
    )
    assert [event.event_type for event in alone] == ["model_call", "model_call"]


def test_a_healthy_export_in_any_order(read: Read) -> None:
    events, reader = read(
        export(
            observation("search", "TOOL", 3, 4, input='{"q": 1}', output='"found"'),
            observation("answer", "GENERATION", 1, 2, **USED, output="Error: said"),
            observation("root", "AGENT", 0, 9, None, **USED),
            observation("step", "SPAN", 1, 2),
            observation("note", "EVENT", 5, None, level="ERROR"),
        )
    )
    assert shape(events) == [
        ("agent_start", "root", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("agent_end", "root", "completed"),
    ]
    assert sum(event.input_tokens or 0 for event in events) == 50
    assert (events[2].cost_usd, events[2].call_id, events[2].parent_id) == (0.25, "answer", "root")
    assert list(reader.formats) == ["langfuse_trace"]


def test_a_level_of_error_is_a_failure_of_the_leaf_only(read: Read) -> None:
    words = {"level": "ERROR", "statusMessage": "RateLimitError: 429 slow down"}
    document = export(
        observation("root", "AGENT", 0, 9, None, **words),
        observation("chain", "CHAIN", 1, 8, **words),
        observation("answer", "GENERATION", 1, 2, "chain", **USED, **words),
    )
    data = json.dumps(document, indent=1).encode()
    events, _ = read(data)
    assert shape(events)[2:] == [
        ("model_call", "model-x", "failed"),
        ("agent_end", "root", "failed"),
    ]
    assert events[2].error_class == "rate_limit"
    assert '"id": "answer"' in data.decode().splitlines()[events[2].line]


def test_the_outermost_span_around_calls_is_the_run(read: Read) -> None:
    events, _ = read(
        export(
            observation("graph", "SPAN", 0, 9, None),
            observation("answer", "GENERATION", 1, 2, "graph", **USED),
        )
    )
    assert shape(events)[0] == ("agent_start", "graph", "started")


def test_attributes_of_opentelemetry_in_the_metadata_say_more(read: Read) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
    events, _ = read(
        export(
            observation(
                "execute_tool weather", "TOOL", 1, 2, None, metadata={"attributes": attributes}
            ),
            observation(
                "span",
                "SPAN",
                3,
                4,
                None,
                metadata=json.dumps(
                    {
                        "attributes": {
                            "gen_ai.operation.name": "invoke_agent",
                            "gen_ai.agent.name": "helper",
                        }
                    }
                ),
            ),
        )
    )
    assert shape(events) == [
        ("tool_call", "weather", "started"),
        ("tool_result", "weather", "completed"),
        ("agent_start", "helper", "started"),
        ("agent_end", "helper", "completed"),
    ]


def returned(status: str, content: str) -> str:
    message = {"type": "tool", "name": "search", "tool_call_id": "c1", "content": content}
    return json.dumps({**message, "status": status})


def test_a_plain_span_is_a_tool_where_its_message_or_its_attributes_say_so(read: Read) -> None:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
    events, _ = read(
        export(
            observation("Web", "SPAN", 1, 2, input='{"q": 1}', output=returned("success", "[]")),
            observation("w", "SPAN", 3, 4, metadata={"attributes": attributes}),
            observation("tools", "SPAN", 1, 5, output={"messages": [{"tool_call_id": "c1"}]}),
        )
    )
    assert shape(events) == [
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("tool_call", "weather", "started"),
        ("tool_result", "weather", "completed"),
    ]
    assert events[0].arguments_hash is not None


def test_the_message_that_a_plain_span_returned_tells_of_its_failure(read: Read) -> None:
    said = returned("error", "Error: TimeoutError('Read timed out')\n Please fix your mistakes.")
    events, _ = read(export(observation("search", "SPAN", 1, 2, output=said)))
    assert shape(events)[1:] == [("tool_result", "search", "failed")]
    assert (events[1].error_message, events[1].error_class) == ("Read timed out", "timeout")


def test_a_step_that_failed_within_a_run_is_no_crash_of_the_run(read: Read) -> None:
    words = {"level": "ERROR", "statusMessage": "TimeoutError('Read timed out')"}
    events, _ = read(
        export(
            observation("graph", "SPAN", 0, 9, None),
            observation("lookup", "SPAN", 1, 2, "graph", **words),
            observation("answer", "GENERATION", 3, 4, "graph", **USED),
        )
    )
    assert [event for event in shape(events) if event[2] == "failed"] == [
        ("tool_result", "lookup", "failed")
    ]
    assert shape(events)[-1] == ("agent_end", "graph", "completed")


def test_an_answer_whose_end_was_never_noted_has_still_ended(read: Read) -> None:
    answered = observation("a", "GENERATION", 1, None, None, **USED)
    waiting = observation("b", "GENERATION", 2, None, None, model="model-y")
    events, _ = read(export(answered, waiting))
    assert shape(events) == [
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("model_call", "model-y", "started"),
    ]


def test_observations_come_alone_or_in_pages_too(read: Read) -> None:
    one = observation("a", "GENERATION", 1, 2, None, **USED)
    alone, _ = read(one)
    page, _ = read({"data": [one], "meta": {"page": 1}})
    assert shape(alone) == shape(page)
    old = observation("a", "GENERATION", 1, 2, None, usage={"promptTokens": 4}, totalCost=0.5)
    events, _ = read(old)
    assert (events[1].input_tokens, events[1].cost_usd) == (4, 0.5)


@pytest.mark.parametrize(
    ("details", "asked", "answered"),
    [
        ({"input": 40, "output": 6, "total": 46}, 40, 6),
        (
            {
                "input": 40, "input_cached_tokens": 20, "cache_read_input_tokens": 900,
                "output": 6, "output_reasoning_tokens": 3, "total": 969,
            },
            960, 9,
        ),
        ({"input": 40, "input_cached_tokens": 20, "output": 6, "total": 46}, 40, 6),
        ({"cache_read_input_tokens": 900, "output": 6}, 900, 6),
    ],
)  # fmt: skip
def test_cached_and_thought_tokens_count_where_they_are_told_beside_the_others(
    read: Read, details: dict[str, int], asked: int, answered: int
) -> None:
    events, _ = read(export(observation("ask", "GENERATION", 0, 1, None, usageDetails=details)))
    assert (events[-1].input_tokens, events[-1].output_tokens) == (asked, answered)
