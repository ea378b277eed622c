"""What a trace's findings mean together: the outcome, the one cause, its symptoms, the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from lastsignal.core.diagnosis.findings import Evidence, Finding, evidence_of, finding_of
from lastsignal.core.engine import Engine
from lastsignal.core.engine.traces import TraceState
from lastsignal.core.groups import Group, Mark, Progress
from lastsignal.core.rules import SEVERITIES, Rule, Severity
from lastsignal.core.rules.windows.counting import DistinctWindow
from lastsignal.core.rules.windows.silence import SilenceWindow

Outcome = Literal["succeeded", "failed", "recovered", "aborted", "unfinished"]


_OF_PROVIDERS = frozenset(
    {"auth", "budget", "content_filter", "context_length", "overloaded", "quota", "rate_limit"}
)
"""Classes of failures that calls of a provider have, and hardly anything else."""

WELL: tuple[Outcome, ...] = ("succeeded", "recovered")


class Moment(msgspec.Struct, frozen=True):
    """One turning point of a run."""

    at: Evidence
    status: str
    operation: str | None = None
    agent: str | None = None
    error_class: str | None = None
    error_message: str | None = None
    attempt: int | None = None


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why one run ended as it did."""

    trace_id: str
    framework: str | None
    agents: list[str]
    outcome: Outcome
    started_at: float | None
    """Epoch seconds; None where the records carry no time."""
    duration_seconds: float | None
    events: int
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    cause: Finding | None
    """The finding that no other one explains, earliest and most specific first."""
    symptoms: list[Finding]
    """What the cause explains, in order of time."""
    other: list[Finding]
    """Independent findings."""
    not_checked: list[str]
    """Rules that this trace's records carry too little for."""
    timeline: list[Moment]
    """Turning points; empty for a run that went well, of which there is nothing to tell."""
    wasted: Progress | None
    """What was spent after the cause had shown itself."""

    def findings(self) -> list[Finding]:
        """Return all findings, the cause first."""
        return [*([self.cause] if self.cause else []), *self.symptoms, *self.other]


def diagnose_trace(
    engine: Engine, trace: TraceState, shared: Sequence[Group] = (), *, is_inner: bool = False
) -> Diagnosis:
    """Return the diagnosis of one trace.

    Args:
        engine: whose rules ran over it.
        trace: its state, after `Engine.finish`.
        shared: groups of rules across traces that opened in this trace.
        is_inner: only what a run has done within itself is on record, not how it ended.
    """
    by_key = {rule.key: rule for rule in engine.rules}
    rules = {rule.id: rule for rule in engine.rules}
    fired = [group for group in [*trace.groups.values(), *shared] if group.is_open]
    outcome = outcome_of(trace, bool(fired))
    serious = [group for group in fired if by_key[group.rule].text.severity != "info"]
    returned = {id(group) for group in _returned(trace, serious)}
    findings = [
        _finding(by_key[group.rule], group, outcome, id(group) in returned) for group in fired
    ]
    findings.sort(key=lambda finding: (finding.first_seen, finding.opened_at, finding.rule))
    cause, symptoms, other = explain(findings, rules)
    if is_inner and trace.crash is None and trace.stop is None:
        outcome = "unfinished"
    return Diagnosis(
        trace_id=trace.trace_id,
        framework=trace.framework,
        agents=list(trace.agents),
        outcome=outcome,
        started_at=trace.started_at if trace.timed else None,
        duration_seconds=trace.last_at - trace.started_at if trace.timed else None,
        events=trace.events,
        calls=trace.calls,
        failures=trace.failures,
        input_tokens=trace.input_tokens,
        output_tokens=trace.output_tokens,
        cost_usd=trace.cost_usd,
        cause=cause,
        symptoms=symptoms,
        other=other,
        not_checked=engine.program.not_checked(trace),
        timeline=_timeline(trace) if cause is not None or outcome not in WELL else [],
        wasted=_wasted(trace, fired, cause),
    )


def _finding(rule: Rule, group: Group, outcome: Outcome, has_returned: bool) -> Finding:
    is_healed = group.healed and not has_returned
    found = finding_of(rule, group, _effective(rule, is_healed, outcome))
    return msgspec.structs.replace(found, healed=is_healed)


def _returned(trace: TraceState, fired: Sequence[Group]) -> list[Group]:
    """Return what had healed, and is what the run's failed end is told to be of.

    An end may name the class of its error and say no more ("gave up"). Of a class that only calls
    of a provider have, that is the failure which was got over last.
    """
    if trace.end is None or trace.end_status != "failed":
        return []
    classes = {_place(mark): (mark.facts or {}).get("error_class") for mark in trace.timeline}
    end = _place(trace.end)
    said = classes.pop(end, None)
    alike = [one for one in fired if said and classes.get(_place(one.marks[-1])) == said]
    if said not in _OF_PROVIDERS or not all(one.healed for one in alike):
        return []
    return alike


def _place(mark: Mark) -> tuple[str, int, str]:
    return mark.source, mark.offset, mark.event_type


