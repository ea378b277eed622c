"""OpenHands' logs of model calls: answers, failures, and the folder that they share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
END = 1_800_000_010.0


def entry(**fields: Any) -> dict[str, Any]:
    prompts = [{"role": "user", "content": "Error 429"}]
    return {"messages": prompts, "kwargs": {}, "timestamp": END, "latency_sec": 4.0, **fields}


def test_an_answer_tells_start_end_and_what_it_used(read: Read) -> None:
    usage = {"prompt_tokens": 40, "completion_tokens": 5}
    response = {
        "id": "r1",
        "model": "litellm_proxy/model-x",
        "usage": usage,
        "choices": [{"finish_reason": "stop"}],
    }
    events, reader = read(entry(response=response, cost=0.25))
    assert [(e.event_type, e.operation, e.status, e.timestamp) for e in events] == [
        ("model_call", "model-x", "started", END - 4),
        ("model_call", "model-x", "completed", END),
    ]
    end = events[1]
    assert (end.input_tokens, end.output_tokens, end.cost_usd) == (40, 5, 0.25)
    assert (end.duration_seconds, end.finish_reason, end.call_id) == (4.0, "stop", "r1")
    assert list(reader.formats) == ["openhands_llm_log"]


def test_a_failed_call_is_named_by_its_file_and_joined_by_its_folder() -> None:
    place = "logs/completions/litellm_proxy__provider__model-x-1800000010.000-ab12-error.json"
    failed = entry(error={"type": "RateLimitError", "message": "slow down"}, cost=0.0)
    reader = Reader(place, LADDER, 1000.0)
    events = reader.read([(json.dumps(failed).encode(), 0, 1)])
    assert {event.trace_id for event in events} == {"logs/completions"}
    end = events[-1]
    assert (end.operation, end.status, end.error_class) == (
        "provider/model-x",
        "failed",
        "rate_limit",
    )


def test_a_call_that_was_answered_has_not_failed(read: Read) -> None:
    answered = {"id": "r1", "choices": [{"finish_reason": "stop"}]}
    for response, status in ((answered, "completed"), ({"id": "r1", "choices": []}, "failed")):
        events, _ = read(entry(response=response, error="RateLimitError: slow down"))
        assert events[-1].status == status
