"""LlamaIndex's instrumentation: spans that end, spans that are dropped one around the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
UUID = "0f0e0d0c-1111-2222-3333-444455556666"
CHAT = f"OpenAI.chat-{UUID}"
QUERY = f"QueryEngine.query-{UUID}"


def event(name: str, second: int, span: str = CHAT, **fields: Any) -> dict[str, Any]:
    time = f"2026-03-01T00:00:{second:02d}"
    return {
        "class_name": name,
        "id_": f"id{second}",
        "span_id": span,
        "timestamp": time,
        "tags": {},
        **fields,
    }


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_query_with_a_model_call_inside(read: Read) -> None:
    raw = {"raw": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}}
    events, reader = read(
        event("QueryStartEvent", 0, QUERY, query="Error: why"),
        event("LLMChatStartEvent", 1, model_dict={"model": "model-x"}),
        event("LLMChatInProgressEvent", 2),
        event("LLMChatEndEvent", 3, response=raw),
        event("SynthesizeStartEvent", 4, QUERY),
        event("QueryEndEvent", 5, QUERY),
    )
    assert shape(events) == [
        ("agent_start", "QueryEngine.query", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("agent_end", "QueryEngine.query", "completed"),
    ]
    assert (events[2].input_tokens, events[2].output_tokens, events[2].call_id) == (9, 2, CHAT)
    assert reader.skipped == {"stream_chunk": 1, "other_event": 1}
    assert list(reader.formats) == ["llamaindex_events"]


def test_one_failure_drops_every_span_around_it_and_is_told_once(read: Read) -> None:
    words = "Error code: 429 - slow down"
    events, reader = read(
        event("QueryStartEvent", 0, QUERY),
        event("LLMChatStartEvent", 1, model_dict={"model_name": "unknown"}),
        event("SpanDropEvent", 2, err_str=words),
        event("SpanDropEvent", 3, f"Synthesizer.run-{UUID}", err_str=words),
        event("SpanDropEvent", 4, QUERY, err_str=words),
    )
    assert shape(events)[2:] == [
        ("model_call", "OpenAI.chat", "failed"),
        ("agent_end", "QueryEngine.query", "failed"),
    ]
    assert (events[2].http_status, events[2].error_class) == (429, "rate_limit")
    assert reader.skipped == {"passed_on_error": 1}


@pytest.mark.parametrize("kind", ["SpanDropEvent", "ExceptionEvent", "StreamChatErrorEvent"])
def test_an_error_that_is_not_written_ends_its_run_and_no_more(read: Read, kind: str) -> None:
    events, _ = read(event("QueryStartEvent", 0, QUERY), event(kind, 1, QUERY))
    assert shape(events)[1:] == [("agent_end", "QueryEngine.query", "failed")]
    alone, _ = read(event(kind, 1, QUERY))
    assert alone == []


def test_a_failure_outside_any_known_call_is_the_process_s(read: Read) -> None:
    events, _ = read(event("ExceptionEvent", 1, f"Workflow.run-{UUID}", exception="KeyError('x')"))
    assert shape(events) == [("process_error", "Workflow.run", "failed")]


@pytest.mark.parametrize(
    ("kind", "exception"),
    [
        ("ExceptionEvent", "RateLimitError('Error code: 429')"),
        ("StreamChatErrorEvent", "RateLimitError 429"),
        ("StreamChatErrorEvent", "the stream broke off"),
    ],
)
def test_a_failure_of_the_model_outside_any_known_call_is_a_failed_call(
    read: Read, kind: str, exception: str
) -> None:
    events, _ = read(event(kind, 1, f"OpenAI.stream_chat-{UUID}", exception=exception))
    assert shape(events) == [("model_call", "OpenAI.stream_chat", "failed")]
    assert events[0].error_class == ("rate_limit" if "429" in exception else "unknown")


def test_tools_and_retrievals_are_calls(read: Read) -> None:
    retriever = f"Retriever.retrieve-{UUID}"
    events, _ = read(
        event("AgentToolCallEvent", 1, tool={"name": "add"}, arguments='{"a": 1}'),
        event("RetrievalStartEvent", 2, retriever),
        event("RetrievalEndEvent", 3, retriever),
    )
    assert shape(events) == [
        ("tool_call", "add", "started"),
        ("tool_call", "Retriever.retrieve", "started"),
        ("tool_result", "Retriever.retrieve", "completed"),
    ]
