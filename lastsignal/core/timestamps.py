"""Times as frameworks write them → epoch seconds (float)."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import UNSET

from lastsignal.core.events import UNTIMED

# Any time that a real trace can carry: 1990 to 2100. What lies outside is a placeholder or damage
# (year 0, 9999, a counter), and would stall or jump every clock that it touched.
EARLIEST = 631152000.0
LATEST = 4102444800.0

_UNITS = (1.0, 1e3, 1e6, 1e9)  # seconds, milliseconds, microseconds, nanoseconds


def parse_timestamp(value: object) -> float | None:
    """Return epoch seconds for seconds, ms, µs, ns (numbers or digits) and ISO-8601, else None.

    A text without a zone counts as UTC: the host's zone is not in the trace, and the same file must
    give the same times everywhere. Times before 1990 or after 2100 are no times.
    """
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _from_number(value)


UNREADABLE = float("nan")
"""The time of a record that tells one which is none; told from UNTIMED by identity."""

_NO_TIME = (None, UNSET, "", 0, "<stripped>")  # the last where logs are made alike to be compared


def time_of(value: object) -> float:
    """Return a record's time in epoch seconds; NaN where it has none: UNTIMED, or UNREADABLE where
    something stands there."""
    seconds = parse_timestamp(value)
    if seconds is not None:
        return seconds
    return UNTIMED if value in _NO_TIME else UNREADABLE


def _from_number(value: float) -> float | None:
    if not 0 < value < 1e30:  # also bars NaN, and integers that no float can hold
        return None
    for unit in _UNITS:
        seconds = value / unit
        if EARLIEST <= seconds <= LATEST:
            return seconds
    return None


def _parse_text(text: str) -> float | None:
    text = text.strip()
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)  # of more than six digits it cuts off the rest
    except ValueError:
        try:
            return _from_number(float(text))
        except (ValueError, OverflowError):
            return None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    try:
        seconds = parsed.timestamp()
    except (OverflowError, ValueError):
        return None
    return seconds if EARLIEST <= seconds <= LATEST else None
