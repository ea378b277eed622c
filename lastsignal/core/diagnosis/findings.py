"""A rule that fired for a group → a Finding: what people and machines read."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from lastsignal.core.durations import show_duration
from lastsignal.core.groups import Group, Mark
from lastsignal.core.rules import Rule, Severity

_TIMES = {1: "once", 2: "twice"}


class Evidence(msgspec.Struct, frozen=True):
    """One record that a finding rests on."""

    source: str
    line: int
    """1-based."""
    offset: int
    """Bytes from the start of the (decompressed) source."""
    event_type: str
    timestamp: float
    """Epoch seconds."""
    excerpt: str = ""
    """The record's text, re-read from the source; empty where the source cannot be read again."""
    focus: str = ""
    """The part of the record that matters, around which a long one is cut."""
    told: int = 1
    """How many of what the finding counts this record tells."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One problem of one group, told once however often it shows."""

    id: str
    """The same after a replay and a restart: made of the rule and its group."""
    rule: str
    severity: Severity
    """As the rule says, lowered where the run recovered; see `diagnosis.py`."""
    category: str
    title: str
    summary: str
    cause: str
    remedy: str
    group: dict[str, Any]
    trace_id: str
    count: int
    first_seen: float
    last_seen: float
    opened_at: float
    """Event time at which the rule fired."""
    healed: bool
    """What it watched for has ended well since."""
    evidence: list[Evidence]


def finding_of(rule: Rule, group: Group, severity: Severity | None = None) -> Finding:
    """Return the finding of a group that fired."""
    names = rule.window.group_by
    values = iter(group.values)
    named = {name: group.trace_id if name == "trace_id" else next(values) for name in names}
    texts = _template_values(rule, group, named)
    return Finding(
        id=finding_id(rule.key, named),
        rule=rule.id,
        severity=severity or rule.text.severity,
        category=rule.text.category,
        title=rule.text.title,
        summary=rule.summary.render(texts),
        cause=rule.cause.render(texts),
        remedy=rule.remedy.render(texts),
        group=named,
        trace_id=group.trace_id,
        count=group.count,
        first_seen=group.marks[0].timestamp,
        last_seen=group.marks[-1].timestamp,
        opened_at=group.opened_at if group.opened_at is not None else group.marks[-1].timestamp,
        healed=group.healed,
        evidence=_evidence(group.marks),
    )


def finding_id(rule_id: str, group: dict[str, Any]) -> str:
    """Return the stable identity of a finding: 12 hex digits of the rule and its group."""
    text = msgspec.json.encode([rule_id, sorted((k, str(v)) for k, v in group.items())])
    return blake2b(text, digest_size=6).hexdigest()


def _evidence(marks: Sequence[Mark]) -> list[Evidence]:
    """Return where the marks point; a record that tells of several attempts in one set of words
    stands there once, with the latest of them."""
    latest: dict[tuple[str, int, str], Evidence] = {}
    for one in map(evidence_of, marks):
        key = one.source, one.offset, one.focus
        before = latest.get(key)
        latest[key] = replace(one, told=before.told + 1) if before else one
    return list(latest.values())


def evidence_of(mark: Mark) -> Evidence:
    """Return where a mark points, without its excerpt."""
    focus = str((mark.facts or {}).get("error_message") or mark.message or "")
    return Evidence(
        mark.source, mark.line, mark.offset, mark.event_type, mark.timestamp, focus=focus
    )


def _template_values(rule: Rule, group: Group, named: dict[str, Any]) -> dict[str, Any]:
    first = next((mark.facts for mark in group.marks if mark.facts), None) or {}
    last = next((mark.facts for mark in reversed(group.marks) if mark.facts), None) or {}
    values: dict[str, Any] = {**rule.text.params, **first, **last}
    values.update({name: value for name, value in named.items() if value is not None})
    values.update({"first.line": group.marks[0].line, "last.line": group.marks[-1].line})
    values.update({f"first.{name}": value for name, value in first.items()})
    values.update({f"last.{name}": value for name, value in last.items()})
    values.update(
        count=group.count,
        times=_times(group),
        times_within=_times(group) + _lasting(group, " within "),
        in_vain=_in_vain(group),
        in_a_row=f"{_times(group)}, not all in a row"
        if group.relapsed
        else f"{_times(group)} in a row",
        value=group.value,
        elapsed=group.value,
        share=None if group.value is None else f"{group.value:.0%}".replace("%", " %"),
        duration=group.marks[-1].timestamp - group.marks[0].timestamp,
        note=group.note,
    )
    return values


def _times(group: Group) -> str:
    return _TIMES.get(group.count, f"{group.count:,} times")


def _in_vain(group: Group) -> str:
    """Return how often something failed and in what time; of a single failure there is no more."""
    if group.count == 1:
        return _times(group)
    between = "but not all in a row" if group.relapsed else "with no success in between"
    return f"{_times(group)}{_lasting(group, ' in ')}, {between}"


def _lasting(group: Group, before: str) -> str:
    """Return from the first match to the last, in words; nothing for records without times."""
    seconds = group.marks[-1].timestamp - group.marks[0].timestamp
    return f"{before}{show_duration(seconds)}" if seconds > 0 else ""
