"""Spans written for the tests, in the SDK's layout, and a reader for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.otel import sdk
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.events import Event

BASE = 1_760_000_000
TRACE = "5be1f0c3a4d2978611e0bb3c7d49a602"

Span = dict[str, Any]


def iso(seconds: float) -> str:
    text = datetime.fromtimestamp(BASE + seconds, tz=UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def make_span(name: str, number: int, parent: int | None = None, **given: Any) -> Span:
    """A span of the SDK's layout.

    Args:
        name: of the span.
        number: its id.
        parent: the parent's id.
        **given: `at` (seconds of start and end), `status`, `says` (its description), `raised`
            (type and message of a recorded exception), `events`, `trace`; all others are
            attributes, in whose names `__` stands for a dot.
    """
    start, end = given.pop("at", (0.0, 1.0))
    status = {"status_code": given.pop("status", "UNSET"), "description": given.pop("says", None)}
    events = given.pop("events", [])
    raised = given.pop("raised", None)
    if raised is not None:
        exception = {
            "exception.type": raised[0],
            "exception.message": raised[1],
            "exception.stacktrace": 'Traceback (most recent call last):\n  File "agent.py"',
        }
        noted = {"name": "exception", "timestamp": iso(end), "attributes": exception}
        events = [*events, noted]
    return {
        "name": name,
        "context": {
            "trace_id": f"0x{given.pop('trace', TRACE)}",
            "span_id": f"0x{number:016x}",
            "trace_state": "[]",
        },
        "kind": "SpanKind.INTERNAL",
        "parent_id": None if parent is None else f"0x{parent:016x}",
        "start_time": iso(start),
        "end_time": iso(end),
        "status": {key: value for key, value in status.items() if value is not None},
        "attributes": {key.replace("__", "."): value for key, value in given.items()},
        "events": events,
        "links": [],
        "resource": {"attributes": {"service.name": "triage"}, "schema_url": ""},
    }


def read_with(dialect: Dialect, records: list[bytes]) -> tuple[list[Event], dict[str, int]]:
    reader = Reader("trace.jsonl", (dialect,), 0.0)
    placed = []
    offset = 0
    for line, record in enumerate(records, 1):
        placed.append((record, offset, line))
        offset += len(record) + 1
    return [*reader.read(placed), *reader.finish()], reader.skipped


@pytest.fixture
def span() -> Callable[..., Span]:
    return make_span


@pytest.fixture
def read_records() -> Callable[[Dialect, list[bytes]], tuple[list[Event], dict[str, int]]]:
    return read_with


@pytest.fixture
def read() -> Callable[..., list[Event]]:
    """Reads spans, one a record, in the order given: children first, as exporters write them."""

    def read_spans(*spans: Span) -> list[Event]:
        return read_with(sdk.DIALECT, [json.dumps(one).encode() for one in spans])[0]

    return read_spans


@pytest.fixture
def failures() -> Callable[[list[Event]], list[tuple[str, str | None, str | None]]]:
    """What failed: type, operation and class of each failed event."""

    def failed(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
        return [
            (event.event_type, event.operation, event.error_class)
            for event in events
            if event.status == "failed"
        ]

    return failed
