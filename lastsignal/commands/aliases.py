"""Names and layouts of the user's own: from `--aliases FILE`, or from the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.custom import UserAliases, extended
from lastsignal.core.aliases.custom_reading import parse_aliases
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.places import Place
from lastsignal.edges.config import Aliases, ConfigError, RawTable
from lastsignal.edges.config.loading import read_file
from lastsignal.errors import Problem

aliases_option = click.option(
    "--aliases",
    "alias_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A TOML file (the configuration, for one) whose [aliases] name your fields, your words "
    "for events, and layouts of your own.",
)


def ladder_from(path: Path | None) -> tuple[Dialect, ...]:
    """Return the dialects to recognise: the built-in ones and what a file adds.

    Raises:
        ConfigError: with every mistake in the file.
    """
    return LADDER if path is None else extended(LADDER, read_aliases(path))


def read_aliases(path: Path) -> UserAliases:
    """Return what a file's `[aliases]` add.

    Raises:
        ConfigError: with every mistake in them.
    """
    raw, places = read_file(path)
    section = raw.get("aliases")
    if not isinstance(section, dict):
        fix = "add [aliases.fields], [aliases.events] or [[aliases.dialects]]"
        raise ConfigError([Problem(str(path), 0, "there is no section [aliases]", fix)])

    def locate(place: Place, message: str, fix: str) -> Problem:
        return places.problem(("aliases", *place), message, fix)

    return _parsed(section, locate)


def ladder_of(section: Aliases) -> tuple[Dialect, ...]:
    """Return the dialects to recognise under a configuration.

    Raises:
        ConfigError: with every mistake in its `[aliases]`.
    """
    raw = {
        "fields": section.fields.values,
        "events": section.events.values,
        "dialects": [dialect.values for dialect in section.dialects],
    }

    def locate(place: Place, message: str, fix: str) -> Problem:
        table: RawTable
        if place[0] == "dialects" and len(place) > 1:
            table, place = section.dialects[int(place[1])], place[2:]
        else:
            table = section.events if place[0] == "events" else section.fields
            place = place[1:]
        return table.problem(place, message, fix)

    return extended(LADDER, _parsed(raw, locate))


def _parsed(raw: Mapping[str, Any], locate: Callable[[Place, str, str], Problem]) -> UserAliases:
    problems: list[Problem] = []
    aliases = parse_aliases(
        raw,
        lambda place, message, fix: problems.append(locate(place, message, fix)),
        taken=[dialect.name for dialect in LADDER],
    )
    if problems:
        raise ConfigError(sorted(problems))
    return aliases
