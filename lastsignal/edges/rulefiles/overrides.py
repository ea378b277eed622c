"""Files that change a rule of another file: `override: <id>` with `params` or `enabled: false`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lastsignal.core.rules import Rule, Scalar, parse_rule
from lastsignal.core.rules.shape import shown
from lastsignal.core.spelling import nearest
from lastsignal.edges.rulefiles.documents import Document
from lastsignal.errors import Problem

_KEYS = ("override", "params", "enabled")


@dataclass(slots=True)
class Override:
    """What is changed of one rule."""

    params: dict[str, Scalar] = field(default_factory=dict)
    enabled: bool = True
    documents: list[Document] = field(default_factory=list)
    """Where it is written; nowhere for that of the configuration. A later one wins."""

    def problem(self, name: str | None, message: str, fix: str) -> Problem:
        """Return a problem of a parameter, or of the override itself."""
        for document in reversed(self.documents):
            if name is None:
                return document.problem("override", message, fix)
            params = document.raw.get("params")
            if isinstance(params, dict) and name in params:
                return document.problem(f"params.{name}", message, fix)
        return Problem("configuration", 0, message, fix)


def take_overrides(documents: list[Document], problems: list[Problem]) -> dict[str, Override]:
    """Split the overrides off from the rules."""
    overrides: dict[str, Override] = {}
    for document in [d for d in documents if isinstance(d.raw, dict) and "override" in d.raw]:
        documents.remove(document)
        raw = document.raw
        problems += [
            document.problem(str(key), f"an override has no `{key}`", nearest(key, _KEYS, "it has"))
            for key in raw
            if key not in _KEYS
        ]
        entry = overrides.setdefault(str(raw["override"]), Override())
        entry.documents.append(document)
        params, enabled = raw.get("params", {}), raw.get("enabled", True)
        if isinstance(params, dict):
            entry.params.update(params)
        else:
            message = f"`params` is a map, got {shown(params)}"
            problems.append(document.problem("params", message, "write {name: value}"))
        if isinstance(enabled, bool):
            entry.enabled = enabled
        else:
            message = f"`enabled` is true or false, got {shown(enabled)}"
            problems.append(document.problem("enabled", message, "write true or false"))
    return overrides


def check_overrides(overrides: Mapping[str, Override], names: set[str]) -> Iterator[Problem]:
    """Tell of overrides of what is no rule."""
    for name, override in overrides.items():
        if name not in names:
            fix = nearest(name, sorted(names), "") if names else ""
            fix = fix if fix.startswith("did") else "see `lastsignal rules list`"
            yield override.problem(None, f"there is no rule `{name}` to override", fix)


def parse_overridden(
    document: Document, override: Override | None, problems: list[Problem]
) -> Rule | None:
    """Return a document's rule with its override, whose mistakes are told where they were made."""

    def complain(place: str, message: str, fix: str) -> None:
        problems.append(document.problem(place, message, fix))

    if override is None or not override.params:
        return parse_rule(document.raw, complain)
    given = document.raw.get("params") if isinstance(document.raw, dict) else None
    known = given if isinstance(given, dict) else {}
    usable = {name: value for name, value in override.params.items() if name in known}
    for name in override.params.keys() - known.keys():
        message = f"the rule `{document.rule_id}` has no parameter `{name}`"
        fix = nearest(name, known, "it has") if known else "it has none"
        problems.append(override.problem(name, message, fix))
    caused: list[tuple[str, str, str]] = []
    rule = parse_rule(document.raw, lambda *one: caused.append(one), usable)
    if caused:  # those that the rule has without its override are its own
        own: list[tuple[str, str, str]] = []
        parse_rule(document.raw, lambda *one: own.append(one))
        for one in own:
            complain(*one)
        for place, message, fix in [one for one in caused if one not in own]:
            name = place.rpartition(".")[2]
            here = name if name in usable else next(iter(usable))
            problems.append(override.problem(here, f"as overridden, {message}", fix))
    return rule
