"""Entries of a DSPy language model's history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def test_an_entry_is_the_end_of_a_model_call(read: Read) -> None:
    entry = {
        "uuid": "u1",
        "model": "provider/model-x",
        "timestamp": "2026-03-01T00:00:00",
        "messages": [{"role": "user", "content": "Error 429"}],
        "outputs": ["Error: said"],
        "usage": {"prompt_tokens": 7, "completion_tokens": 1},
        "cost": 0.5,
    }
    events, reader = read(entry)
    assert [(e.event_type, e.operation, e.status) for e in events] == [
        ("model_call", "provider/model-x", "completed")
    ]
    assert (events[0].input_tokens, events[0].cost_usd, events[0].call_id) == (7, 0.5, "u1")
    assert list(reader.formats) == ["dspy_history"]
