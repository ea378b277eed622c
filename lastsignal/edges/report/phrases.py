"""The words that the formats for people share: how a run ended, what it cost, what happened when.

Everything returned here may hold text out of traces; it is `visible`, and each format escapes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import TypeVar

from lastsignal.core.diagnosis import Diagnosis, Moment, Outcome
from lastsignal.core.diagnosis.findings import Evidence, Finding
from lastsignal.core.durations import show_duration
from lastsignal.core.groups import Progress
from lastsignal.edges.report.visible import escaped, focused, shorten, visible

T = TypeVar("T")

SYMBOLS: dict[Outcome, str] = {
    "failed": "✗",
    "aborted": "■",
    "unfinished": "◌",
    "recovered": "↻",
    "succeeded": "✓",
}
"""In the order in which outcomes are told: the worst first."""

_ID = 64  # cells of an identifier: a UUID or a 32-digit trace id is never cut
_TITLE = 120
_PATH = 300
_SENTENCE = 300
_PARAGRAPH = 900
_UNEXPLAINED: dict[Outcome, str] = {
    "failed": "no rule explains why",
    "aborted": "no rule explains why",
    "unfinished": "its records stop before its end",
    "recovered": "no rule names a cause",
    "succeeded": "no rule names a cause",
}


def is_troubled(trace: Diagnosis) -> bool:
    """Whether a reader must look at the trace; trouble that healed is only mentioned."""
    if trace.outcome not in ("succeeded", "recovered"):
        return True
    return any(finding.severity != "info" for finding in trace.findings())


def cause_title(trace: Diagnosis) -> str:
    """Return what a trace died of, in a few words."""
    if trace.cause is not None:
        return title(trace.cause.title)
    if trace.outcome == "aborted" and (said := _last_words(trace)):
        return said
    return _UNEXPLAINED[trace.outcome]


def _last_words(trace: Diagnosis) -> str:
    """Return what the end of a run says of itself: who stopped it, or what it waits for."""
    ends = [one for one in trace.timeline if one.at.event_type == "agent_end"]
    return title(ends[-1].error_message or "") if ends else ""


def identifier(text: str) -> str:
    """Return a trace id, an agent's or an operation's name, as long as it is sane."""
    return shorten(visible(text), _ID) or "(empty)"


def paragraph(text: str) -> str:
    """Return prose on one line."""
    return shorten(visible(text), _PARAGRAPH)


def steps(text: str) -> list[str]:
    """Return prose as a list where it numbers its steps (`1. … 2. …`), else as one entry."""
    found: list[str] = []
    rest = paragraph(text)
    while rest.startswith(f"{len(found) + 1}. "):
        step, *after = re.split(rf"(?<=[.!?:;)]) (?={len(found) + 2}\. )", rest, maxsplit=1)
        found.append(step)
        rest = after[0] if after else ""
    return [*found, rest] if rest else found


def path(source: str) -> str:
    """Return where an input is: to be copied, so never cut while it is sane."""
    return shorten(escaped(source), _PATH)


def excerpt(one: Evidence, cells: int) -> str:
    """Return a record's text on one line, cut around what matters in it."""
    return focused(visible(one.excerpt), cells, visible(one.focus))


def title(text: str) -> str:
    """Return a finding's title."""
    return shorten(visible(text), _TITLE)


def summary_of(finding: Finding) -> str:
    """Return what a finding says beyond its title; empty where that is nothing."""
    summary, known = visible(finding.summary), title(finding.title)
    if summary.startswith(known):
        summary = summary.removeprefix(known).lstrip(" :,;-")
    return shorten(summary, _SENTENCE)


def home_of(trace: Diagnosis) -> str | None:
    """Return the source that a trace is mostly told from: there a line number says enough."""
    marks = list(trace.cause.evidence) if trace.cause else []
    return next((one.source for one in [*marks, *(one.at for one in trace.timeline)]), None)


def who(trace: Diagnosis, most: int = 3) -> list[str]:
    """Return the agents and the framework, each as a phrase."""
    names = [identifier(name) for name in trace.agents[:most]]
    hidden = len(trace.agents) - len(names)
    if hidden:
        names.append(f"{hidden} more")
    listed = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
    agents = [f"agent{'s' if len(names) > 1 else ''} {listed}"] if names else []
    return agents + ([identifier(trace.framework)] if trace.framework else [])


