"""Whether the rules that a configuration speaks of are there, and have the parameters it sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lastsignal.core.places import Place, show_place
from lastsignal.core.rules import Rule
from lastsignal.core.spelling import did_you_mean
from lastsignal.edges.config.loading import LoadedConfig
from lastsignal.edges.config.schema import Params
from lastsignal.errors import Problem


def check_rules(loaded: LoadedConfig, rules: Sequence[Rule]) -> list[Problem]:
    """Return what a configuration says of rules that does not hold.

    Args:
        loaded: the configuration.
        rules: all that were loaded, also those that the configuration switches off.
    """
    by_id = {rule.id: rule for rule in rules}
    section = loaded.config.rules
    problems = [
        _no_rule(loaded, ("rules", "disabled", index), name, by_id)
        for index, name in enumerate(section.disabled)
        if name not in by_id
    ]
    for place, params in _all_params(loaded):
        name = str(place[-1])
        if name not in by_id:
            problems.append(_no_rule(loaded, place, name, by_id))
            continue
        known = by_id[name].text.params
        problems += [
            loaded.places.problem(
                (*place, param),
                f"the rule `{name}` has no parameter `{param}`",
                did_you_mean(param, known, f"it has: {', '.join(known) or 'none'}"),
            )
            for param in params
            if param not in known
        ]
    return problems


def _all_params(loaded: LoadedConfig) -> Iterator[tuple[Place, Params]]:
    section = loaded.config.rules
    for name, params in section.params.items():
        yield ("rules", "params", name), params
    for kind in ("agents", "operations"):
        for whose, rules in getattr(section, kind).items():
            for name, params in rules.items():
                yield ("rules", kind, whose, name), params


def _no_rule(loaded: LoadedConfig, place: Place, name: str, by_id: Mapping[str, Rule]) -> Problem:
    hint = did_you_mean(name, by_id, "see `lastsignal rules list`")
    return loaded.places.problem(place, f"`{show_place(place)}`: there is no rule `{name}`", hint)
