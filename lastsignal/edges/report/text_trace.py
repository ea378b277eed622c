"""The terminal text of one trace: a block for one in trouble, a line for the others."""

from __future__ import annotations

from itertools import groupby

from rich.cells import cell_len
from rich.text import Text

from lastsignal.core.diagnosis import Diagnosis, Moment, Outcome
from lastsignal.core.diagnosis.findings import Evidence, Finding
from lastsignal.core.rules import Severity
from lastsignal.edges.report import importance, phrases, tallies
from lastsignal.edges.report.importance import Fold
from lastsignal.edges.report.page import Page, row
from lastsignal.edges.report.visible import shorten

MAX_EVIDENCE = 5
MAX_SYMPTOMS = 6
MAX_MOMENTS = 8
MAX_OTHER = 5
MANY_FINDINGS = 10
"""More of a trace than these are counted in its second line, before any is told."""

OUTCOME_STYLES: dict[Outcome, str] = {
    "failed": "bold red",
    "aborted": "bold magenta",
    "unfinished": "bold yellow",
    "recovered": "bold cyan",
    "succeeded": "bold green",
}
SEVERITY_STYLES: dict[Severity, str] = {"critical": "red", "warning": "yellow", "info": "cyan"}


def write_block(page: Page, trace: Diagnosis) -> None:
    """Write everything that a person wants to know of a trace in trouble."""
    write_headline(page, trace)
    if trace.cause is not None:
        page.section("Cause", _cause(trace.cause))
        page.section("Evidence", _evidence(page, trace.cause))
    home = phrases.home_of(trace)
    page.section("Led to", _symptoms(trace, home), hang=2)
    page.section("Timeline", _timeline(page, trace, home))
    page.section("Cost", _cost(trace))
    if trace.cause is not None:
        steps = [Text(step) for step in phrases.steps(trace.cause.remedy)]
        page.section("Remedy", steps, hang=3 if len(steps) > 1 else 0, style="bold green")
    page.section("Also", _others(trace, home), hang=2)
    unchecked = tallies.unchecked([trace])
    page.section("Unchecked", [Text(unchecked, "dim")] if unchecked else [])


def write_headline(page: Page, trace: Diagnosis) -> None:
    """Write how a trace ended, of what, and which one it is."""
    after = f" after {phrases.took(trace)}" if phrases.took(trace) else ""
    word = f"{phrases.SYMBOLS[trace.outcome]} {trace.outcome.upper()}"
    page.flow(
        Text.assemble(
            (word, OUTCOME_STYLES[trace.outcome]),
            after,
            ": " if trace.outcome != "succeeded" else ", but: ",
            (phrases.cause_title(trace), "bold"),
        ),
        indent=0,
    )
    page.join(_identity(trace), indent=2)


def write_line(page: Page, trace: Diagnosis, id_cells: int) -> None:
    """Write a trace that needs no more than a line; ids are padded to `id_cells`."""
    name = phrases.identifier(trace.trace_id)
    details = [*phrases.spent(trace), *phrases.who(trace, most=1)]
    if trace.findings():
        details.insert(0, f"noted: {_titles(trace)}")
    text = Text.assemble(
        (f"{phrases.SYMBOLS[trace.outcome]} {trace.outcome:9}", OUTCOME_STYLES[trace.outcome]),
        f"  {name}{' ' * (id_cells - cell_len(name))}  ",
        (" · ".join(details), "dim"),
    )
    text.truncate(page.width, overflow="ellipsis")
    page.line(text)


def _identity(trace: Diagnosis) -> list[Text]:
    started = phrases.show_time(trace.started_at)
    details = [*phrases.who(trace), *([started] if started else [])]
    name = Text.assemble(("trace ", "dim"), phrases.identifier(trace.trace_id))
    found = trace.findings()
    if len(found) > MANY_FINDINGS:
        details.append(f"{len(found):,} findings: {tallies.severities(found)}")
    return [name, *(Text(one, "dim") for one in details)]


def _cause(cause: Finding) -> list[Text]:
    facts = [f"rule {phrases.identifier(cause.rule)}", cause.severity]
    if cause.count > 1:
        facts.append(f"seen {phrases.count(cause.count, 'time')}")
    return [Text(phrases.paragraph(cause.cause)), Text(" · ".join(facts), "dim")]


def _evidence(page: Page, cause: Finding) -> list[Text]:
    first, _, last = phrases.abridged(cause.evidence, MAX_EVIDENCE)
    hidden = phrases.untold(cause, first + last)
    rows: list[Text] = []
    above = None
    for part in (first, last):
        for source, group in groupby(part, key=lambda one: one.source):
            rows += _places(page, source, list(group), source != above)
            above = source
        if part is first and hidden > 0:
            rows.append(Text(f"… {phrases.more(hidden)}", "dim"))
    return rows


