"""Calls that failed before anything named their model: the answer is known as the same call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.app import diagnoses
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.rules import Rule
from lastsignal.edges.rulefiles import load_rules


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules()


def claude(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    about = {"sessionId": "s-1", "isSidechain": False, "version": "2.0.45", "cwd": "/srv/p"}
    time = f"2026-03-01T10:00:{number:02d}.000Z"
    ids = {"uuid": f"u-{number}", "parentUuid": f"u-{number - 1}" if number > 1 else None}
    return {"type": kind, "timestamp": time, **about, **ids, **fields}


def refused(number: int, attempt: int) -> dict[str, Any]:
    error = {"status": 429, "error": {"error": {"type": "rate_limit_error", "message": "too fast"}}}
    tries = {"retryInMs": 1000.0, "retryAttempt": attempt, "maxRetries": 10}
    return claude(number, "system", subtype="api_error", level="error", error=error, **tries)


def answered(number: int, model: str = "claude-x-4") -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 4}
    text = [{"type": "text", "text": "done"}]
    message = {"model": model, "id": f"m-{number}", "role": "assistant", "content": text}
    return claude(
        number, "assistant", message={**message, "stop_reason": "end_turn", "usage": usage}
    )


def asked(number: int) -> dict[str, Any]:
    return claude(number, "user", message={"role": "user", "content": "go"})


def read(*records: dict[str, Any], cut: int | None = None) -> list[Event]:
    """Return the events of records; after `cut` of them the reader is restarted."""
    reader, events = Reader("a.jsonl", LADDER, 0.0), []
    for line, record in enumerate(records, 1):
        events += reader.read([(json.dumps(record).encode(), line * 1000, line)])
        if line == cut:
            saved, reader = reader.save(), Reader("a.jsonl", LADDER, 0.0)
            reader.restore(saved)
    return events + reader.finish()


def calls(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    named = [one for one in events if one.event_type in ("model_call", "retry")]
    return [(one.event_type, one.operation, one.model) for one in named]


@pytest.mark.parametrize("cut", [None, 2, 3])
def test_the_answer_is_known_as_what_was_refused_before_it(cut: int | None) -> None:
    events = read(
        asked(1), refused(2, 1), refused(3, 2), answered(5), asked(6), answered(7), cut=cut
    )

    assert calls(events) == [
        ("retry", "claude", None),
        ("retry", "claude", None),
        ("model_call", "claude", "claude-x-4"),
        ("model_call", "claude-x-4", "claude-x-4"),
    ]


def test_a_limit_that_a_session_began_with_and_got_over_is_a_hint(rules: list[Rule]) -> None:
    engine = Engine(rules)
    engine.feed(read(asked(1), refused(2, 1), refused(4, 2), refused(8, 3), answered(20)))
    engine.finish()
    (trace,) = diagnoses(engine)

    assert trace.outcome == "recovered"
    found = {finding.rule: finding.severity for finding in trace.findings()}
    assert found["rate_limit_exhausted"] == "info"
    assert set(found.values()) == {"info"}


def test_another_agents_answer_is_another_call() -> None:
    other = answered(4) | {"isSidechain": True, "agentId": "a1b2c3"}
    events = read(asked(1), refused(2, 1), other, answered(6))

    assert [operation for _, operation, _ in calls(events)] == ["claude", "claude-x-4", "claude"]


def test_an_error_that_names_no_model_is_over_with_the_next_answer(rules: list[Rule]) -> None:
    header = {"sessionId": "g-1", "projectHash": "p", "startTime": "2026-03-01T10:00:00Z"}
    limit = (
        '[API Error: {"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]'
    )
    events: list[Event] = []
    reader = Reader("session-1.jsonl", LADDER, 0.0)
    for number, message in enumerate(
        [
            header | {"kind": "main"},
            {"id": "u1", "timestamp": "2026-03-01T10:00:01Z", "type": "user", "content": "hi"},
            {"id": "e1", "timestamp": "2026-03-01T10:00:05Z", "type": "error", "content": limit},
            {"id": "e2", "timestamp": "2026-03-01T10:00:15Z", "type": "error", "content": limit},
            {"id": "u2", "timestamp": "2026-03-01T10:00:30Z", "type": "user", "content": "again"},
            {
                "id": "g1",
                "timestamp": "2026-03-01T10:00:35Z",
                "type": "gemini",
                "content": "hello",
                "model": "gemini-x",
                "tokens": {"input": 5, "output": 2},
            },
        ],
        1,
    ):
        events += reader.read([(json.dumps(message).encode(), number * 1000, number)])
    events += reader.finish()
    engine = Engine(rules)
    engine.feed(events)
    engine.finish()
    (trace,) = diagnoses(engine)

    assert trace.outcome == "recovered"
    assert {finding.severity for finding in trace.findings()} == {"info"}
