"""MLflow: traces with their info, artifacts with spans alone, values that are JSON in a text."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
START = 1_800_000_000_000_000_000


def base64_id(number: int) -> str:
    return b64encode(number.to_bytes(8, "big")).decode()


def span(
    number: int,
    kind: str,
    begin: int,
    end: int,
    parent: int | None = 1,
    error: str | None = None,
    **attributes: Any,
) -> dict[str, Any]:
    told = {"spanType": kind, "spanInputs": {"q": 1}, **attributes}
    status = {"code": "STATUS_CODE_OK", "message": ""}
    if error:
        status = {"code": "STATUS_CODE_ERROR", "message": error}
    return {
        "trace_id": "AAAAAAAAAAAAAAAAAAAAAQ==",
        "span_id": base64_id(number),
        "parent_span_id": base64_id(parent) if parent else None,
        "name": f"{kind.lower()}-{number}",
        "start_time_unix_nano": START + begin * 10**9,
        "end_time_unix_nano": START + end * 10**9,
        "status": status,
        "attributes": {f"mlflow.{name}": json.dumps(value) for name, value in told.items()},
        "events": [],
    }


def trace(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"info": {"trace_id": "tr-1", "state": "OK"}, "data": {"spans": list(spans)}}


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_healthy_trace_with_tokens_and_a_handled_tool_error(read: Read) -> None:
    usage = {"chat.tokenUsage": {"input_tokens": 8, "output_tokens": 2}, "llm.model": "model-x"}
    events, reader = read(
        trace(
            span(1, "AGENT", 0, 9, None),
            span(2, "CHAT_MODEL", 1, 2, **usage),
            span(3, "TOOL", 3, 4, spanOutputs={"error": "no page"}),
            span(4, "UNKNOWN", 4, 5),
        )
    )
    assert shape(events) == [
        ("agent_start", "agent-1", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "tool-3", "started"),
        ("tool_result", "tool-3", "failed"),
        ("agent_end", "agent-1", "completed"),
    ]
    assert (events[2].input_tokens, events[2].output_tokens) == (8, 2)
    assert events[4].error_message == "no page"
    assert {event.trace_id for event in events} == {"tr-1"}
    assert {event.framework for event in events} == {"mlflow"}
    assert list(reader.formats) == ["mlflow_trace"]


def test_attempts_that_failed_are_retries_and_the_agent_only_passes_the_failure_on(
    read: Read,
) -> None:
    words = "RateLimitError: Error code: 429 - slow down"
    document = trace(
        span(1, "AGENT", 0, 9, None, error=words),
        span(2, "LLM", 1, 2, error=words),
        span(3, "LLM", 3, 4, error=words),
    )
    data = json.dumps(document, indent=1).encode()
    events, _ = read(data)
    assert shape(events)[1:] == [
        ("model_call", "llm-2", "started"),
        ("model_call", "llm-2", "failed"),
        ("retry", "llm-3", "started"),
        ("model_call", "llm-3", "started"),
        ("model_call", "llm-3", "failed"),
        ("agent_end", "agent-1", "failed"),
    ]
    assert (events[2].error_class, events[3].attempt) == ("rate_limit", 1)
    assert '"name": "llm-2"' in data.decode().splitlines()[events[2].line + 3]


def test_an_artifact_has_the_spans_alone(read: Read) -> None:
    spans = [
        span(1, "AGENT", 0, 3, None, traceRequestId="tr-9"),
        span(2, "TOOL", 1, 2, traceRequestId="tr-9"),
    ]
    events, reader = read({"spans": spans})
    assert [event.trace_id for event in events] == ["tr-9"] * 4
    assert list(reader.formats) == ["mlflow_trace"]
