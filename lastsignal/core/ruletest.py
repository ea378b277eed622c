"""A rule's inline cases under a fake clock: the same engine, relative times.

An expectation is a map of what a finding must show: `at`, `count`, `severity`, `healed`, `lines`, a
part of its texts, the fields of its group; every finding must be expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lastsignal.core.diagnosis import diagnose_trace
from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.durations import parse_duration
from lastsignal.core.engine import Engine
from lastsignal.core.rules import Rule, RuleCase
from lastsignal.core.rules.cases import SOURCE, START, case_events

_TEXTS = ("summary", "cause", "remedy")


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
    events = case_events(case)
    engine = Engine([rule])
    engine.feed(events)
    if case.advance is not None and events:
        engine.advance(SOURCE, events[-1].timestamp + case.advance)
    if case.ends:
        engine.finish()
    findings: list[Finding] = []
    for trace in engine.traces.values():
        shared = engine.shared_groups(trace.trace_id)
        findings += diagnose_trace(engine, trace, shared).findings()
    return _compare(rule, case, findings)


def _compare(rule: Rule, case: RuleCase, findings: Sequence[Finding]) -> CaseResult:
    found = [_shown(finding) for finding in findings]
    rest = list(found)
    unmet: list[dict[str, Any]] = []
    for expected in case.expect:
        wanted = dict(expected)
        if "at" in wanted:
            wanted["at"] = float(parse_duration(wanted["at"]))
        match = next((one for one in rest if not _unlike(wanted, one)), None)
        if match is None:
            unmet.append(wanted)
        else:
            rest.remove(match)
    return CaseResult(rule.id, case.name, case.expect, found, _mismatches(unmet, rest))


def _mismatches(unmet: list[dict[str, Any]], rest: list[dict[str, Any]]) -> list[str]:
    """Say of each expectation which finding comes nearest to it, and in what it differs."""
    told = []
    for wanted in unmet:
        nearest = min(rest, key=lambda one: len(_unlike(wanted, one)), default=None)
        if nearest is None:
            told.append(f"expected {_line(wanted)}, found nothing")
            continue
        rest.remove(nearest)
        differences = [
            f"{key}: expected {_value(key, wanted[key])}, found {_value(key, nearest.get(key))}"
            for key in _unlike(wanted, nearest)
        ]
        told.append("; ".join(differences) + f" (in {_line(nearest)})")
    return told + [f"found {_line(one)}, which no expectation names" for one in rest]


def timeline(case: RuleCase) -> list[str]:
    """Return the events of a case, one a line, with the time since the first moment."""
    lines = []
    for event in case_events(case):
        said = (event.event_type, event.operation, event.status, event.error_message)
        words = [*filter(None, said), f"[{event.error_class}]" if event.error_class else ""]
        trace = "" if event.trace_id == "t" else f" {event.trace_id}:"
        when = _value("at", event.timestamp - START)
        lines.append(f"{when:>9}  line {event.line}:{trace} {' '.join(words)}".rstrip())
    return lines


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


def _unlike(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return the keys in which a finding is not what was expected; of a text a part is enough."""
    return [
        key
        for key, value in wanted.items()
        if (str(value) not in found[key] if key in _TEXTS else found.get(key) != value)
    ]


def _value(key: str, value: object) -> str:
    if key == "at" and isinstance(value, int | float):
        return f"{value:g}s"
    return "nothing" if value is None else str(value)


def _line(one: dict[str, Any]) -> str:
    shown = (f"{key}: {_value(key, value)}" for key, value in one.items() if key not in _TEXTS)
    return "{" + ", ".join(shown) + "}"