def show_time(seconds: float | None) -> str | None:
    """Return a moment as UTC, None where there is none that a calendar holds."""
    if seconds is None or not isfinite(seconds):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return None


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 trace`, `1,200 traces`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def more(number: int) -> str:
    """Return what stands for entries left out."""
    return f"and {number:,} more"


def money(dollars: float) -> str:
    """Return dollars; below one of them as finely as it takes to see something."""
    if dollars >= 1 or not dollars:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "<$0.0001"


def spent(trace: Diagnosis) -> list[str]:
    """Return what a run took, each part as a phrase; what is not known is left out."""
    parts = []
    if took(trace):
        parts.append(took(trace))
    if trace.calls:
        parts.append(count(trace.calls, "call"))
    if trace.failures:
        parts.append(count(trace.failures, "failure"))
    tokens = trace.input_tokens + trace.output_tokens
    if tokens:
        parts.append(count(tokens, "token"))
    if trace.cost_usd > 0:
        parts.append(money(trace.cost_usd))
    return parts


def wasted(progress: Progress | None) -> list[str]:
    """Return what went on being spent after the cause had shown."""
    if progress is None:
        return []
    parts = []
    if progress.calls > 0:
        parts.append(count(progress.calls, "call"))
    if progress.tokens > 0:
        parts.append(count(progress.tokens, "token"))
    if progress.cost_usd > 0:
        parts.append(money(progress.cost_usd))
    return parts


def happening(moment: Moment) -> str:
    """Return what happened at a turning point."""
    name = identifier(moment.operation) if moment.operation else ""
    kind = moment.at.event_type
    if kind in ("agent_start", "agent_end"):
        agent = name or (identifier(moment.agent) if moment.agent else "")
        verb = "starts" if kind == "agent_start" else f"ends, {identifier(moment.status)}"
        phrase = f"agent {agent} {verb}" if agent else f"run {verb}"
    elif kind == "process_error":
        phrase = f"{name} crashes" if name else "the run crashes"
    elif kind == "retry":
        attempt = f", attempt {moment.attempt}" if moment.attempt is not None else ""
        phrase = f"{name or 'a call'} is tried again{attempt}"
    else:
        what = name or identifier(kind).replace("_", " ")
        phrase = f"{what} {identifier(moment.status)}"
    error = moment.error_message or moment.error_class
    if error == "unknown":  # the class of what says nothing
        error = None
    return f"{phrase}: {shorten(visible(error), _SENTENCE)}" if error else phrase


def took(trace: Diagnosis) -> str:
    """Return how long a run took; empty where nobody knows."""
    seconds = trace.duration_seconds
    return show_duration(seconds) if seconds is not None and isfinite(seconds) else ""


def clock(trace: Diagnosis, moment: Moment) -> str:
    """Return when something happened, from the start of the run; empty without times."""
    if trace.started_at is None or not isfinite(moment.at.timestamp - trace.started_at):
        return ""
    return f"+{show_duration(max(0.0, moment.at.timestamp - trace.started_at))}"


def places(evidence: Sequence[Evidence], home: str | None = None, most: int = 4) -> str:
    """Return where a finding shows: `lines 4, 9` of the home source, `a.jsonl:4` elsewhere; a line
    that holds several of its records is named once."""
    lines = list(dict.fromkeys((one.source, one.line) for one in evidence))
    parts: list[str] = []
    last = home
    for source, line in lines[:most]:
        parts.append(str(line) if source == last else f"{path(source)}:{line}")
        last = source
    if lines and lines[0][0] == home:
        parts[0] = f"{'line' if len(lines) == 1 else 'lines'} {parts[0]}"
    hidden = len(lines) - len(parts)
    return ", ".join(parts) + (f" {more(hidden)}" if hidden else "")


def abridged(entries: Sequence[T], most: int) -> tuple[list[T], int, list[T]]:
    """Return the first entries, how many are left out, and the last ones, `most` in all."""
    if len(entries) <= most:
        return list(entries), 0, []
    first = (most + 1) // 2
    return list(entries[:first]), len(entries) - most, list(entries[len(entries) - most + first :])


def untold(finding: Finding, shown: Sequence[Evidence]) -> int:
    """Return how many of what a finding counts none of these records tells."""
    return finding.count - sum(one.told for one in shown)
