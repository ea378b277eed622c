"""What a reader keeps over a restart."""

from __future__ import annotations

from msgspec import field

from lastsignal.core.aliases.reading.order import SavedOrder
from lastsignal.core.aliases.reading.repeats import SavedRepeats


class SavedReader(SavedOrder, kw_only=True):
    """The fields of a reader, and what its decoders remember."""

    records: int
    events: int
    skipped: dict[str, int]
    formats: list[str]
    clock: float
    ingest_time: float
    settled: str | None
    decoders: dict[str, bytes]
    is_mixed: bool = False
    mended: dict[str, int] = field(default_factory=dict)
    first_mended: dict[str, int] = field(default_factory=dict)
    met: int = 0
    lent: float = 0.0
    unnamed: dict[str, str] = field(default_factory=dict)
    unnamed_models: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, dict[str, bool]] = field(default_factory=dict)
    repeated: SavedRepeats = field(default_factory=SavedRepeats)
