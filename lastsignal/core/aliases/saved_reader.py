"""What a reader keeps over a restart."""

from __future__ import annotations

from typing import Any

import msgspec


class SavedReader(msgspec.Struct):
    """The fields of a reader, and what its decoders remember."""

    records: int
    events: int
    skipped: dict[str, int]
    formats: list[str]
    clock: float
    ingest_time: float
    disorder: float
    arrivals: int
    held: list[tuple[float, int, int, dict[str, Any]]]
    untimed: list[dict[str, Any]]
    awaits_time: bool
    settled: str | None
    decoders: dict[str, bytes]
    is_mixed: bool = False
