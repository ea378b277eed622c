"""markdown: for a comment on a pull request or an incident ticket; fits into GitHub's limit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.diagnosis.findings import Evidence, Finding
from lastsignal.core.diagnosis.report import Report
from lastsignal.edges.report import importance, phrases, tallies
from lastsignal.edges.report.importance import Fold
from lastsignal.edges.report.options import Options
from lastsignal.edges.report.visible import shorten, visible

MAX_CHARACTERS = 60_000  # GitHub refuses a comment of more than 65,536
MAX_EVIDENCE = 5
MAX_FINDINGS = 5
MAX_MOMENTS = 10
MAX_LINES = 10
MAX_CAUSES = 8
MANY_TRACES = 5
MANY_FINDINGS = 10

_LONG, _SHORT = 1000, 160  # characters of prose, and of an excerpt or a moment
_SPECIAL = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")
_LINKS = re.compile(r"(?i)(?<=\bwww)(?=\.)|(?=://)")
_MENTIONS = re.compile(r"(?<=@)(?=\w)|(?<=[#!&])(?=\d)")
_INVISIBLE = "\u200b"  # no escape stops a mention, which hosts look for after rendering


def render(report: Report, options: Options) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    troubled = importance.by_importance(filter(phrases.is_troubled, report.traces))
    healthy = [trace for trace in report.traces if not phrases.is_troubled(trace)]
    closing = "\n".join([*_healthy(healthy), *_inputs(report)])
    text = f"## {_verdict(report)}\n{_overview(troubled)}"
    for number, trace in enumerate(troubled):
        block = "\n".join(_block(trace))
        if len(text) + len(block) + len(closing) > MAX_CHARACTERS:
            text += f"\n…{phrases.more(len(troubled) - number)} in trouble\n"
            break
        text += f"\n{block}\n"
    return f"{text}\n{closing}\n"


def escape(text: str, most: int = _LONG) -> str:
    """Return text that renders as itself: no markup, no HTML, no link, no mention."""
    return _escaped(shorten(visible(text), most))


def prose(text: str) -> str:
    """Return text of a rule: what stands between backticks is code, the rest is escaped."""
    parts = re.split(r"`([^`]+)`", shorten(visible(text), _LONG))
    return "".join(code(part) if index % 2 else _escaped(part) for index, part in enumerate(parts))


def code(text: str, most: int = _LONG) -> str:
    """Return a code span of the text, whatever backticks it holds."""
    shown = shorten(visible(text), most)
    if not shown:
        return ""
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def _escaped(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\g<0>", text)
    return _MENTIONS.sub(_INVISIBLE, _LINKS.sub(r"\\", escaped))


def _verdict(report: Report) -> str:
    if not report.traces:
        return "No traces found" if report.inputs else "Nothing was read"
    found = tallies.severities(report.findings()) or "none"
    count = phrases.count(len(report.traces), "trace")
    return f"{count}: {tallies.outcomes(report.traces)} · findings: {found}"


def _overview(troubled: Sequence[Diagnosis]) -> str:
    """Return what most runs died of, where there are too many to read each."""
    if len(troubled) <= MANY_TRACES:
        return ""
    shown, hidden = importance.causes(troubled, MAX_CAUSES)
    rows = [f"- {phrases.count(number, 'run')}: {escape(title)}" for title, number in shown]
    rows += [f"- … {phrases.more(hidden)}"] if hidden else []
    return "\n" + "\n".join(rows) + "\n"


def _block(trace: Diagnosis) -> list[str]:
    after = f" after {phrases.took(trace)}" if phrases.took(trace) else ""
    word = f"{phrases.SYMBOLS[trace.outcome]} {trace.outcome.capitalize()}"
    home = phrases.home_of(trace) if trace.cause and trace.cause.evidence else None
    lines = [f"### {word}{after}: {escape(phrases.cause_title(trace))}", "", _identity(trace), ""]
    if trace.cause is not None:
        lines += _cause(trace.cause)
    lines += _listed("Led to", importance.folded(trace.symptoms), home)
    lines += _cost(trace)
    if trace.cause is not None:
        lines += _remedy(trace.cause)
    ranked = sorted(importance.folded(trace.other), key=lambda fold: fold.rank)
    lines += _listed("Also", ranked, home)
    lines += _unchecked([trace])
    return lines + _timeline(trace, home)


def _identity(trace: Diagnosis) -> str:
    started = phrases.show_time(trace.started_at)
    details = [escape(one) for one in phrases.who(trace)] + ([started] if started else [])
    found = trace.findings()
    if len(found) > MANY_FINDINGS:
        details.append(f"{len(found):,} findings: {tallies.severities(found)}")
    return " · ".join([f"Trace {code(phrases.identifier(trace.trace_id))}", *details])


def _cause(cause: Finding) -> list[str]:
    seen = f", seen {phrases.count(cause.count, 'time')}" if cause.count > 1 else ""
    rule = code(phrases.identifier(cause.rule))
    told = prose(phrases.paragraph(cause.cause))
    first, _, last = phrases.abridged(cause.evidence, MAX_EVIDENCE)
    hidden = phrases.untold(cause, first + last)
    rows = [_evidence(one) for one in first]
    rows += [f"- … {phrases.more(hidden)}"] if hidden > 0 else []
    rows += [_evidence(one) for one in last]
    lines = [f"**Cause.** {told} ({rule}, {cause.severity}{seen})", ""]
    return lines + (["**Evidence**", "", *rows, ""] if rows else [])


def _remedy(cause: Finding) -> list[str]:
    steps = phrases.steps(cause.remedy)
    if len(steps) < 2:
        return [f"**Remedy.** {prose(phrases.paragraph(cause.remedy))}", ""]
    numbered = [
        f"{number}. {prose(step.removeprefix(f'{number}. '))}"
        for number, step in enumerate(steps, 1)
    ]
    return ["**Remedy**", "", *numbered, ""]


def _evidence(one: Evidence) -> str:
    place = code(f"{phrases.path(one.source)}:{one.line}")
    return f"- {place} {code(phrases.excerpt(one, _SHORT))}".rstrip()


def _listed(label: str, folds: Sequence[Fold], home: str | None) -> list[str]:
    if not folds:
        return []
    shown, hidden = importance.most_serious(folds, MAX_FINDINGS)
    lines = [f"**{label}**", ""]
    for fold in shown:
        finding = fold.first
        summary, more = phrases.summary_of(finding), importance.others(fold)
        said = f": {prose(summary)}" if summary else ""
        healed = ", healed" if finding.healed else ""
        places = escape(phrases.places(finding.evidence, home, most=3))
        lines.append(
            f"- **{escape(phrases.title(finding.title))}** ({finding.severity}{healed}){said}"
            + (f" ({places})" if places else "")
            + (f"; {prose(more)}" if more else "")
        )
    if hidden:
        lines.append(f"- … {phrases.more(hidden)}")
    return [*lines, ""]


def _cost(trace: Diagnosis) -> list[str]:
    total, lost = phrases.spent(trace), phrases.wasted(trace.wasted)
    if not total:
        return []
    after = f"; of which after the cause had shown: {' · '.join(lost)}" if lost else ""
    return [f"**Cost.** {' · '.join(total)}{after}".replace("$", r"\$"), ""]


def _unchecked(traces: Sequence[Diagnosis]) -> list[str]:
    rules = tallies.unchecked(traces)
    return [f"**Unchecked.** {escape(rules)}.", ""] if rules else []


def _timeline(trace: Diagnosis, home: str | None) -> list[str]:
    first, hidden, last = phrases.abridged(trace.timeline, MAX_MOMENTS)
    rows = []
    for moment in first + last:
        place = phrases.places([moment.at], home)
        clock = phrases.clock(trace, moment)
        when = f"{clock}, {escape(place, _SHORT)}" if clock else escape(place, _SHORT)
        rows.append(f"- {when}: {escape(phrases.happening(moment), _SHORT)}")
    if hidden:
        rows.insert(len(first), f"- … {phrases.more(hidden)}")
    if not rows:
        return []
    return ["<details><summary>Timeline</summary>", "", *rows, "", "</details>", ""]


def _healthy(traces: Sequence[Diagnosis]) -> list[str]:
    if not traces:
        return []
    if len(traces) > MAX_LINES:
        count = phrases.count(len(traces), "healthy trace")
        return [f"✓ {count}: {tallies.outcomes(traces)}.", "", *_unchecked(traces)]
    lines = []
    for trace in traces:
        notes = dict.fromkeys(phrases.title(finding.title) for finding in trace.findings())
        details = [f"noted: {', '.join(notes)}"] if notes else []
        told = " · ".join(escape(one, _SHORT) for one in [*phrases.spent(trace), *details])
        name = code(phrases.identifier(trace.trace_id))
        lines.append(f"- {phrases.SYMBOLS[trace.outcome]} {trace.outcome} {name} {told}".rstrip())
    return [*lines, "", *_unchecked(traces)]


def _inputs(report: Report) -> list[str]:
    inputs = tallies.unread(report)
    lines = []
    for one in inputs[:MAX_LINES]:
        advice = one.advice or "no event could be read from it"
        lines.append(f"- ⚠ {code(phrases.path(one.source))}: {escape(advice, _SHORT * 2)}")
    if len(inputs) > MAX_LINES:
        lines.append(f"- … {phrases.more(len(inputs) - MAX_LINES)} that gave no event")
    if lines:
        lines.append("")
    for odd in tallies.mended(report):
        lines += [f"- ⚠ {escape(odd, _SHORT * 2)}", ""]
    if report.evicted_traces:
        lines += [tallies.evicted(report), ""]
    return [*lines, f"Read: {' · '.join(escape(one) for one in tallies.reading(report))}"]
