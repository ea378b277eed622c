"""Report formats: what `diagnose` found, as text for people and documents for machines."""

from __future__ import annotations

from collections.abc import Callable

from lastsignal.core.report import Report
from lastsignal.edges.report import json_document, junit, markdown, ndjson, sarif, text
from lastsignal.edges.report.options import Options, wants_color
from lastsignal.errors import UsageError

__all__ = ["FORMATS", "Options", "render", "wants_color"]

FORMATS: dict[str, Callable[[Report, Options], str]] = {
    "text": text.render,
    "json": json_document.render,
    "ndjson": ndjson.render,
    "markdown": markdown.render,
    "junit": junit.render,
    "sarif": sarif.render,
}


def render(report: Report, format: str, options: Options | None = None) -> str:
    """Return the report in a format; whatever is returned ends with a newline.

    Raises:
        UsageError: there is no such format.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format `{format}`; choose one of {', '.join(FORMATS)}")
    return FORMATS[format](report, options or Options())
