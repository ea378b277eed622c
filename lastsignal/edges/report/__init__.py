"""Report formats: what `diagnose` found, as text for people and documents for machines."""

from __future__ import annotations

from collections.abc import Callable

from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.diagnosis.report import Report
from lastsignal.edges.report import json_document, junit, markdown, ndjson, sarif, text
from lastsignal.edges.report.options import Options, wants_color
from lastsignal.errors import UsageError

__all__ = ["FORMATS", "Options", "quoted", "render", "wants_color"]

FORMATS: dict[str, Callable[[Report, Options], str]] = {
    "text": text.render,
    "json": json_document.render,
    "ndjson": ndjson.render,
    "markdown": markdown.render,
    "junit": junit.render,
    "sarif": sarif.render,
}
_QUOTES_CAUSES = frozenset({"text", "markdown"})
"""Formats for people: of all other findings they show the place, not the record."""


def quoted(report: Report, format: str) -> list[Finding]:
    """Return the findings whose evidence a format shows with its text; reading it costs."""
    if format in _QUOTES_CAUSES:
        return [trace.cause for trace in report.traces if trace.cause]
    return report.findings()


def render(report: Report, format: str, options: Options | None = None) -> str:
    """Return the report in a format; whatever is returned ends with a newline.

    Raises:
        UsageError: there is no such format.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format `{format}`; choose one of {', '.join(FORMATS)}")
    return FORMATS[format](report, options or Options())
