"""How long to wait after a failure."""

from __future__ import annotations

from collections.abc import Callable

from lastsignal.edges.notify.targets import Retries

MAX_DOUBLINGS = 32


class Patience:
    """Twice as long with each failure, with chance, so that senders do not come all at once.

    Args:
        retries: the first wait and the longest one.
        jitter: gives a number from 0 to 1.
    """

    def __init__(self, retries: Retries, jitter: Callable[[], float]) -> None:
        self._retries = retries
        self._jitter = jitter

    def delay(self, attempts: int, retry_after: float | None = None) -> float:
        """Return the seconds until the next attempt, never less than the target asked for."""
        doublings = min(attempts - 1, MAX_DOUBLINGS)
        wait = min(self._retries.cap, self._retries.base * 2.0**doublings)
        wait *= 0.5 + 0.5 * self._jitter()
        return max(wait, retry_after or 0.0)
