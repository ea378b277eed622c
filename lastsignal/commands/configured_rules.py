"""The rules under a configuration: which run, and with which parameters for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lastsignal.commands.aliases import ladder_of
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.rules import Rule, shared_out
from lastsignal.edges.config import LoadedConfig, Rules, check_rules, load_config
from lastsignal.edges.rulefiles import load_rules
from lastsignal.errors import UsageError


def tuned(
    path: Path | None, more: Sequence[Path], *, builtin: bool
) -> tuple[list[Rule], tuple[Dialect, ...]]:
    """Return the rules and the dialects under a configuration file, the plain ones without it.

    Args:
        path: the configuration.
        more: rule files, or directories of them, besides those that it names.
        builtin: whether the built-in rules run.

    Raises:
        RuleError: a rule file is wrong.
        ConfigError: the configuration is.
    """
    if path is None:
        return load_rules(more, builtin=builtin), LADDER
    loaded = load_config(path)
    return rules_of(loaded, more, builtin=builtin), ladder_of(loaded.config.aliases)


def rules_of(
    loaded: LoadedConfig, more: Sequence[Path] = (), *, builtin: bool = True
) -> list[Rule]:
    """Return the rules that the configuration asks for.

    Args:
        loaded: the configuration.
        more: rule files, or directories of them, besides those that it names.
        builtin: False leaves the built-in rules out even if it wants them.

    Raises:
        RuleError: a rule file is wrong.
        ConfigError: the configuration names a rule or a parameter that does not exist.
    """
    section = loaded.config.rules
    load = partial(load_rules, [*section.paths, *more], builtin=section.builtin and builtin)
    plain = load()
    problems = check_rules(loaded, plain)
    if problems:
        raise UsageError("\n".join(map(str, problems)))
    rules = [rule for rule in load(params=section.params) if rule.id not in section.disabled]
    return [one for rule in rules for one in varied(rule, section, load)]


def varied(rule: Rule, section: Rules, load: Callable[..., list[Rule]]) -> list[Rule]:
    """Return a rule with the parameters that some agents and operations have for themselves."""
    agents = {name: params[rule.id] for name, params in section.agents.items() if rule.id in params}
    operations = {
        name: params[rule.id] for name, params in section.operations.items() if rule.id in params
    }
    if not agents and not operations:
        return [rule]
    parts = []
    for agent in (None, *agents):
        for operation in (None, *operations):
            own = {**agents.get(agent or "", {}), **operations.get(operation or "", {})}
            one = _with(load, section, rule.id, own)
            one = shared_out(one, "agent", agent, list(agents))
            parts.append(shared_out(one, "operation", operation, list(operations)))
    return parts


def _with(
    load: Callable[..., list[Rule]], section: Rules, rule_id: str, own: Mapping[str, Any]
) -> Rule:
    params = {**section.params, rule_id: {**section.params.get(rule_id, {}), **own}}
    return next(rule for rule in load(params=params) if rule.id == rule_id)