def outcome_of(trace: TraceState, fired: bool) -> Outcome:
    """Return how the run ended, from its own words: never from the rules alone."""
    end = trace.end
    for fatal in (trace.crash, trace.stop):
        if fatal is not None and (
            end is None or _later(fatal, end) or trace.end_status != "completed"
        ):
            return "failed"
    if trace.runs:
        return "unfinished"
    if end is None:
        if trace.last_call_status in ("failed", "aborted"):
            return "failed" if trace.last_call_status == "failed" else "aborted"
        if not all(call.implied for call in trace.open_calls.values()):
            return "unfinished"
        return "recovered" if trace.failures else "succeeded"
    if trace.end_status == "failed":
        return "failed"
    if trace.end_status == "aborted":
        return "aborted"
    return "recovered" if trace.failures or fired else "succeeded"


def explain(
    findings: Sequence[Finding], rules: Mapping[str, Rule]
) -> tuple[Finding | None, list[Finding], list[Finding]]:
    """Part findings into the cause, what it explains (also indirectly), and the rest."""
    # what has healed, or is mere information, does not excuse what is neither
    serious = [f for f in findings if not f.healed and f.severity != "info"]
    explained_by: dict[str, list[Finding]] = {
        finding.id: [f for f in serious if f is not finding and explains(f, finding, rules)]
        for finding in findings
    }
    roots = [f for f in findings if not explained_by[f.id] and not f.healed]
    if not roots:
        return None, [], list(findings)
    reach = {root.id: _reach(root, findings, rules) for root in roots}
    cause = min(
        roots,
        key=lambda f: (
            -SEVERITIES.index(f.severity),
            "trace_id" not in f.group,
            not any(s.id in reach[f.id] and _ended_by(s, f) for s in findings),
            not reach[f.id],
            # what did not come shows itself only when it was waited for in vain
            f.opened_at if isinstance(rules[f.rule].window, SilenceWindow) else f.first_seen,
            -len(f.group),
            f.rule,
        ),
    )
    if cause.severity == "info":
        return None, [], list(findings)
    reached = set(reach[cause.id])
    for other in roots:
        if other is not cause and _tells_no_more(other, cause):
            reached |= {other.id, *reach[other.id]}
    symptoms = [f for f in findings if f.id in reached]
    rest = [f for f in findings if f is not cause and f.id not in reached]
    return cause, symptoms, rest


def _ended_by(symptom: Finding, cause: Finding) -> bool:
    """Whether the symptom is an end of the run with the words of the cause's last failure: what
    the run had got over before did not end it."""
    end, failure = symptom.evidence[-1], cause.evidence[-1]
    is_end = end.event_type in ("agent_end", "process_error")
    return is_end and bool(failure.focus) and failure.focus in end.focus


def _tells_no_more(other: Finding, cause: Finding) -> bool:
    """Whether a finding rests on nothing but events that the cause rests on too."""
    marks = {(one.source, one.offset, one.event_type) for one in cause.evidence}
    return bool(other.evidence) and all(
        (one.source, one.offset, one.event_type) in marks for one in other.evidence
    )


def explains(cause: Finding, symptom: Finding, rules: Mapping[str, Rule]) -> bool:
    """Whether one finding makes another its symptom: by rule, of the same thing, not after it."""
    rule = rules[cause.rule].text
    shown = max(symptom.last_seen, symptom.opened_at)
    if symptom.rule not in rule.explains or cause.first_seen > shown:
        return False
    if isinstance(rules[symptom.rule].window, DistinctWindow):
        # what many have in common is not explained by one of them, unless all began with it
        if cause.first_seen > symptom.first_seen:
            return False
    for name in ("operation", "agent", "model", "call_id"):
        mine, other = cause.group.get(name), symptom.group.get(name)
        if mine is not None and other is not None and mine != other:
            return False
    return True


def _reach(root: Finding, findings: Sequence[Finding], rules: Mapping[str, Rule]) -> set[str]:
    reached: set[str] = set()
    todo = [root]
    while todo:
        current = todo.pop()
        for finding in findings:
            if finding is root or finding.id in reached:
                continue
            if explains(current, finding, rules):
                reached.add(finding.id)
                todo.append(finding)
    return reached


def _effective(rule: Rule, is_healed: bool, outcome: Outcome) -> Severity:
    """Lower the severity where things went well again: trouble that healed is no alarm."""
    severity = rule.text.severity
    if is_healed:
        return "info"
    if outcome in WELL and severity != "info":
        return SEVERITIES[SEVERITIES.index(severity) - 1]
    return severity


def _wasted(trace: TraceState, fired: Sequence[Group], cause: Finding | None) -> Progress | None:
    if cause is None:
        return None
    group = next(
        (
            group
            for group in fired
            if group.rule.partition("@")[0] == cause.rule and group.opened_at == cause.opened_at
        ),
        None,
    )
    if group is None or group.at_open is None:
        return None
    now, then = trace.progress(), group.at_open
    return Progress(
        now.events - then.events,
        now.calls - then.calls,
        now.tokens - then.tokens,
        now.cost_usd - then.cost_usd,
    )


def _later(first: object, second: object) -> bool:
    return getattr(first, "timestamp", 0.0) >= getattr(second, "timestamp", 0.0)


def _timeline(trace: TraceState) -> list[Moment]:
    marks = sorted(trace.timeline, key=lambda mark: mark.timestamp)
    return [Moment(at=evidence_of(mark), **_told(mark)) for mark in marks]


def _told(mark: Mark) -> dict[str, Any]:
    facts = mark.facts or {"status": "started"}
    return {name: fact for name, fact in facts.items() if name != "arguments_hash"}
