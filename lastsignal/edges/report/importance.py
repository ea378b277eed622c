"""What a reader must see first, and what is told once for many: order, folding, an overview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.rules import SEVERITIES
from lastsignal.edges.report import phrases

MAX_NAMES = 3
_NAMED_BY = ("operation", "model", "agent")
"""The fields of a group that say, in this order, what a finding is of."""


class Fold(msgspec.Struct, frozen=True):
    """Findings of one rule in one trace that a reader needs no more than once."""

    findings: list[Finding]
    """In the order in which they were given, at least one."""

    @property
    def first(self) -> Finding:
        """The one that is told in full."""
        return self.findings[0]

    @property
    def rank(self) -> tuple[int, bool]:
        """A sort key by which the most serious come first; what healed comes after what did not."""
        return -SEVERITIES.index(self.first.severity), self.first.healed


def folded(findings: Iterable[Finding]) -> list[Fold]:
    """Return findings by rule, severity and whether they healed, in the order of the first."""
    folds: dict[tuple[str, str, bool], list[Finding]] = {}
    for one in findings:
        folds.setdefault((one.rule, one.severity, one.healed), []).append(one)
    return [Fold(found) for found in folds.values()]


def most_serious(folds: Sequence[Fold], most: int) -> tuple[list[Fold], int]:
    """Return the folds to show, in their own order, and how many findings that leaves out."""
    places = sorted(range(len(folds)), key=lambda place: folds[place].rank)
    shown = [folds[place] for place in sorted(places[:most])]
    return shown, sum(len(folds[place].findings) for place in places[most:])


def others(fold: Fold) -> str:
    """Return how many more a fold holds, and of what; empty where that is none."""
    more = fold.findings[1:]
    if not more:
        return ""
    names = Counter(name for one in more if (name := _name(one)))
    if set(names) <= {_name(fold.first)}:
        return f"{len(more):,} more like it"
    named = [
        f"`{phrases.identifier(name)}`" + (f" ({number:,})" if number > 1 else "")
        for name, number in names.most_common(MAX_NAMES)
    ]
    hidden = len(names) - len(named)
    tail = f" {phrases.more(hidden)}" if hidden else ""
    return f"{len(more):,} more like it: {', '.join(named)}{tail}"


def by_importance(traces: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Return the traces by how much is wrong with them, and those alike in their own order."""
    outcomes = list(phrases.SYMBOLS)
    return sorted(traces, key=lambda trace: (-_severity(trace), outcomes.index(trace.outcome)))


def causes(traces: Sequence[Diagnosis], most: int) -> tuple[list[tuple[str, int]], int]:
    """Return what most of the traces died of and how many of it, and how many are left out."""
    tally = Counter(phrases.cause_title(trace) for trace in traces)
    shown = tally.most_common(most)
    return shown, len(traces) - sum(number for _, number in shown)


def _severity(trace: Diagnosis) -> int:
    """Return the rank of the worst finding; an end in failure that none explains is a warning."""
    found = [SEVERITIES.index(one.severity) for one in trace.findings()]
    return max(found, default=SEVERITIES.index("warning"))


def _name(finding: Finding) -> str:
    found = (finding.group.get(field) for field in _NAMED_BY)
    return next((str(name) for name in found if name), "")
