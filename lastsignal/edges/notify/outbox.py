"""What a store gives to the notifier: messages that wait, in order, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Row(Protocol):
    """One notice on its way to one target."""

    @property
    def id(self) -> int:
        """Names the row as long as it waits."""

    @property
    def target(self) -> str:
        """The target's name."""

    @property
    def payload(self) -> bytes:
        """The notice, in MessagePack."""

    @property
    def attempts(self) -> int:
        """How often it was tried in vain."""

    @property
    def next_attempt_at(self) -> float:
        """Wall clock before which it is not tried again."""


class Outbox(Protocol):
    """Rows are seen once the commit that holds them is done; each method is one transaction.

    All raise LastSignalError where the store cannot be read or written: then they are tried again.
    """

    def pending(self, target: str, limit: int) -> Sequence[Row]:
        """Return what waits for a target, in the order in which it was put there."""

    def backlog(self, target: str) -> int:
        """Return how many rows wait for a target."""

    def sent(self, row_id: int) -> None:
        """Take a delivered notice out."""

    def retry(self, row_id: int, attempts: int, next_attempt_at: float, error: str) -> None:
        """Note a failed attempt and when to try again."""

    def dead(self, row_id: int, error: str) -> None:
        """Give a notice up; it stays visible as a dead letter."""

    def fold(self, row_ids: Sequence[int], payload: bytes) -> None:
        """Replace rows by one that stands where the first of them stood, with no attempts yet."""
