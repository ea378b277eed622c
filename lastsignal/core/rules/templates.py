"""Texts with placeholders: `{operation}`, `{count}`, `{first.error_message}`, `{metadata.key}`.

A placeholder may name alternatives, of which the first that is known is shown; quoted text is
always known: `{metadata.spent|cost_usd|"an unknown amount"}`. Such a stand-in is nothing that the
trace says: quotes and backticks right around the placeholder go with what they were meant for.
Plain substitution, no format mini-language: what a trace holds can never be run or reach further.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from lastsignal.core.durations import parse_duration, show_duration
from lastsignal.core.rules.conditions import FIELDS
from lastsignal.core.spelling import meant

COMPUTED: dict[str, str] = {
    "count": "how many events matched; of a sequence, how often it was met",
    "times": "the count in words: once, twice, 3 times",
    "times_within": "the same and its time, where that is known: 3 times within 4 s",
    "in_vain": "the same and its time: once, or twice in 3 s, with no success in between",
    "in_a_row": "the count and its kind: 3 times in a row, or 5 times, not all in a row",
    "value": "what the window measured (sum, ratio, cycle length, distinct values)",
    "duration": "time from the first to the last match",
    "elapsed": "the same where it is a length of time",
    "share": "the same as a percentage",
    "note": "a fact beside the evidence, such as that the trace ends here",
}

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_QUOTED = re.compile(r"(?P<quote>[`\"]?)\{(?P<names>[^{}]*)\}(?P<end>(?P=quote))")
_DURATIONS = ("within", "after")
"""Parameters that are lengths of time."""
UNKNOWN = "unknown"
MAX_VALUE = 300  # characters of one quoted value


@dataclass(frozen=True, slots=True)
class Template:
    """A text, split at its placeholders."""

    source: str
    fields: frozenset[str]
    """Event fields that it quotes."""

    mistakes: tuple[tuple[str, str], ...] = ()
    """Message and fix of every placeholder that is no field, no parameter, nothing computed."""

    @staticmethod
    def parse(source: str, params: frozenset[str]) -> Template:
        """Return the template, with its mistakes."""
        fields: set[str] = set()
        mistakes: list[tuple[str, str]] = []
        names = [n for found in _PLACEHOLDER.findall(source) for n in found.split("|")]
        for name in names:
            if _literal(name) is not None:
                continue
            field = name.removeprefix("first.").removeprefix("last.")
            if field in FIELDS or (field.startswith("metadata.") and len(field) > 9):
                fields.add(field)
            elif name not in COMPUTED and name not in params:
                known = [*sorted(FIELDS), *COMPUTED, *sorted(params)]
                close = meant(name, known)
                hint = f"did you mean `{{{close}}}`?" if close else f"known: {', '.join(known)}"
                mistakes.append((f"unknown placeholder `{{{name}}}`", hint))
        return Template(source, frozenset(fields), tuple(mistakes))

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text; what is not known reads `unknown`."""
        return _QUOTED.sub(lambda found: _fill(found, values), self.source).strip()


def _fill(found: re.Match[str], values: Mapping[str, Any]) -> str:
    """Return the first alternative that is known, in the quotes around it if a trace says it."""
    for name in found["names"].split("|"):
        literal = _literal(name)
        if literal is not None:
            return literal
        value = values.get(name)
        if value is not None and value != "":
            return f"{found['quote']}{_show(name, value)}{found['end']}"
    return UNKNOWN


def _literal(name: str) -> str | None:
    quoted = len(name) >= 2 and name[0] == name[-1] == '"'
    return name[1:-1] if quoted else None


def _show(name: str, value: object) -> str:
    if name.endswith(("duration", "elapsed", "seconds")) and isinstance(value, int | float):
        return show_duration(value)
    if name in _DURATIONS:
        try:
            return show_duration(parse_duration(value))
        except ValueError:  # a parameter of that name that means something else
            return str(value)
    if name not in FIELDS and "." not in name:  # a parameter, or computed: not the trace's words
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return f"{int(value):,}" if value == int(value) else f"{value:,.4g}"
    text = str(value)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"
