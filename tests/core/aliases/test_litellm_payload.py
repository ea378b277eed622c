"""LiteLLM's standard logging payload: requests, failures, hidden retries, budgets, guardrails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
START = 1_772_600_760.25


def payload(status: str = "success", **fields: Any) -> dict[str, Any]:
    empty = {"error_code": "", "error_class": "", "error_message": "", "llm_provider": ""}
    return {
        "id": "r-1", "litellm_call_id": "call-1", "trace_id": "t-1", "call_type": "acompletion",
        "status": status, "startTime": START, "endTime": START + 1.5, "model": "model-x",
        "model_group": "fast", "custom_llm_provider": "acme", "prompt_tokens": 30,
        "completion_tokens": 6, "response_cost": 0.0125, "cache_hit": None, "error_str": None,
        "error_information": empty, "hidden_params": {}, "metadata": {},
        "messages": [{"role": "user", "content": "Error: 429"}], **fields,
    }  # fmt: skip


def failure(code: str, kind: str, text: str, **information: Any) -> dict[str, Any]:
    told = {"error_code": code, "error_class": kind, "error_message": text, **information}
    return payload(
        "failure", error_str=text, error_information=told, prompt_tokens=0, response_cost=0.0
    )


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_request_is_a_call_with_its_use(read: Read) -> None:
    events, _ = read(payload())
    assert shape(events) == [
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
    ]
    end = events[1]
    assert (end.input_tokens, end.output_tokens, end.cost_usd) == (30, 6, 0.0125)
    assert (events[0].timestamp, end.timestamp, end.duration_seconds) == (START, START + 1.5, 1.5)
    assert (end.trace_id, end.call_id, end.error_message) == ("t-1", "call-1", None)
    assert end.metadata == {"provider": "acme", "model_group": "fast", "call_type": "acompletion"}


def test_a_failure_gives_code_class_and_text(read: Read) -> None:
    events, _ = read(
        failure(
            "429", "RateLimitError", "litellm.RateLimitError: slow", error_rate_limit_category="v"
        ),
        failure(
            "400", "ContextWindowExceededError", "litellm.ContextWindowExceededError: too long"
        ),
        failure("408", "Timeout", "litellm.Timeout: too slow"),
    )
    failed = [event for event in events if event.status == "failed"]
    assert [(event.http_status, event.error_type, event.error_class) for event in failed] == [
        (429, "RateLimitError", "rate_limit"),
        (400, "ContextWindowExceededError", "context_length"),
        (408, "Timeout", "timeout"),
    ]
    assert failed[0].error_message == "litellm.RateLimitError: slow"
    assert (failed[0].metadata or {})["rate_limit_category"] == "v"  # type: ignore[call-overload, index]  # a dict here


def test_the_retries_inside_one_failure_are_in_its_text(read: Read) -> None:
    text = "litellm.APIError: down LiteLLM Retried: 2 times, LiteLLM Max Retries: 3"
    events, _ = read(failure("500", "APIError", text))
    assert shape(events) == [
        ("model_call", "model-x", "started"),
        ("retry", "model-x", "started"),
        ("retry", "model-x", "started"),
        ("model_call", "model-x", "failed"),
    ]
    assert [(retry.attempt, retry.http_status, retry.metadata) for retry in events[1:3]] == [
        (1, 500, {"max_attempts": 3}),
        (2, 500, {"max_attempts": 3}),
    ]


def test_of_very_many_retries_the_latest_are_told(read: Read) -> None:
    events, _ = read(failure("500", "APIError", "down LiteLLM Retried: 999999 times"))
    assert [event.attempt for event in events if event.event_type == "retry"] == [
        *range(999_950, 1_000_000)
    ]


def test_the_retries_before_a_success_are_in_a_header(read: Read) -> None:
    hidden = {"additional_headers": {"x-litellm-attempted-retries": 1}}
    events, _ = read(payload(hidden_params=hidden))
    assert [(event.event_type, event.attempt) for event in events] == [
        ("model_call", None),
        ("retry", 1),
        ("model_call", None),
    ]


def test_a_budget_is_an_audit_and_the_call_that_it_stops_is_aborted(read: Read) -> None:
    events, _ = read(
        failure(
            "400", "BudgetExceededError", "Budget has been exceeded! Current cost: 12.5",
            error_budget_entity_type="team", error_budget_limit=10.0, error_budget_spend=12.5,
        )
    )  # fmt: skip
    assert shape(events) == [
        ("model_call", "model-x", "started"),
        ("audit", "budget", "failed"),
        ("model_call", "model-x", "aborted"),
    ]
    assert events[1].metadata == {"entity": "team", "budget_limit": 10.0, "used": 12.5}
    assert events[1].error_class == "budget"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("400", "Budget has been exceeded! Current cost: 12.5, Max budget: 10.0"),
        ("429", "ExceededBudget: Crossed spend within team. Current cost: 12.5, Max budget: 10"),
    ],
)
def test_an_older_gateway_s_budget_is_known_by_its_exception_and_read_from_its_words(
    read: Read, code: str, text: str
) -> None:
    events, _ = read(failure(code, "BudgetExceededError", text))
    assert shape(events)[1:] == [
        ("audit", "budget", "failed"),
        ("model_call", "model-x", "aborted"),
    ]
    assert events[1].metadata == {"budget_limit": 10.0, "used": 12.5}


def test_a_guardrail_that_intervenes_is_an_audit(read: Read) -> None:
    events, _ = read(
        payload(
            status_fields={"llm_api_status": "success", "guardrail_status": "guardrail_intervened"},
            guardrail_information=[{"guardrail_name": "pii", "guardrail_status": "blocked"}],
        )
    )
    assert shape(events)[1] == ("audit", "guardrail", "failed")
    assert events[1].error_message == "guardrail intervened: pii"


def test_a_cached_answer_uses_no_tokens(read: Read) -> None:
    events, _ = read(payload(cache_hit=True, response_cost=0.0))
    assert (events[1].input_tokens, events[1].cost_usd) == (None, 0.0)


def test_a_tool_called_through_the_gateway_is_a_tool(read: Read) -> None:
    events, _ = read(
        payload(
            call_type="call_mcp_tool", model="MCP: search",
            metadata={"mcp_tool_call_metadata": {"name": "search"}}, litellm_call_id="",
        )
    )  # fmt: skip
    assert shape(events) == [
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
    ]
    assert events[0].call_id == "r-1"


def test_an_empty_trace_id_is_none(read: Read) -> None:
    events, _ = read(payload(trace_id="", session_id=""))
    assert {event.trace_id for event in events} == {"trace.jsonl"}
