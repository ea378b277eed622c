"""When a record without a time of its own happened, as far as who wrapped its line tells."""

from __future__ import annotations

from lastsignal.core.framing.records import Record, Unwrapped
from lastsignal.core.timestamps import parse_timestamp

LEAST_ZONE = 1800.0
"""Seconds by which the clocks of two zones differ at least."""


def lent_time(record: Record, clock: float, lent: float) -> float | None:
    """Return the time at which a record's line was wrapped; None where it says nothing.

    Who wraps lines may live in another zone than a program that writes local times: beside times
    of the program's own his count only where the two clocks agree.

    Args:
        record: it has no time.
        clock: the highest time seen before it; 0.0 before the first.
        lent: what was returned last; 0.0 before the first.
    """
    if not isinstance(record, Unwrapped):
        return None
    time = parse_timestamp(record.ended_by.written)
    if time is None or not (clock in (0.0, lent) or 0.0 <= time - clock < LEAST_ZONE):
        return None
    return max(time, clock)  # the lines of two streams may pass each other
