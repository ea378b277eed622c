"""Flat records: the published schema, read in one pass, and every name that custom loops use."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.aliases.flat import FlatDecoder
from lastsignal.core.aliases.flat_words import ALIASES, EVENT_WORDS
from lastsignal.core.aliases.native import NativeDecoder
from lastsignal.core.events import EVENT_TYPES, STATUSES, Event

Read = Callable[..., tuple[list[Event], Any]]

T0 = 1_780_000_000.0


def flat(**fields: Any) -> Event:
    """Return the event of a flat record."""
    decoded = FlatDecoder("x").decode(json.dumps({"event": "tool_end", **fields}).encode())
    assert isinstance(decoded, list)
    return decoded[0]


def events_of(decoder: FlatDecoder, **fields: Any) -> list[Event]:
    """Return the events of one more record of a source."""
    decoded = decoder.decode(json.dumps(fields).encode())
    assert isinstance(decoded, list)
    return decoded


def nested(path: str, value: Any) -> dict[str, Any]:
    """Return an object that holds a value at a dotted path."""
    for step in reversed(path.split(".")):
        value = {step: value}
    assert isinstance(value, dict)
    return value


TRACEBACK = "Traceback (most recent call last):"

SAYS: dict[str, tuple[Any, str, Any]] = {
    "timestamp": ("2026-05-28T20:26:40Z", "timestamp", T0),
    "trace_id": ("t-1", "trace_id", "t-1"),
    "operation": ("search", "operation", "search"),
    "model": ("m-1", "model", "m-1"),
    "status": ("cancelled", "status", "aborted"),
    "error_message": ("no such page", "error_message", "no such page"),
    "attempt": (2, "attempt", 2),
    "agent": ("scout", "agent", "scout"),
    "call_id": ("c-1", "call_id", "c-1"),
    "parent_id": ("p-1", "parent_id", "p-1"),
    "http_status": (503, "http_status", 503),
    "error_type": ("TimeoutError", "error_type", "TimeoutError"),
    "input_tokens": (20, "input_tokens", 20),
    "output_tokens": (5, "output_tokens", 5),
    "cost_usd": (0.25, "cost_usd", 0.25),
    "duration_seconds": (1.5, "duration_seconds", 1.5),
    "duration_ms": (1500, "duration_seconds", 1.5),
    "finish_reason": ("stop", "finish_reason", "stop"),
    "output": ({"error": "no such page"}, "error_message", "no such page"),
}
"""Field → a value, and what the event says then."""


@pytest.mark.parametrize(
    ("field", "alias"),
    [(field, alias) for field in SAYS for alias in ALIASES[field]],
    ids=lambda value: value,
)
def test_every_name_of_a_field_is_read(field: str, alias: str) -> None:
    written, name, expected = SAYS[field]

    assert getattr(flat(**nested(alias, written)), name) == expected
    assert getattr(flat(**{alias: written}), name) == expected


@pytest.mark.parametrize("alias", ALIASES["arguments"])
def test_arguments_are_hashed_wherever_they_stand(alias: str) -> None:
    one, same, other = ({"q": 1, "p": 2}, '{"p": 2, "q": 1}', {"q": 2})

    hashes = [flat(**nested(alias, value)).arguments_hash for value in (one, same, other)]

    assert hashes[0] == hashes[1]
    assert len({*hashes, None}) == 3


@pytest.mark.parametrize("alias", ALIASES["event_type"])
@pytest.mark.parametrize("word", ["tool_error", "Tool-Error", "tool.error", " TOOL ERROR "])
def test_every_spelling_of_what_happened_is_understood(alias: str, word: str) -> None:
    record = json.dumps({alias: word, "tool": "a"}).encode()

    decoded = FlatDecoder("x").decode(record)

    assert isinstance(decoded, list)
    assert (decoded[0].event_type, decoded[0].status) == ("tool_result", "failed")


def test_every_word_means_an_event_and_a_status_of_ours() -> None:
    assert {event_type for event_type, _ in EVENT_WORDS.values()} == set(EVENT_TYPES)
    assert {status for _, status in EVENT_WORDS.values() if status} == set(STATUSES)


def test_the_first_name_that_says_something_wins() -> None:
    assert flat(operation="", tool=None, tool_name="a", function="b").operation == "a"


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({}, None, None),
        ({"error": "boom"}, "failed", "boom"),
        ({"error": True}, "failed", "unspecified error"),
        ({"error": False}, None, None),
        ({"error": {"type": "X", "message": "boom"}}, "failed", "boom"),
        ({"status": "success", "error": ""}, "completed", None),
        ({"status": "success", "error": "boom"}, "completed", None),
        ({"status": "success", "output": "Error: no such page"}, "failed", "Error: no such page"),
        ({"status": "success", "output": "a page about errors"}, "completed", None),
        ({"output": TRACEBACK}, "failed", TRACEBACK),
        ({"status": "success", "output": TRACEBACK}, "completed", None),
        ({"status": "completed", "output": "RateLimitError: 429"}, "completed", None),
        ({"success": True, "output": TRACEBACK}, None, None),
        ({"is_error": False, "output": TRACEBACK}, None, None),
        ({"status": "success", "output": '{"error": "denied"}'}, "failed", "denied"),
        ({"status": "success", "output": "Exit code 2"}, "failed", "Exit code 2"),
        ({"output": '{"ok": false, "message": "denied"}'}, "failed", "denied"),
        ({"success": False}, "failed", None),
        ({"success": False, "output": "connection refused"}, "failed", "connection refused"),
        ({"is_error": True, "content": "no such host"}, "failed", "no such host"),
        ({"status": "success", "is_error": True}, "failed", None),
        ({"status": "success", "isError": False}, "completed", None),
        ({"ok": True}, None, None),
        ({"status": "cancelled", "success": False}, "aborted", None),
        ({"status": "STATUS_CODE_ERROR"}, "failed", None),
        ({"status": {"code": 2}}, "failed", None),
        ({"status": {"status_code": "OK"}}, "completed", None),
        ({"http_status": 429}, "failed", None),
        ({"status": "ok", "http_status": 404}, "completed", None),  # a page that is not there
        ({"error_type": "TimeoutError"}, "failed", None),
        ({"errorCode": "RESOURCE_EXHAUSTED"}, "failed", None),
        ({"exit_code": 1}, "failed", None),
        ({"exit_code": 0}, None, None),
        ({"exit_status": "exit_cost"}, "failed", None),
        ({"level": "ERROR"}, "failed", None),
        ({"level": "INFO"}, None, None),
        ({"error": "None"}, None, None),
        ({"error": "N/A"}, None, None),
        ({"error": 0}, None, None),
        ({"error": "no errors"}, None, None),
        ({"outcome": False}, "failed", None),
        ({"levelname": "ERROR", "message": "no such host"}, "failed", "no such host"),
        ({"levelno": 40}, "failed", None),
        ({"levelno": 30}, None, None),
        ({"level": 50, "err": {"type": "Error", "message": "boom"}}, "failed", "boom"),
        ({"level": 40, "msg": "slow"}, None, None),  # pino's warning
        ({"severity": "ERROR", "message": "boom"}, "failed", "boom"),
        ({"severity": 80}, None, None),
        ({"log_level": "critical", "exception": "ValueError: bad"}, "failed", "ValueError: bad"),
        ({"log.level": "error", "error.message": "bad"}, "failed", "bad"),
        ({"level": "ERROR", "thrown": {"name": "X", "message": "bad"}}, "failed", "bad"),
        (
            {"stack_trace": "java.io.IOException: gone\n\tat a.B"},
            "failed",
            "java.io.IOException: gone",
        ),
        ({"exc_info": f"{TRACEBACK}\nValueError: bad"}, "failed", "ValueError: bad"),
        ({"status": "error", "detail": "refused"}, "failed", "refused"),
        ({"status": "success", "message": "an error was found"}, "completed", None),
        ({"status": 503}, "failed", None),
    ],
)
def test_status_and_error_agree(
    fields: dict[str, Any], status: str | None, message: str | None
) -> None:
    event = flat(tool="a", **fields)

    assert (event.status, event.error_message) == (status, message)


def test_a_number_as_status_is_the_code_of_the_answer() -> None:
    assert flat(tool="a", status=429).http_status == 429
    assert flat(tool="a", status="429").http_status == 429
    assert flat(tool="a", error=503).http_status == 503


@pytest.mark.parametrize(
    ("told", "prices"),
    [
        ([0.01, 0.02, 0.03], [0.01, 0.01, 0.01]),
        ([0.01, 0.03, 0.03, 0.04], [0.01, 0.02, 0.0, 0.01]),  # one call was free
        ([0.01, 0.01, 0.01], [0.01, 0.01, 0.01]),
        ([0.01, 0.03, 0.02, 0.02], [0.01, 0.02, 0.03, 0.02]),  # prices after all: 0.08
    ],
)
def test_a_total_that_grows_within_a_run_is_told_once(
    told: list[float], prices: list[float]
) -> None:
    decoder = FlatDecoder("x")

    events = [
        event
        for total in told
        for run in ("a", "b")
        for event in events_of(decoder, event="llm_call", run_id=run, total_cost_usd=total)
    ]

    assert [event.cost_usd for event in events if event.trace_id == "a"] == prices
    assert [event.cost_usd for event in events if event.trace_id == "b"] == prices


def test_the_total_of_one_call_beside_its_parts_is_its_price() -> None:
    decoder, parts = FlatDecoder("x"), {"prompt_cost": 0.01, "total_cost": 0.02}

    events = [
        *events_of(decoder, event="llm_call", run_id="r", **parts),
        *events_of(decoder, event="llm_call", run_id="r", **parts | {"total_cost": 0.03}),
        *events_of(decoder, event="llm_call", run_id="r", cost_usd=0.04, total_cost=0.09),
        *events_of(decoder, event="run_end", run_id="r", total_cost=0.09),
    ]

    assert [event.cost_usd for event in events] == [0.02, 0.03, 0.04, 0.09]


@pytest.mark.parametrize(
    ("word", "limit"),
    [
        ("budget_exceeded", "budget"),
        ("max_iterations_reached", "turn_limit"),
        ("MaxTurnsExceeded", "turn_limit"),
        ("max-steps-reached", "step_limit"),
        ("time_limit_exceeded", "time_limit"),
    ],
)
def test_a_word_for_a_limit_that_was_met_names_the_limit(word: str, limit: str) -> None:
    (event,) = events_of(FlatDecoder("x"), event=word, limit=5)

    assert (event.event_type, event.operation, event.status) == ("audit", limit, "failed")
    assert (event.error_message, event.metadata) == (
        f"{limit.replace('_', ' ')} reached",
        {"limit": 5},
    )


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"limit": 5}, "failed"),
        ({"metadata": {"spent_usd": 8.5}}, "failed"),
        ({"max_turns": 30}, "failed"),
        ({"message": "stopped: the budget is used up"}, "failed"),
        ({"error": "limit exceeded"}, "failed"),
        ({"level": "error"}, "failed"),
        ({}, "completed"),
        ({"tool": "a", "status": "error", "error": "not found", "output": "x"}, "completed"),
        ({"model": "m", "max_tokens": 500}, "completed"),
        ({"limit": "none"}, "completed"),
    ],
)
def test_one_word_alone_is_no_limit_that_was_met(said: dict[str, Any], status: str) -> None:
    (event,) = events_of(FlatDecoder("x"), event="budget_exceeded", run_id="r", **said)

    assert (event.event_type, event.operation, event.status) == ("audit", "budget", status)


def test_what_was_spent_by_a_limit_is_not_spent_again() -> None:
    (event,) = events_of(FlatDecoder("x"), event="budget_exceeded", total_cost=8.0, limit=5)

    assert event.cost_usd is None
    assert event.metadata == {"total_cost_usd": 8.0, "limit": 5}


@pytest.mark.parametrize(
    ("word", "event_type", "status"),
    [
        ("ToolCall", "tool_call", "started"),
        ("toolResult", "tool_result", None),
        ("LLMCall", "model_call", None),
        ("AgentEnd", "agent_end", None),
        ("run_complete", "agent_end", None),
        ("run_error", "agent_end", "failed"),
        ("tool_retry", "retry", "started"),
        ("llm_retry", "retry", "started"),
    ],
)
def test_words_in_humps_and_of_retries_and_ends_are_understood(
    word: str, event_type: str, status: str | None
) -> None:
    (event,) = events_of(FlatDecoder("x"), eventType=word, tool="a")

    assert (event.event_type, event.status) == (event_type, status)


def test_what_has_no_field_of_its_own_is_kept_as_metadata() -> None:
    event = flat(tool="a", host="h", metadata={"region": "eu", "host": "m"})

    assert event.metadata == {"host": "m", "region": "eu"}


def test_amounts_that_cannot_be_are_no_amounts() -> None:
    event = flat(cost=-1, duration_ms=-5, prompt_tokens=-3, attempt=0, completion_tokens=1e30)

    assert (event.cost_usd, event.duration_seconds, event.attempt) == (None, None, None)
    assert (event.input_tokens, event.output_tokens) == (None, None)


def test_a_record_that_names_no_event_is_of_no_layout(read: Read) -> None:
    events, reader = read(
        {"event": "tool_end", "tool": "a"},
        {"event": "cache_warmed", "size": 3},
        {"event_type": "cache_warmed", "size": 3},
        {"event": "tool_end"},
    )

    assert [event.operation for event in events] == ["a", None]
    assert reader.skipped == {"unrecognised_record": 1, "unknown_event_type": 1}


def native(**fields: Any) -> dict[str, Any]:
    """Return a record of the published schema."""
    return {
        "timestamp": T0,
        "trace_id": "t",
        "event_type": "tool_result",
        "operation": "search",
        "status": "completed",
        "error_message": None,
        "attempt": 1,
        "metadata": {},
        **fields,
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"timestamp": "2026-05-28T20:26:40Z"},
        {"timestamp": T0 * 1000},
        {"operation": None, "tool": "search"},
        {"operation": None, "metadata": {"tool": "x"}, "tool_name": "search"},
        {"status": "SUCCESS"},
        {"attempt": "1"},
        {"trace_id": "t", "agent": ""},
        {"metadata": None},
    ],
)
def test_an_inexact_native_record_says_the_same_as_the_exact_one(fields: dict[str, Any]) -> None:
    exact = NativeDecoder("x").decode(json.dumps(native()).encode())
    inexact = NativeDecoder("x").decode(json.dumps(native(**fields)).encode())
    assert isinstance(exact, list) and isinstance(inexact, list)

    for name in ("timestamp", "trace_id", "event_type", "operation", "status", "attempt"):
        assert getattr(inexact[0], name) == getattr(exact[0], name)


def test_a_failure_names_its_code_and_its_type() -> None:
    record = native(
        status="failed",
        error_message="RateLimitError('slow down')",
        metadata={"status_code": 429},
    )
    (event,) = NativeDecoder("x").decode(json.dumps(record).encode())  # type: ignore[misc]  # events, no Drop

    assert (event.error_message, event.error_type, event.http_status) == (
        "slow down",
        "RateLimitError",
        429,
    )


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 20, "output_tokens": 5},
        {"prompt_tokens": 20, "completion_tokens": 5},
        {"usage": {"prompt_tokens": 20, "completion_tokens": 5}},
        {"usage": {"input_tokens": 20, "output_tokens": 5}},
        {"tokens": {"input": 20, "output": 5}},
    ],
)
def test_what_a_model_call_used_is_found_in_its_metadata(usage: dict[str, Any]) -> None:
    record = native(event_type="model_call", metadata={**usage, "model": "m", "cost_usd": 0.5})
    (event,) = NativeDecoder("x").decode(json.dumps(record).encode())  # type: ignore[misc]  # events, no Drop

    assert (event.input_tokens, event.output_tokens, event.model) == (20, 5, "m")
    assert event.cost_usd == 0.5
