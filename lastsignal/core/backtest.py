"""What rules would have said of past traces, and how right they would have been."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.rules import Rule, Severity


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody says is true of a trace; without a rule: that none should fire."""

    trace_id: str
    rule: str | None = None


class RuleScore(msgspec.Struct, frozen=True, kw_only=True):
    """One rule over all traces."""

    rule: str
    severity: Severity
    firings: int
    """Findings: a rule fires once a group, however often its condition is met after that."""
    traces: list[str]
    """Traces in which it fired, in order of their start."""
    healed: int
    not_checked: int
    """Traces whose records carry too little for it."""
    right: int = 0
    wrong: list[str] = []
    """Traces in which it fired and no label says so."""
    missed: list[str] = []
    """Traces of which a label says that it should have fired."""

    @property
    def precision(self) -> float | None:
        """Share of the traces in which it fired rightly; None where it never fired."""
        told = self.right + len(self.wrong)
        return self.right / told if told else None

    @property
    def recall(self) -> float | None:
        """Share of the labelled traces in which it fired; None where no label names it."""
        labelled = self.right + len(self.missed)
        return self.right / labelled if labelled else None


def score(
    rules: Sequence[Rule], traces: Sequence[Diagnosis], labels: Iterable[Label] | None
) -> list[RuleScore]:
    """Return a score for each rule; without labels nothing is right or wrong."""
    expected = {(one.trace_id, one.rule) for one in labels or () if one.rule is not None}
    scores = []
    for rule in rules:
        found = [one for trace in traces for one in trace.findings() if one.rule == rule.id]
        fired = [t.trace_id for t in traces if any(f.rule == rule.id for f in t.findings())]
        wanted = sorted(trace for trace, name in expected if name == rule.id)
        scores.append(
            RuleScore(
                rule=rule.id,
                severity=rule.text.severity,
                firings=len(found),
                traces=fired,
                healed=sum(one.healed for one in found),
                not_checked=sum(rule.id in trace.not_checked for trace in traces),
                right=sum((trace, rule.id) in expected for trace in fired),
                wrong=[t for t in fired if (t, rule.id) not in expected] if labels else [],
                missed=[trace for trace in wanted if trace not in fired],
            )
        )
    return scores
