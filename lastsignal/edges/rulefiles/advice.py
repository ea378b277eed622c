"""Warnings of a rule set: of each rule by itself, and of what rules say of one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.rules import Rule
from lastsignal.core.rules.warnings import never_together, warnings_of
from lastsignal.edges.rulefiles.documents import Document
from lastsignal.edges.rulefiles.overrides import Override
from lastsignal.errors import Problem

_FRAMEWORKS = frozenset(dialect.framework for dialect in LADDER)


def advise(
    documents: Sequence[Document], by_id: Mapping[str, Rule], overrides: Mapping[str, Override]
) -> Iterator[Problem]:
    """Yield a warning for everything that can never matter."""
    for document in documents:
        rule = by_id.get(document.rule_id or "")
        if rule is None or rule.origin != document.path:
            continue
        told = [*warnings_of(rule, document.raw, _FRAMEWORKS), *_explains(rule, by_id, overrides)]
        for place, message, fix in told:
            yield replace(document.problem(place, message, fix), severity="warning")


def _explains(
    rule: Rule, by_id: Mapping[str, Rule], overrides: Mapping[str, Override]
) -> Iterator[tuple[str, str, str]]:
    for index, name in enumerate(rule.text.explains):
        symptom, place = by_id.get(name), f"explains[{index}]"
        if symptom is None:
            continue
        if name in overrides and not overrides[name].enabled:
            yield (
                place,
                f"`{name}` is switched off and is never a symptom",
                "remove it, or the override",
            )
        field = never_together(rule, symptom)
        if field is not None:
            message = f"`{name}` is never of the same {field} as this rule"
            yield place, message, "remove it, or group by less"
        if symptom.text.status == "deprecated" and symptom.text.superseded_by:
            message = f"`{name}` is deprecated"
            yield place, message, f"explain `{symptom.text.superseded_by}` instead"
