"""A rule's inline cases under a fake clock: the same engine, relative times.

An expectation is a map of what a finding must show: `at`, `count`, `severity`, `healed`, `lines`, a
part of its texts, the fields of its group; every finding must be expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lastsignal.core.diagnosis import diagnose_trace
from lastsignal.core.durations import parse_duration
from lastsignal.core.engine import Engine
from lastsignal.core.findings import Finding
from lastsignal.core.rule_cases import SOURCE, START, case_events
from lastsignal.core.rules import Rule, RuleCase


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
