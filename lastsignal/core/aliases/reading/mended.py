"""What is odd in records that were read all the same: counted by reason, with the first place."""

from __future__ import annotations


class Mended:
    """The counts of one source."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: dict[str, int] = {}
        """The line of the first one, by reason."""

    def add(self, reason: str, line: int) -> None:
        """Count one record."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.first.setdefault(reason, line)

    def take_back(self, reason: str) -> None:
        """Forget the record that was counted last: nothing could be read of it."""
        self.counts[reason] -= 1
        if not self.counts[reason]:
            del self.counts[reason], self.first[reason]
