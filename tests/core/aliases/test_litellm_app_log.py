"""LiteLLM's JSON log: retries and exceptions among chatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def line(level: str, message: str, second: int = 1, **fields: Any) -> dict[str, Any]:
    time = f"2026-03-04T05:06:{second:02d}.250000"
    return {"message": message, "level": level, "timestamp": time, **fields}


FAILED = "litellm.acompletion(model=acme/model-x) Exception litellm.RateLimitError: Error code: 429"


def test_chatter_says_nothing_even_about_errors(read: Read) -> None:
    events, reader = read(
        line("INFO", "selected model; Error: 429 in the user's text"),
        line("DEBUG", "litellm.RateLimitError: quoted in a debug line"),
        line("ERROR", "could not write the spend log"),
    )
    assert (events, reader.skipped) == ([], {"log_line": 3})


def test_a_retry_names_its_delay(read: Read) -> None:
    events, _ = read(line("INFO", "Retrying request to /chat/completions in 0.75 seconds"))
    assert [(event.event_type, event.operation, event.status) for event in events] == [
        ("retry", "/chat/completions", "started")
    ]
    assert events[0].metadata == {"delay_seconds": 0.75}
    assert events[0].timestamp == 1772600761.25


def test_an_exception_is_told_once_while_it_travels_up(read: Read) -> None:
    events, reader = read(
        line("ERROR", FAILED),
        line("ERROR", "proxy: Exception occured - litellm.RateLimitError: Error code: 429", 2),
        line("ERROR", FAILED, 30, trace_id="t-1"),
    )
    assert [(event.event_type, event.operation, event.status) for event in events] == [
        ("model_call", "acme/model-x", "failed"),
        ("model_call", "acme/model-x", "failed"),
    ]
    assert (events[0].error_type, events[0].http_status) == ("RateLimitError", 429)
    assert [event.trace_id for event in events] == ["trace.jsonl", "t-1"]
    assert reader.skipped == {"repeated_error": 1}
