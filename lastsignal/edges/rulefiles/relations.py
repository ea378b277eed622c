"""What rules say of one another: each name is a rule, and causes never run in a circle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lastsignal.core.rules import Rule
from lastsignal.core.spelling import nearest
from lastsignal.edges.rulefiles.documents import Document
from lastsignal.errors import Problem


def check_relations(documents: Sequence[Document], by_id: Mapping[str, Rule]) -> Iterator[Problem]:
    """Tell of names in `explains` and `superseded_by` that are no rules, and of circles."""
    names = {document.rule_id for document in documents} - {None}
    known = sorted(name for name in names if name is not None)
    for document in documents:
        explained = document.raw.get("explains") if isinstance(document.raw, dict) else None
        for index, name in enumerate(explained if isinstance(explained, list) else ()):
            if isinstance(name, str) and name not in names:
                message = f"explains `{name}`, which is no rule"
                yield document.problem(f"explains[{index}]", message, _meant(name, known))
        heir = document.raw.get("superseded_by") if isinstance(document.raw, dict) else None
        if isinstance(heir, str) and heir not in names:
            message = f"superseded by `{heir}`, which is no rule"
            yield document.problem("superseded_by", message, _meant(heir, known))
        rule = by_id.get(document.rule_id or "")
        if rule is not None and rule.origin == document.path:
            yield from _circles(document, rule, by_id)


def _circles(document: Document, rule: Rule, by_id: Mapping[str, Rule]) -> Iterator[Problem]:
    for index, name in enumerate(rule.text.explains):
        if name == rule.id or rule.id in _explained(name, by_id):
            itself = "itself" if name == rule.id else f"`{name}`, which explains it in turn"
            yield document.problem(
                f"explains[{index}]",
                f"`{rule.id}` explains {itself}",
                "a cause cannot be its own symptom: "
                + ("remove it" if name == rule.id else "remove one of the two"),
            )


def _meant(name: str, known: Sequence[str]) -> str:
    fix = nearest(name, known, "")
    return fix if fix.startswith("did you mean") else "see `lastsignal rules list`"


def _explained(name: str, by_id: Mapping[str, Rule]) -> set[str]:
    reached: set[str] = set()
    todo = [name]
    while todo:
        rule = by_id.get(todo.pop())
        for other in rule.text.explains if rule else ():
            if other not in reached:
                reached.add(other)
                todo.append(other)
    return reached
