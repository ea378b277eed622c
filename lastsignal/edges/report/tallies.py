"""The words for many: how runs ended, what was found, read, left unread and not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lastsignal.core.aliases.reading.recognition import REFUSALS
from lastsignal.core.aliases.reading.repeated_keys import ALL_OF
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.diagnosis.report import InputSummary, Report
from lastsignal.core.rules import SEVERITIES
from lastsignal.edges.report import phrases

MAX_FORMATS = 12
_ODD = {
    "duplicate_key": (
        "holds a key twice",
        "hold a key twice",
        "the last value counts, as JSON decoders have it; let the writer name each key once",
    ),
    "invalid_utf8": (
        "holds bytes that are no UTF-8",
        "hold bytes that are no UTF-8",
        "each is read as `?`",
    ),
    "nonstandard_json": (
        "is not quite JSON",
        "are not quite JSON",
        "NaN and infinities count as unknown, halves of characters and comments are passed over",
    ),
    "unusable_time": (
        "has a time that cannot be",
        "have a time that cannot be",
        "each takes the time of the record before it; look at the writer's clock and unit",
    ),
}
NOT_CLEAN = "the records carry too little to tell, and not checked is not clean"


def outcomes(traces: Iterable[Diagnosis]) -> str:
    """Return `1 failed, 2 succeeded`."""
    tally = Counter(trace.outcome for trace in traces)
    return ", ".join(
        f"{tally[outcome]:,} {outcome}" for outcome in phrases.SYMBOLS if tally[outcome]
    )


def severities(findings: Iterable[Finding]) -> str:
    """Return `1 critical, 2 warning`."""
    tally = Counter(finding.severity for finding in findings)
    return ", ".join(f"{tally[one]:,} {one}" for one in reversed(SEVERITIES) if tally[one])


def unread(report: Report) -> list[InputSummary]:
    """Return the inputs that gave no event, and should have: an archive holds headers and
    summaries beside the runs themselves, and they are known as such."""
    told = {_archive(one) for one in report.inputs if one.events}

    def is_beside(one: InputSummary) -> bool:
        is_known = bool(one.format) and REFUSALS.isdisjoint(one.skipped)
        return is_known and bool(_archive(one)) and _archive(one) in told

    return [one for one in report.inputs if not one.events and not is_beside(one)]


def _archive(one: InputSummary) -> str:
    return one.source.rpartition("!")[0]


def unchecked(traces: Sequence[Diagnosis]) -> str:
    """Return which rules could not be checked in these traces, and what that means; empty where
    all could."""
    tally = Counter(rule for trace in traces for rule in trace.not_checked)
    if not tally:
        return ""
    named = []
    for rule, number in tally.most_common():
        where = f" ({phrases.count(number, 'trace')})" if len(traces) > 1 else ""
        named.append(phrases.identifier(rule) + where)
    return f"{', '.join(named)}: {NOT_CLEAN}"


def evicted(report: Report) -> str:
    """Return what is to be said of traces that were given up."""
    lost = phrases.count(report.evicted_traces, "trace")
    return f"{lost} given up for their number: their findings are incomplete"


def mended(report: Report) -> list[str]:
    """Return what was odd in the records and is used all the same: a sentence for each reason."""
    told = []
    for reason, (is_one, are_many, what) in _ODD.items():
        odd = [one for one in report.inputs if one.mended.get(reason)]
        if not odd:
            continue
        number = sum(one.mended[reason] for one in odd)
        first = f"{phrases.path(odd[0].source)}:{odd[0].first_mended[reason]}"
        where = f"in {first}" if number == 1 else f"the first in {first}"
        holds = is_one if number == 1 else are_many
        is_sample = reason == "duplicate_key" and any(one.records > ALL_OF for one in odd)
        at_least = "at least " if is_sample else ""
        told.append(f"{at_least}{phrases.count(number, 'record')} {holds} ({where}): {what}")
    return told


def reading(report: Report) -> list[str]:
    """Return what was read and what was not, each part as a phrase."""
    parts = [
        phrases.count(len(report.inputs), "input"),
        phrases.count(sum(one.records for one in report.inputs), "record"),
        phrases.count(report.events(), "event"),
    ]
    formats = dict.fromkeys(name for one in report.inputs for name in one.format)
    if formats:
        named = ", ".join(phrases.identifier(name) for name in list(formats)[:MAX_FORMATS])
        hidden = len(formats) - MAX_FORMATS
        parts.append(f"{named} {phrases.more(hidden)}" if hidden > 0 else named)
    skipped: Counter[str] = Counter()
    for one in report.inputs:
        skipped.update(one.skipped)
    total = skipped.total()
    if total:
        reasons = ", ".join(
            f"{n:,} {phrases.identifier(why)}" for why, n in skipped.most_common(6) if n
        )
        parts.append(f"{total:,} skipped ({reasons}{', …' if len(skipped) > 6 else ''})")
    return parts
