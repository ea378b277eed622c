"""What became of one attempt to send a message."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Literal

import msgspec

LONGEST_RETRY_AFTER = 24 * 3600.0  # seconds; what asks for more is asked for again after a day
SLOW_DOWN = 30.0
"""Seconds to wait at least after "too many requests" without a word on how long: services have
cut off senders that tried again at once."""

_RETRYABLE = frozenset({408, 425, 429})


class Outcome(msgspec.Struct, frozen=True):
    """The result of an attempt."""

    kind: Literal["sent", "retry", "dead", "unknown"]
    """`dead`: trying again is of no use. `unknown`: it may have arrived."""
    error: str = ""
    retry_after: float | None = None
    """Seconds that the target asked for."""
    status: int | None = None
    """Of an HTTP response."""


SENT = Outcome("sent")


def outcome_of_status(status: int, error: str, retry_after: float | None = None) -> Outcome:
    """Return what an HTTP status means for a message."""
    if 200 <= status < 300:
        return Outcome("sent", status=status)
    if status >= 500 or status in _RETRYABLE:
        if status == 429 and retry_after is None:
            retry_after = SLOW_DOWN
        return Outcome("retry", error, retry_after, status)
    return Outcome("dead", error, None, status)


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a `Retry-After` header asks for: a number, or an HTTP date."""
    text = (value or "").strip()
    try:
        seconds = (
            float(text) if text[:1].isdigit() else parsedate_to_datetime(text).timestamp() - now
        )
    except (ValueError, OverflowError, IndexError):
        return None
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER)
