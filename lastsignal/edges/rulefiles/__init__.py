"""Rule files: YAML on disk → rules, with every mistake at its `path:line`.

Built-in rules come first, then the user's directories in the order given; a user's file may be a
whole rule, or `override: <id>` with `params` or `enabled: false`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lastsignal.core.rules import Rule, Scalar, parse_rule
from lastsignal.edges.rulefiles.documents import Document, read_document, rule_files
from lastsignal.errors import Problem, RuleError

_ID = re.compile(r"^[a-z][a-z0-9_]{2,69}$")


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
) -> RuleSet:
    """Return rules and problems together: what `rules lint` shows.

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
    overrides = _take_overrides(documents, found.problems)
    for name, values in (params or {}).items():
        overrides.setdefault(name, _Override()).params.update(values)
    by_id: dict[str, Rule] = {}
    for document in documents:
        _add_rule(document, overrides, by_id, found)
    _check_overrides(overrides, by_id, found.problems)
    _check_explains(documents, found, by_id)
    found.rules = [rule for rule in by_id.values() if overrides.get(rule.id, _Override()).enabled]
    found.problems.sort()
    return found


@dataclass(slots=True)
class _Override:
    params: dict[str, Scalar] = field(default_factory=dict)
    enabled: bool = True
    path: str = ""
    line: int = 0


def _take_overrides(documents: list[Document], problems: list[Problem]) -> dict[str, _Override]:
    """Split the overrides off from the rules."""
    overrides: dict[str, _Override] = {}
    for document in [d for d in documents if isinstance(d.raw, dict) and "override" in d.raw]:
        documents.remove(document)
        raw = document.raw
        problems += [
            document.problem(str(key), f"unknown key `{key}`", "it takes override, params, enabled")
            for key in raw
            if key not in ("override", "params", "enabled")
        ]
        entry = overrides.setdefault(str(raw["override"]), _Override())
        entry.path, entry.line = document.path, document.line("override")
        params, enabled = raw.get("params", {}), raw.get("enabled", True)
        if isinstance(params, dict):
            entry.params.update(params)
        else:
            problems.append(document.problem("params", "`params` is no map", "write name: value"))
        if isinstance(enabled, bool):
            entry.enabled = enabled
        else:
            problems.append(
                document.problem("enabled", f"`enabled` is `{enabled}`", "write true or false")
            )
    return overrides


def _add_rule(
    document: Document, overrides: Mapping[str, _Override], by_id: dict[str, Rule], found: RuleSet
) -> None:
    def complain(place: str, message: str, fix: str) -> None:
        found.problems.append(document.problem(place, message, fix))

    name = document.raw.get("id") if isinstance(document.raw, dict) else None
    if isinstance(name, str):
        if not _ID.match(name):
            complain("id", f"`{name}` is no rule id", "3 to 70 of a-z, 0-9 and _, a letter first")
        elif Path(document.path).stem != name:
            complain(
                "id",
                f"the rule `{name}` is in a file of another name",
                f"name the file {name}.yaml",
            )
        if name in by_id:
            complain(
                "id",
                f"the rule `{name}` exists already, in {by_id[name].origin}",
                "give it another id; to change its parameters write `override: <id>`",
            )
    params = overrides[name].params if isinstance(name, str) and name in overrides else {}
    rule = parse_rule(document.raw, complain, params)
    if rule is not None and rule.id not in by_id:
        by_id[rule.id] = replace(rule, origin=document.path)


def _check_overrides(
    overrides: Mapping[str, _Override], by_id: Mapping[str, Rule], problems: list[Problem]
) -> None:
    for name, override in overrides.items():
        if name not in by_id:
            problems.append(
                Problem(
                    override.path or "configuration",
                    override.line,
                    f"there is no rule `{name}` to override",
                    "see `lastsignal rules list`",
                )
            )


def _check_explains(
    documents: Sequence[Document], found: RuleSet, by_id: Mapping[str, Rule]
) -> None:
    """Every `explains` names a rule, not itself, and causes never run in a circle."""
    by_path = {document.path: document for document in documents}
    for rule in by_id.values():
        document = by_path[rule.origin]
        for index, name in enumerate(rule.text.explains):
            place = f"explains[{index}]"
            if name not in by_id and not found.errors:
                found.problems.append(
                    document.problem(
                        place, f"explains `{name}`, which is no rule", "see `lastsignal rules list`"
                    )
                )
            elif name == rule.id or rule.id in _explained(name, by_id):
                found.problems.append(
                    document.problem(
                        place,
                        f"`{rule.id}` explains `{name}`, which explains it in turn",
                        "a cause cannot be its own symptom: remove one of the two",
                    )
                )


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
