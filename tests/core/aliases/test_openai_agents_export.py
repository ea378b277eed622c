"""OpenAI Agents traces gathered into one document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.core.aliases.contract import Drop, NotThisDialect
from lastsignal.core.aliases.openai_agents_export import DIALECT


def moment(seconds: int) -> str:
    return f"2025-10-09T08:00:{seconds:02}+00:00"


def span(
    number: int, parent: int | None, data: dict[str, Any], error: Any = None
) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": f"span_{number}",
        "trace_id": "trace_a",
        "parent_id": None if parent is None else f"span_{parent}",
        "started_at": moment(number),
        "ended_at": moment(30 - number),
        "span_data": data,
        "error": error,
    }


def document(error: Any = None) -> bytes:
    tool = span(2, 1, {"type": "function", "name": "lookup", "input": "{}"}, error)
    spans = [tool, span(1, None, {"type": "agent", "name": "Finder"})]
    trace = {"object": "trace", "id": "trace_a", "workflow_name": "Search", "spans": spans}
    return json.dumps({"traces": [trace], "count": 1}, indent=2).encode()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "completed"),
        ({"message": "Error running tool", "data": {"error": "too slow"}}, "failed"),
    ],
)
def test_a_gathered_trace_begins_with_its_first_span_and_tells_each_span(
    error: Any, status: str
) -> None:
    events = DIALECT.decoder("source").decode(document(error))
    assert isinstance(events, list)
    assert [(e.event_type, e.operation) for e in events[:3]] == [
        ("agent_start", "Search"),
        ("agent_start", "Finder"),
        ("tool_call", "lookup"),
    ]
    result = next(event for event in events if event.event_type == "tool_result")
    assert result.status == status
    assert events[0].timestamp == events[1].timestamp
    assert {event.trace_id for event in events} == {"trace_a"}


def test_each_event_points_at_its_own_span() -> None:
    record = document()
    events = DIALECT.decoder("source").decode(record)
    assert isinstance(events, list)
    result = next(event for event in events if event.event_type == "tool_result")
    assert json.JSONDecoder().raw_decode(record[result.offset :].decode())[0]["id"] == "span_2"


@pytest.mark.parametrize("value", [None, [], {}, {"traces": []}, {"traces": [{"spans": []}]}])
def test_other_documents_are_refused(value: Any) -> None:
    assert not DIALECT.recognise(value)
    with pytest.raises(NotThisDialect):
        DIALECT.decoder("source").decode(json.dumps(value).encode())


def test_a_document_of_useless_spans_is_dropped_for_a_named_reason() -> None:
    empty = {"traces": [{"object": "trace", "id": None, "spans": [5, {"object": "other"}]}]}
    decoder = DIALECT.decoder("source")
    assert decoder.decode(json.dumps(empty).encode()) == Drop("empty_document")
