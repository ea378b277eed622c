"""sarif: SARIF 2.1.0, for code scanning: each finding is a result at the line that shows it.

Message texts have a syntax of their own (placeholders, links): what a trace says must not use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote_from_bytes

from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.diagnosis.findings import Evidence, Finding
from lastsignal.core.diagnosis.report import InputSummary, Report
from lastsignal.core.rules import Severity
from lastsignal.edges.report import phrases, tallies
from lastsignal.edges.report.json_text import encode, indented
from lastsignal.edges.report.options import Options

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: dict[Severity, str] = {"critical": "error", "warning": "warning", "info": "note"}
MAX_NOTIFICATIONS = 100

_SNIPPET = 1000
_PLACEHOLDER = re.compile(r"\{(\d+)\}")

Json = dict[str, Any]


def render(report: Report, options: Options) -> str:
    """Return the SARIF log of one run."""
    found = [(trace, role, one) for trace in report.traces for role, one in _roles(trace)]
    rules = list(dict.fromkeys(finding.rule for _, _, finding in found))
    texts = {finding.rule: finding for _, _, finding in reversed(found)}
    driver = {
        "name": "Last Signal",
        "version": report.version,
        "rules": [_rule(texts[rule]) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": _notifications(report, options),
            }
        ],
        "results": [
            _result(finding, trace, role, rules.index(finding.rule), options)
            for trace, role, finding in found
        ],
    }
    return indented(encode({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}))


def uri_of(source: str, base: str | None) -> str:
    """Return the percent-encoded address of a source: relative to `base` where it lies below."""
    path = PurePosixPath(source)
    if base is not None and path.is_absolute() and path.is_relative_to(base):
        source = str(path.relative_to(base))
    try:
        name = source.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        name = source.encode("utf-8", "surrogatepass")
    quoted = quote_from_bytes(name, safe="/")
    return f"file://{quoted}" if source.startswith("/") else quoted


def _roles(trace: Diagnosis) -> Iterator[tuple[str, Finding]]:
    if trace.cause is not None:
        yield "cause", trace.cause
    for finding in trace.symptoms:
        yield "symptom", finding
    for finding in trace.other:
        yield "other", finding


def _rule(finding: Finding) -> Json:
    title = _plain(phrases.title(finding.title))
    return {
        "id": phrases.identifier(finding.rule),
        "shortDescription": {"text": title},
        "fullDescription": {"text": _plain(f"{title} ({phrases.identifier(finding.category)})")},
        "help": {"text": _plain(phrases.paragraph(finding.remedy))},
        "properties": {"tags": [phrases.identifier(finding.category)]},
    }


def _result(
    finding: Finding, trace: Diagnosis, role: str, rule_index: int, options: Options
) -> Json:
    marks = finding.evidence
    result: Json = {
        "ruleId": phrases.identifier(finding.rule),
        "ruleIndex": rule_index,
        "level": LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [_location(one, options) for one in marks[:1]],
        "partialFingerprints": {
            "findingId/v1": finding.id,
            "primaryLocationLineHash": f"{finding.id}:1",
        },
        "properties": {
            "category": phrases.identifier(finding.category),
            "count": finding.count,
            "healed": finding.healed,
            "outcome": trace.outcome,
            "role": role,
            "traceId": phrases.identifier(trace.trace_id),
        },
    }
    if len(marks) > 1:
        result["relatedLocations"] = [
            {"id": number, **_location(one, options), "message": {"text": "Shows here too."}}
            for number, one in enumerate(marks[1:], 1)
        ]
    return result


def _location(one: Evidence, options: Options) -> Json:
    region: Json = {"startLine": max(1, one.line)}
    if one.excerpt:
        region["snippet"] = {"text": phrases.excerpt(one, _SNIPPET)}
    artifact = {"uri": uri_of(one.source, options.base)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _message(finding: Finding) -> str:
    summary = phrases.summary_of(finding)
    title = phrases.title(finding.title)
    said = [
        f"{title}: {summary}" if summary else title,
        f"Cause: {phrases.paragraph(finding.cause)}",
        f"Remedy: {phrases.paragraph(finding.remedy)}",
    ]
    return _plain("\n".join(said))


def _notifications(report: Report, options: Options) -> list[Json]:
    inputs = tallies.unread(report)[:MAX_NOTIFICATIONS]
    said = [_unread(one, options) for one in inputs]
    said += [{"level": "note", "message": {"text": _plain(odd)}} for odd in tallies.mended(report)]
    if report.evicted_traces:
        said.append({"level": "warning", "message": {"text": tallies.evicted(report)}})
    unchecked = tallies.unchecked(report.traces)
    if unchecked:
        said.append({"level": "note", "message": {"text": _plain(f"Unchecked: {unchecked}")}})
    return said


def _unread(one: InputSummary, options: Options) -> Json:
    advice = phrases.paragraph(one.advice or "no event could be read from it")
    artifact = {"artifactLocation": {"uri": uri_of(one.source, options.base)}}
    return {
        "level": "warning",
        "message": {"text": _plain(f"{phrases.path(one.source)}: {advice}")},
        "locations": [{"physicalLocation": artifact}],
    }


def _plain(text: str) -> str:
    """Return text without what a viewer would fill in or make a link of."""
    return _PLACEHOLDER.sub(r"{{\1}}", text).replace("](", "] (")
