"""Reads records through the whole ladder, as a source would."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

SOURCE = "trace.jsonl"
Read = Callable[..., tuple[list[Event], Reader]]


def _read(*records: dict[str, Any] | bytes) -> tuple[list[Event], Reader]:
    reader = Reader(SOURCE, LADDER, 1000.0)
    events: list[Event] = []
    for number, record in enumerate(records, 1):
        data = record if isinstance(record, bytes) else json.dumps(record).encode()
        events += reader.read([(data, number * 100_000, number)])
    return events + reader.finish(), reader


@pytest.fixture
def read() -> Read:
    """Return a function from records to (events in order of time, the reader)."""
    return _read
