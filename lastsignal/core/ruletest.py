"""A rule's inline cases under a fake clock: the same engine, relative times.

An event of a case is a map of Event fields plus `at` (seconds or `1m30s` after the start, default:
one second after the one before), `like: n` (a copy of the nth event, 0-based, with changes), and
`repeat: n` with `every: 2s`. An expectation is a map of what a finding must show: `at`, `count`,
`severity`, `lines`, a part of its texts, the fields of its group; every finding must be expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lastsignal.core.aliases.reader import judge
from lastsignal.core.diagnosis import diagnose_trace
from lastsignal.core.durations import parse_duration
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.findings import Finding
from lastsignal.core.rules import Rule, RuleCase

START = 1_700_000_000.0
_SOURCE = "case"
_OWN_KEYS = frozenset({"at", "like", "repeat", "every"})


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What one case gave."""

    rule: str
    case: str
    expected: list[dict[str, Any]]
    found: list[dict[str, Any]]
    mismatches: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether the findings are those expected."""
        return not self.mismatches


def run_cases(rule: Rule) -> list[CaseResult]:
    """Run every inline case of a rule, by itself."""
    return [run_case(rule, case) for case in rule.text.tests]


def run_case(rule: Rule, case: RuleCase) -> CaseResult:
    """Run one case."""
    try:
        events = case_events(case)
    except (ValueError, msgspec.ValidationError) as error:
        return CaseResult(rule.id, case.name, case.expect, [], [f"the case cannot run: {error}"])
    engine = Engine([rule])
    engine.feed(events)
    if case.advance is not None and events:
        engine.advance(_SOURCE, events[-1].timestamp + case.advance)
    if case.ends:
        engine.finish()
    findings: list[Finding] = []
    for trace in engine.traces.values():
        shared = engine.shared_groups(trace.trace_id)
        findings += diagnose_trace(engine, trace, shared).findings()
    return _compare(rule, case, findings)


def case_events(case: RuleCase) -> list[Event]:
    """Return the events of a case with absolute times.

    Raises:
        ValueError: an event has an unknown key, or a value of the wrong type.
    """
    written: list[dict[str, Any]] = []
    events: list[Event] = []
    now = START - 1.0
    for entry in case.events:
        raw = dict(entry)
        if "like" in raw:
            index = raw["like"]
            if not isinstance(index, int) or not 0 <= index < len(written):
                raise ValueError(f"`like: {index}` names no event before it")
            raw = {**written[index], **{k: v for k, v in raw.items() if k != "like"}}
        written.append({k: v for k, v in raw.items() if k not in ("at", "repeat", "every")})
        times = int(raw.get("repeat", 1))
        every = parse_duration(raw.get("every", 1.0))
        now = START + parse_duration(raw["at"]) if "at" in raw else now + 1.0
        for index in range(times):
            now += every if index else 0.0
            events.append(_event(raw, now, len(events) + 1))
    return events


def _event(raw: dict[str, Any], timestamp: float, line: int) -> Event:
    unknown = set(raw) - _OWN_KEYS - set(Event.__struct_fields__)
    if unknown:
        raise ValueError(f"unknown event key `{sorted(unknown)[0]}`")
    values = {k: v for k, v in raw.items() if k not in _OWN_KEYS and k != "metadata"}
    event = msgspec.convert(
        {
            "trace_id": "t",
            **values,
            "timestamp": timestamp,
            "source": _SOURCE,
            "line": line,
            "offset": line * 100,
        },
        Event,
    )
    event.metadata = raw.get("metadata")
    judge(event)
    return event


def _compare(rule: Rule, case: RuleCase, findings: Sequence[Finding]) -> CaseResult:
    found = [_shown(finding) for finding in findings]
    rest = list(found)
    mismatches = []
    for expected in case.expect:
        wanted = dict(expected)
        if "at" in wanted:
            wanted["at"] = float(parse_duration(wanted["at"]))
        match = next((one for one in rest if _fits(wanted, one)), None)
        if match is None:
            mismatches.append(
                f"expected {_line(wanted)}, found {', '.join(map(_line, rest)) or 'nothing'}"
            )
        else:
            rest.remove(match)
    if not mismatches:
        mismatches += [f"found {_line(one)}, which no expectation names" for one in rest]
    return CaseResult(rule.id, case.name, case.expect, found, mismatches)


def _shown(finding: Finding) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "at": round(finding.opened_at - START, 6),
        "count": finding.count,
        "severity": finding.severity,
        "healed": finding.healed,
        "lines": [evidence.line for evidence in finding.evidence],
        "summary": finding.summary,
        "cause": finding.cause,
        "remedy": finding.remedy,
    }
    return {**shown, **finding.group}


def _fits(wanted: dict[str, Any], found: dict[str, Any]) -> bool:
    for key, value in wanted.items():
        if key in ("summary", "cause", "remedy"):
            if str(value) not in found[key]:
                return False
        elif found.get(key) != value:
            return False
    return True


def _line(one: dict[str, Any]) -> str:
    return (
        "{"
        + ", ".join(f"{k}: {v}" for k, v in one.items() if k not in ("summary", "cause", "remedy"))
        + "}"
    )
