"""What the notifier tells of itself: to logs and metrics, never to the rules."""

from __future__ import annotations


class Observer:
    """Called for everything that happens; does nothing. Errors given to it are redacted."""

    def sent(self, target: str, seconds: float) -> None:
        """Note that a message was delivered, and how long that took."""

    def failed(self, target: str, error: str) -> None:
        """Note that an attempt failed, or that the store could not say or keep something."""

    def retried(self, target: str, seconds: float) -> None:
        """Note that a failed message will be tried again, and after how long."""

    def suppressed(self, target: str, messages: int) -> None:
        """Note that messages were folded into a digest, since the target is too slow for them."""

    def dead(self, target: str, error: str) -> None:
        """Note that a message was given up."""

    def queue(self, target: str, depth: int, oldest_at: float | None) -> None:
        """Note how many messages wait, and since when (epoch seconds) the oldest does."""
