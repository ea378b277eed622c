"""Rule files: YAML on disk → rules, with every mistake at its `path:line`.

Built-in rules come first, then the user's directories in the order given; a user's file may be a
whole rule, or `override: <id>` with `params` or `enabled: false`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lastsignal.core.rules import Rule, Scalar
from lastsignal.edges.rulefiles.advice import advise
from lastsignal.edges.rulefiles.documents import Document, read_document, rule_files
from lastsignal.edges.rulefiles.overrides import (
    Override,
    check_overrides,
    parse_overridden,
    take_overrides,
)
from lastsignal.edges.rulefiles.relations import check_relations
from lastsignal.errors import Problem, RuleError

ID_PATTERN = re.compile(r"^[a-z][a-z0-9_]{2,69}$")


@dataclass(slots=True)
class RuleSet:
    """The rules of some directories, and everything that is wrong in them."""

    rules: list[Rule] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def errors(self) -> list[Problem]:
        """The problems that refuse the set; warnings do not."""
        return [problem for problem in self.problems if problem.severity == "error"]


def builtin_rules() -> Path:
    """Return the directory of the rules that come with the product."""
    packaged = Path(__file__).parents[2] / "rules"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "rules"


def load_rules(
    paths: Sequence[Path] = (),
    *,
    builtin: bool = True,
    params: Mapping[str, Mapping[str, Scalar]] | None = None,
) -> list[Rule]:
    """Return the rules of the built-in directory and of the user's paths.

    Args:
        paths: files, or directories searched for `*.yaml` and `*.yml`.
        builtin: whether the built-in rules come first.
        params: parameter values by rule id, over those of the files.

    Raises:
        RuleError: with every error of every file.
        InputError: a path does not exist or cannot be read.
    """
    loaded = read_rules(paths, builtin=builtin, params=params)
    if loaded.errors:
        raise RuleError(loaded.errors)
    return loaded.rules


def read_rules(
    paths: Sequence[Path] = (),
    *,
    builtin: bool = True,
    params: Mapping[str, Mapping[str, Scalar]] | None = None,
    warn: bool = False,
) -> RuleSet:
    """Return rules and problems together: what `rules lint` shows.

    Args:
        paths: as for `load_rules`.
        builtin: as for `load_rules`.
        params: as for `load_rules`.
        warn: whether to look also for what is useless without being wrong.

    Raises:
        InputError: a path does not exist or cannot be read.
    """
    found = RuleSet()
    documents: list[Document] = []
    for path in [*([builtin_rules()] if builtin else []), *paths]:
        for file in rule_files(path):
            document = read_document(file, found.problems)
            if document is not None:
                documents.append(document)
    overrides = take_overrides(documents, found.problems)
    for name, values in (params or {}).items():
        overrides.setdefault(name, Override()).params.update(values)
    by_id: dict[str, Rule] = {}
    for document in documents:
        _add_rule(document, overrides, by_id, found)
    names = {document.rule_id for document in documents if document.rule_id is not None}
    found.problems += [*check_overrides(overrides, names), *check_relations(documents, by_id)]
    if warn:
        found.problems += advise(documents, by_id, overrides)
    found.rules = [rule for rule in by_id.values() if overrides.get(rule.id, Override()).enabled]
    found.problems.sort()
    return found


def _add_rule(
    document: Document, overrides: Mapping[str, Override], by_id: dict[str, Rule], found: RuleSet
) -> None:
    name = document.rule_id
    if name is not None:
        found.problems += _check_id(document, name, by_id)
    rule = parse_overridden(document, overrides.get(name or ""), found.problems)
    if rule is not None and rule.id not in by_id:
        by_id[rule.id] = replace(rule, origin=document.path)


def _check_id(document: Document, name: str, by_id: Mapping[str, Rule]) -> Iterator[Problem]:
    if not ID_PATTERN.match(name):
        fix = "3 to 70 of a-z, 0-9 and _, a letter first"
        yield document.problem("id", f"`{name}` is no rule id", fix)
    elif Path(document.path).stem != name:
        message = f"the rule `{name}` is in a file of another name"
        yield document.problem("id", message, f"name the file {name}.yaml")
    if name in by_id:
        yield document.problem(
            "id",
            f"the rule `{name}` exists already, in {by_id[name].origin}",
            "give it another id; to change its parameters write `override: <id>`",
        )
