"""What framing could not use: counted by reason, with a few samples for the log."""

from __future__ import annotations

from typing import NamedTuple

SAMPLE_BYTES = 80
"""As much of a skipped piece as a log line shows."""

_KEPT_SAMPLES = 20  # until drained: a binary file must not become a log of its own


class Skip(NamedTuple):
    """One skipped piece: where it begins, and its first bytes."""

    reason: str
    line: int
    offset: int
    data: bytes


class Skips:
    """Counts of skipped pieces by reason, and the first of them since the last drain."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._samples: list[Skip] = []

    def add(self, reason: str, line: int, offset: int, data: bytes) -> None:
        """Count one piece."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        if len(self._samples) < _KEPT_SAMPLES:
            self._samples.append(Skip(reason, line, offset, data[:SAMPLE_BYTES].rstrip()))

    def drain(self) -> list[Skip]:
        """Return the samples gathered since the last call."""
        samples, self._samples = self._samples, []
        return samples
