"""json: everything in one document, the published interface for programs."""

from __future__ import annotations

from math import isfinite

from lastsignal.core import diagnosis
from lastsignal.core.diagnosis import findings
from lastsignal.core.diagnosis.report import SCHEMA_VERSION, InputSummary, Report
from lastsignal.core.groups import Progress
from lastsignal.edges.report import document
from lastsignal.edges.report.json_text import encode, indented
from lastsignal.edges.report.options import Options


def render(report: Report, options: Options) -> str:
    """Return the JSON document."""
    return indented(encode(document_of(report)))


def document_of(report: Report) -> document.Document:
    """Return the document of a report."""
    return document.Document(
        schema_version=SCHEMA_VERSION,
        inputs=[_input(one) for one in report.inputs],
        traces=[trace_of(one) for one in report.traces],
        evicted_traces=report.evicted_traces,
    )


def trace_of(trace: diagnosis.Diagnosis) -> document.Trace:
    """Return the document of one trace."""
    timed = trace.started_at is not None
    return document.Trace(
        trace_id=trace.trace_id,
        framework=trace.framework,
        agents=trace.agents,
        outcome=trace.outcome,
        started_at=_finite(trace.started_at),
        duration_seconds=_finite(trace.duration_seconds),
        events=trace.events,
        calls=trace.calls,
        failures=trace.failures,
        tokens=document.Tokens(input=trace.input_tokens, output=trace.output_tokens),
        cost_usd=_finite(trace.cost_usd),
        cause=_finding(trace.cause, timed) if trace.cause else None,
        symptoms=[_finding(one, timed) for one in trace.symptoms],
        other=[_finding(one, timed) for one in trace.other],
        not_checked=trace.not_checked,
        timeline=[_moment(one, timed) for one in trace.timeline],
        wasted=_wasted(trace.wasted) if trace.wasted else None,
    )


def _input(one: InputSummary) -> document.Input:
    return document.Input(
        source=one.source,
        format="+".join(one.format) or None,
        records=one.records,
        events=one.events,
        skipped=dict(sorted(one.skipped.items())),
        mended=dict(sorted(one.mended.items())),
    )


def _finding(finding: findings.Finding, timed: bool) -> document.Finding:
    return document.Finding(
        id=finding.id,
        rule=finding.rule,
        severity=finding.severity,
        category=finding.category,
        title=finding.title,
        summary=finding.summary,
        cause=finding.cause,
        remedy=finding.remedy,
        group={name: _plain(value) for name, value in finding.group.items()},
        count=finding.count,
        first_seen=_finite(finding.first_seen) if timed else None,
        last_seen=_finite(finding.last_seen) if timed else None,
        healed=finding.healed,
        evidence=[_evidence(one, timed) for one in finding.evidence],
    )


def _evidence(one: findings.Evidence, timed: bool) -> document.Evidence:
    return document.Evidence(
        source=one.source,
        line=one.line,
        offset=one.offset,
        event_type=one.event_type,
        timestamp=_finite(one.timestamp) if timed else None,
        excerpt=one.excerpt,
    )


def _moment(moment: diagnosis.Moment, timed: bool) -> document.Moment:
    return document.Moment(
        source=moment.at.source,
        line=moment.at.line,
        offset=moment.at.offset,
        event_type=moment.at.event_type,
        timestamp=_finite(moment.at.timestamp) if timed else None,
        status=moment.status,
        operation=moment.operation,
        agent=moment.agent,
        error_class=moment.error_class,
        error_message=moment.error_message,
        attempt=moment.attempt,
    )


def _wasted(progress: Progress) -> document.Wasted:
    return document.Wasted(
        events=progress.events,
        calls=progress.calls,
        tokens=progress.tokens,
        cost_usd=_finite(progress.cost_usd),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


def _plain(value: object) -> document.Plain:
    if isinstance(value, float):
        return _finite(value)
    return value if isinstance(value, str | int | None) else str(value)
