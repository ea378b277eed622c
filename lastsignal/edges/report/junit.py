"""junit: a test case a trace, for what shows test results: Jenkins, GitLab and many more."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.diagnosis.report import InputSummary, Report
from lastsignal.core.rules import SEVERITIES
from lastsignal.edges.report import phrases, tallies
from lastsignal.edges.report.options import Options
from lastsignal.edges.report.visible import shorten

SUITE = "lastsignal diagnose"
MAX_EVIDENCE = 5

_MESSAGE = 300
_EXCERPT = 200


def render(report: Report, options: Options) -> str:
    """Return the XML document; nothing in it was ever a control character."""
    suites = Element("testsuites", name=SUITE)
    suite = SubElement(suites, "testsuite", name=SUITE)
    for trace in report.traces:
        _add_trace(suite, trace, options)
    for one in tallies.unread(report):
        _add_unread(suite, one, "skipped" if report.events() else "error")
    beside = tallies.mended(report)
    if report.evicted_traces:
        beside.append(tallies.evicted(report))
    if beside:
        SubElement(suite, "system-err").text = "\n".join(beside)
    _sum_up(suites, suite, report)
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _add_trace(suite: Element, trace: Diagnosis, options: Options) -> None:
    framework = phrases.identifier(trace.framework) if trace.framework else "trace"
    name = phrases.identifier(trace.trace_id)
    case = SubElement(suite, "testcase", classname=framework, name=name)
    case.set("time", _decimal(trace.duration_seconds))
    home = phrases.home_of(trace)
    if home is not None:
        case.set("file", phrases.path(home))
    failing = [one for one in trace.findings() if _fails(one, options)]
    if failing:
        first = failing[0]
        failure = SubElement(case, "failure", type=phrases.identifier(first.rule))
        failure.set("message", _message(first))
        failure.text = "\n\n".join(_told(finding) for finding in failing)
    SubElement(case, "system-out").text = "\n".join(_beside(trace, failing))


def _add_unread(suite: Element, one: InputSummary, kind: str) -> None:
    """Add an input that gave no event: an error where nothing at all was read, else skipped."""
    case = SubElement(suite, "testcase", classname="input", name=phrases.path(one.source))
    case.set("time", _decimal(None))
    result = SubElement(case, kind)
    result.set("message", phrases.paragraph(one.advice or "no event could be read from it"))


def _sum_up(suites: Element, suite: Element, report: Report) -> None:
    seconds = sum(trace.duration_seconds or 0.0 for trace in report.traces)
    for element in (suites, suite):
        element.set("tests", str(len(suite.findall("testcase"))))
        element.set("failures", str(len(suite.findall("testcase/failure"))))
        element.set("errors", str(len(suite.findall("testcase/error"))))
        element.set("time", _decimal(seconds))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    started = _first_start(report)
    if started is not None:
        suite.set("timestamp", started)


def _fails(finding: Finding, options: Options) -> bool:
    if options.fail_on is None:
        return False
    return SEVERITIES.index(finding.severity) >= SEVERITIES.index(options.fail_on)


def _message(finding: Finding) -> str:
    summary = phrases.summary_of(finding)
    title = phrases.title(finding.title)
    return shorten(f"{title}: {summary}" if summary else title, _MESSAGE)


def _told(finding: Finding) -> str:
    first, _, last = phrases.abridged(finding.evidence, MAX_EVIDENCE)
    hidden = phrases.untold(finding, first + last)
    rows = [
        f"{phrases.path(one.source)}:{one.line}  {phrases.excerpt(one, _EXCERPT)}".rstrip()
        for one in first + last
    ]
    if hidden > 0:
        rows.insert(len(first), f"… {phrases.more(hidden)}")
    return "\n".join(
        [
            f"{finding.severity}: {_message(finding)} [{phrases.identifier(finding.rule)}]",
            f"Cause: {phrases.paragraph(finding.cause)}",
            f"Remedy: {phrases.paragraph(finding.remedy)}",
            *rows,
        ]
    )


def _beside(trace: Diagnosis, failing: list[Finding]) -> list[str]:
    """Return what is worth saying besides the failure."""
    lines = [f"{trace.outcome}: {' · '.join(phrases.spent(trace))}".rstrip(": ")]
    lines += [
        f"{finding.severity}: {_message(finding)} ({phrases.places(finding.evidence)})"
        for finding in trace.findings()
        if finding not in failing
    ]
    unchecked = tallies.unchecked([trace])
    return [*lines, f"unchecked: {unchecked}"] if unchecked else lines


def _decimal(seconds: float | None) -> str:
    return f"{max(0.0, seconds):.3f}" if seconds is not None and isfinite(seconds) else "0.000"


def _first_start(report: Report) -> str | None:
    times = [trace.started_at for trace in report.traces if trace.started_at is not None]
    if not times or phrases.show_time(min(times)) is None:
        return None
    return datetime.fromtimestamp(min(times), UTC).strftime("%Y-%m-%dT%H:%M:%S")
