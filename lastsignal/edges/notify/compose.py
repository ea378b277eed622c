"""Notices → letters: what happened, why, on which lines it shows, what to do, where to look."""

from __future__ import annotations

from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.durations import show_duration
from lastsignal.core.incidents import Incident, Notice, rank, standing_since, told_severity
from lastsignal.edges.notify.document import document_of
from lastsignal.edges.notify.letter import Letter, Line, Part
from lastsignal.edges.notify.wording import around, clean, count, shorten, show_time, steps

MAX_EVIDENCE = 5
MAX_RULES = 10

_RECORD = 20_000  # characters of a record that are looked at

_NAME, _TITLE, _SENTENCE, _PARAGRAPH, _EXCERPT, _PATH = 80, 150, 400, 1200, 300, 300
_KINDS = {"opened": "opened", "repeated": "still open", "resolved": "resolved"}


def compose(notice: Notice) -> Letter:
    """Return what a notice says to people and to machines."""
    return _digest(notice) if notice.kind == "digest" else _single(notice)


def _single(notice: Notice) -> Letter:
    incident = notice.incidents[0]
    over = notice.kind == "resolved"
    parts = [Part((Line(clean(incident.summary, _SENTENCE)),))]
    if not over:
        parts += [
            Part((Line(clean(incident.cause, _PARAGRAPH)),), "Cause"),
            _remedy(incident),
            _evidence(incident.evidence),
        ]
    parts += [_facts(notice, incident), _command("Look further", f"show {incident.id}")]
    return Letter(
        title=_title(notice, incident),
        severity=told_severity(incident),
        over=over,
        parts=tuple(part for part in parts if any(map(_says, part.lines))),
        document=document_of(notice),
    )


def _title(notice: Notice, incident: Incident) -> str:
    severity = told_severity(incident).upper()
    starts = {"repeated": f"{severity}, still open", "resolved": "Resolved"}
    who = ", ".join(clean(name, _NAME) for name in incident.agents[:2])
    where = who or clean(incident.framework or "", _NAME)
    title = f"{starts.get(notice.kind, severity)}: {clean(incident.title, _TITLE)}"
    return f"{title} ({where})" if where else title


def _remedy(incident: Incident) -> Part:
    found = steps(clean(incident.remedy, _PARAGRAPH))
    return Part(tuple(Line(step) for step in found), "Remedy")


def _evidence(marks: list[Evidence]) -> Part:
    shown = marks if len(marks) <= MAX_EVIDENCE else [*marks[:3], *marks[3 - MAX_EVIDENCE :]]
    lines = [
        Line(place=f"{clean(mark.source, _PATH)}:{mark.line}", quote=_excerpt(mark))
        for mark in shown
    ]
    if len(marks) > len(shown):
        lines.insert(3, Line(f"… {count(len(marks) - len(shown), 'more line')} …"))
    return Part(tuple(lines), "Evidence", listed=True)


def _excerpt(mark: Evidence) -> str:
    """Return a record's text around what matters in it; cut only where no secret is left."""
    text, focus = clean(mark.excerpt, _RECORD), clean(mark.focus, _EXCERPT)
    return shorten(around(text, focus, _EXCERPT), _EXCERPT)


def _facts(notice: Notice, incident: Incident) -> Part:
    seen = "once" if incident.count == 1 else f"{incident.count:,} times"
    facts = [f"Trace {clean(incident.trace_id, _NAME)}"]
    if incident.framework:
        facts.append(clean(incident.framework, _NAME))
    since = standing_since(incident)
    if notice.kind == "resolved":
        length = show_duration(max(0.0, (incident.resolved_at or since) - since))
        facts.append(f"seen {seen}, open for {length}")
    else:
        facts += [f"seen {seen}", f"open since {show_time(since)}", f"rule {incident.rule}"]
    return Part((Line(", ".join(facts)),))


def _digest(notice: Notice) -> Letter:
    listed = notice.incidents
    over = set(notice.by_kind) == {"resolved"}
    kinds = ", ".join(f"{n:,} {_KINDS.get(kind, kind)}" for kind, n in notice.by_kind.items())
    worst = max(listed, key=lambda one: rank(told_severity(one)))
    parts = [
        Part((Line(_why(notice)),)),
        Part(tuple(_rule_lines(notice)), "By rule", listed=True),
        Part(tuple(map(_listed, listed)), "Among them", listed=True),
        _command("All of them", "list"),
    ]
    return Letter(
        title=f"{count(notice.total, 'incident')}: {kinds}",
        severity=told_severity(worst),
        over=over,
        parts=tuple(part for part in parts if part.lines),
        document=document_of(notice),
    )


def _why(notice: Notice) -> str:
    if notice.folded:
        return (
            f"{count(notice.folded, 'message')} waited for this target, more than it can take;"
            " this one stands for all of them."
        )
    return "More happened at once than is told one by one."


def _rule_lines(notice: Notice) -> list[Line]:
    rules = list(notice.by_rule.items())
    lines = [Line(f"{rule}: {number:,}") for rule, number in rules[:MAX_RULES]]
    if len(rules) > MAX_RULES:
        rest = sum(number for _, number in rules[MAX_RULES:])
        lines.append(Line(f"… {count(len(rules) - MAX_RULES, 'more rule')}: {rest:,}"))
    return lines


def _listed(incident: Incident) -> Line:
    state = "resolved" if incident.state == "resolved" else told_severity(incident).upper()
    text = f"{state} {clean(incident.title, _TITLE)} (trace {clean(incident.trace_id, _NAME)})"
    return Line(text, place=incident.id)


def _command(label: str, arguments: str) -> Part:
    return Part((Line(quote=f"lastsignal incidents {arguments}"),), label)


def _says(line: Line) -> bool:
    return bool(line.prose or line.place or line.quote)
