"""Text for a terminal: runs in trouble in full, the worst first; the others in a line each; then
what was read.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.diagnosis.report import Report
from lastsignal.edges.report import importance, phrases, tallies
from lastsignal.edges.report.options import Options
from lastsignal.edges.report.page import Page
from lastsignal.edges.report.text_trace import write_block, write_headline, write_line

MAX_BLOCKS = 20
MAX_HEADLINES = 30
MAX_LINES = 10
MAX_UNREAD = 10
MAX_CAUSES = 8
MANY_TRACES = 5
"""More traces in trouble than these are summed up before any is told."""


def render(report: Report, options: Options) -> str:
    """Return the report as a person at a terminal reads it."""
    page = Page(options)
    troubled = importance.by_importance(filter(phrases.is_troubled, report.traces))
    healthy = [trace for trace in report.traces if not phrases.is_troubled(trace)]
    if len(troubled) > MANY_TRACES:
        _write_overview(page, report, troubled)
    _write_troubled(page, troubled)
    _write_healthy(page, healthy)
    _write_unread(page, report)
    _write_summary(page, report)
    return page.text()


def _write_overview(page: Page, report: Report, troubled: Sequence[Diagnosis]) -> None:
    page.join(_verdict(report))
    shown, hidden = importance.causes(troubled, MAX_CAUSES)
    widest = len(f"{shown[0][1]:,}")
    for title, number in shown:
        page.flow(Text(f"{number:{widest},}  {title}"), 2)
    if hidden:
        page.line(Text(f"  … {phrases.more(hidden)}", "dim"))
    page.rule()


def _write_troubled(page: Page, traces: Sequence[Diagnosis]) -> None:
    for number, trace in enumerate(traces[:MAX_BLOCKS]):
        if number:
            page.rule()
        write_block(page, trace)
        page.blank()
    brief = traces[MAX_BLOCKS : MAX_BLOCKS + MAX_HEADLINES]
    for trace in brief:
        write_headline(page, trace)
    hidden = len(traces) - MAX_BLOCKS - len(brief)
    if hidden > 0:
        page.line(Text(f"… {phrases.more(hidden)}; the json and ndjson formats hold all", "dim"))
    if brief:
        page.blank()


def _write_healthy(page: Page, traces: Sequence[Diagnosis]) -> None:
    if not traces:
        return
    if len(traces) > MAX_LINES:
        page.line(
            Text(f"✓ {phrases.count(len(traces), 'healthy trace')}", "bold green"),
            f": {tallies.outcomes(traces)}",
        )
    else:
        widest = max(cell_len(phrases.identifier(trace.trace_id)) for trace in traces)
        for trace in traces:
            write_line(page, trace, widest)
    unchecked = tallies.unchecked(traces)
    if unchecked:
        page.flow(Text(f"Unchecked: {unchecked}", "dim"))
    page.blank()


def _write_unread(page: Page, report: Report) -> None:
    inputs = tallies.unread(report)
    for one in inputs[:MAX_UNREAD]:
        advice = phrases.paragraph(one.advice) if one.advice else "no event could be read from it"
        page.flow(
            Text.assemble(("! ", "bold yellow"), (phrases.path(one.source), "bold"), f": {advice}"),
            0,
        )
    if len(inputs) > MAX_UNREAD:
        page.line(Text(f"… {phrases.more(len(inputs) - MAX_UNREAD)} that gave no event", "dim"))
    if inputs:
        page.blank()


def _write_summary(page: Page, report: Report) -> None:
    page.rule()
    page.join(_verdict(report))
    page.join([Text(part, "dim") for part in tallies.reading(report)])
    for odd in tallies.mended(report):
        page.flow(Text(f"! {odd}", "yellow"), 0)
    if report.evicted_traces:
        page.flow(Text(f"! {tallies.evicted(report)}", "yellow"), 0)


def _verdict(report: Report) -> list[Text]:
    if not report.traces:
        return [Text("No traces found" if report.inputs else "Nothing was read", "bold")]
    count = phrases.count(len(report.traces), "trace")
    found = tallies.severities(report.findings())
    return [
        Text(f"{count}: {tallies.outcomes(report.traces)}", "bold"),
        Text(f"findings: {found}" if found else "no findings"),
    ]
