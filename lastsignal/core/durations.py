"""Lengths of time as people write them: `90s`, `5m`, `1h30m`, `250ms`, or plain seconds."""

from __future__ import annotations

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Duration(float):
    """A length of time in seconds."""

    __slots__ = ()


def parse_duration(value: object) -> Duration:
    """Return the duration.

    Raises:
        ValueError: it is no number of seconds and no text such as `5m`.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 0 <= value < float("inf"):
            return Duration(value)
        raise ValueError(f"a duration cannot be {value!r}")
    text = str(value).strip()
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"`{value}` is no duration; write e.g. 30s, 5m or 1h30m")
    return Duration(sum(float(number) * _SECONDS[unit] for number, unit in parts))


def show_duration(seconds: float) -> str:
    """Return a length of time as a person reads it: `3.7 s`, `2 min 5 s`, `1 h 3 min`."""
    if seconds < 0.001:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"