def _places(page: Page, source: str, evidence: list[Evidence], is_new: bool) -> list[Text]:
    """Return `file:line  excerpt` rows; a long path stands alone, above its lines."""
    shown = phrases.path(source)
    long = cell_len(shown) > page.body_width // 2
    rows = [Text(shown, "bold", no_wrap=True)] if long and is_new else []
    names = [("" if long else shown) + f":{one.line}" for one in evidence]
    widest = max(cell_len(name) for name in names)
    for name, one in zip(names, evidence, strict=True):
        padding = " " * (widest - cell_len(name) + 2)
        excerpt = phrases.excerpt(one, page.body_width - widest - 2)
        rows.append(row((name, "bold"), padding, excerpt))
    return rows


def _symptoms(trace: Diagnosis, home: str | None) -> list[Text]:
    folds, hidden = importance.most_serious(importance.folded(trace.symptoms), MAX_SYMPTOMS)
    rows = [
        Text.assemble((phrases.title(fold.first.title), "bold"), _details(fold, home))
        for fold in folds
    ]
    return rows + _hidden(hidden)


def _others(trace: Diagnosis, home: str | None) -> list[Text]:
    ranked = sorted(importance.folded(trace.other), key=lambda fold: fold.rank)
    folds, hidden = importance.most_serious(ranked, MAX_OTHER)
    return [_other(fold, home) for fold in folds] + _hidden(hidden)


def _other(fold: Fold, home: str | None) -> Text:
    finding = fold.first
    healed = ", healed" if finding.healed else ""
    return Text.assemble(
        (f"{finding.severity}{healed}  ", SEVERITY_STYLES[finding.severity]),
        phrases.title(finding.title),
        _details(fold, home),
    )


def _hidden(findings: int) -> list[Text]:
    return [Text(f"… {phrases.more(findings)}", "dim")] if findings else []


def _details(fold: Fold, home: str | None) -> Text:
    finding = fold.first
    summary, places = phrases.summary_of(finding), phrases.places(finding.evidence, home)
    more = importance.others(fold)
    return Text.assemble(
        f": {summary}" if summary else "",
        (f" ({places})" if places else "", "dim"),
        f"; {more}" if more else "",
    )


def _timeline(page: Page, trace: Diagnosis, home: str | None) -> list[Text]:
    first, hidden, last = phrases.abridged(trace.timeline, MAX_MOMENTS)
    shown = first + last
    blamed = {_record_of(one) for one in trace.cause.evidence} if trace.cause else set()
    clocks = _aligned([phrases.clock(trace, moment) for moment in shown])
    names = _aligned([_place(moment.at, home, page.body_width // 4) for moment in shown])
    rows = []
    for clock, name, moment in zip(clocks, names, shown, strict=True):
        is_cause = _record_of(moment.at) in blamed
        lead = f"{clock}  {name}  " if trace.started_at is not None else f"{name}  "
        happening = shorten(phrases.happening(moment), page.body_width - cell_len(lead) - 2)
        style = _moment_style(moment, is_cause)
        rows.append(row(("> " if is_cause else "  ", style), (lead, "dim"), (happening, style)))
    if hidden:
        rows.insert(len(first), Text(f"  … {phrases.more(hidden)}", "dim"))
    if rows and home is not None and not (trace.cause and trace.cause.evidence):
        rows.insert(0, row((phrases.path(home), "bold")))
    return rows


def _record_of(at: Evidence) -> tuple[object, ...]:
    """Return what tells a record from the others of its line: a document may be one line."""
    return at.source, at.line, at.offset, at.event_type


def _place(at: Evidence, home: str | None, cells: int) -> str:
    if at.source == home:
        return f"line {at.line}"
    return f"{shorten(phrases.path(at.source), cells)}:{at.line}"


def _aligned(texts: list[str]) -> list[str]:
    widest = max(map(cell_len, texts), default=0)
    return [" " * (widest - cell_len(text)) + text for text in texts]


def _moment_style(moment: Moment, is_cause: bool) -> str:
    if is_cause:
        return "bold red"
    return "red" if moment.status == "failed" or moment.at.event_type == "process_error" else ""


def _cost(trace: Diagnosis) -> list[Text]:
    rows = [Text(" · ".join(phrases.spent(trace)))] if phrases.spent(trace) else []
    lost = phrases.wasted(trace.wasted)
    if lost:
        rows.append(Text(f"of which after the cause had shown: {' · '.join(lost)}", "yellow"))
    return rows


def _titles(trace: Diagnosis) -> str:
    return ", ".join(dict.fromkeys(phrases.title(finding.title) for finding in trace.findings()))
