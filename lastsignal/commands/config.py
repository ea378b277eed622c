"""`lastsignal config`: check and show the configuration of the daemon."""

from __future__ import annotations

from pathlib import Path

import click

from lastsignal.commands.aliases import ladder_of
from lastsignal.edges.config import Aliases, ConfigError, check_rules, load_config, reference
from lastsignal.edges.config import show as show_toml
from lastsignal.edges.rulefiles import load_rules
from lastsignal.errors import Problem

config_option = click.option(
    "--config",
    "-c",
    "path",
    type=click.Path(path_type=Path),
    help="The configuration file. Default: $LASTSIGNAL_CONFIG, ./lastsignal.toml, "
    "~/.config/lastsignal/config.toml, /etc/lastsignal/config.toml, whichever is there first.",
)


@click.group()
def config() -> None:
    """Check and show the configuration of the daemon."""


@config.command()
@config_option
def check(path: Path | None) -> int:
    """Check the configuration and the rules it names: every mistake at once, with its line."""
    loaded = load_config(path)
    for warning in loaded.warnings:
        click.echo(str(warning), err=True)
    section = loaded.config.rules
    rules = load_rules(section.paths, builtin=section.builtin)
    problems = check_rules(loaded, rules) + alias_problems(loaded.config.aliases)
    if problems:
        raise ConfigError(sorted(problems))
    load_rules(section.paths, builtin=section.builtin, params=section.params)
    running = [rule for rule in rules if rule.id not in section.disabled]
    name = loaded.path or "no configuration file: the defaults"
    click.echo(f"{name}: all right, {len(running)} rules, {len(loaded.config.targets)} targets")
    return 0


def alias_problems(section: Aliases) -> list[Problem]:
    """Return what is wrong in `[aliases]`."""
    try:
        ladder_of(section)
    except ConfigError as error:
        return error.problems
    return []


@config.command()
@config_option
def show(path: Path | None) -> int:
    """Show the configuration in force as TOML: file, environment and defaults; secrets masked."""
    loaded = load_config(path)
    for warning in loaded.warnings:
        click.echo(str(warning), err=True)
    click.echo(show_toml(loaded), nl=False)
    return 0


@config.command("reference")
def show_reference() -> int:
    """Describe every key: what it takes, its default and its meaning, in Markdown."""
    click.echo(reference(), nl=False)
    return 0
