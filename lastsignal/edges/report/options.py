"""What the caller decides about a report: nothing here is read from the environment by itself."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from lastsignal.core.rules import Severity

MIN_WIDTH = 60  # columns below which lines are cut rather than squeezed further


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to render; each format takes what concerns it."""

    color: bool = False
    """Text only: whether the reader is a terminal that wants colour."""
    width: int = 100
    """Text only: columns."""
    fail_on: Severity | None = "warning"
    """JUnit only: findings from this severity on fail their test case; None fails none."""
    base: str | None = None
    """SARIF only: the directory that paths are made relative to, usually the checkout."""


def wants_color(environ: Mapping[str, str], is_terminal: bool) -> bool:
    """Whether to colour: `NO_COLOR` wins, then `FORCE_COLOR`, then what the output is."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_terminal and environ.get("TERM", "").lower() not in ("dumb", "unknown")
