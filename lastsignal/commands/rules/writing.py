"""`rules new`, `rules schema` and `rules docs`: what authors start from, and look things up in."""

from __future__ import annotations

from pathlib import Path

import click

from lastsignal.commands.output import write
from lastsignal.commands.rules.options import paths_option
from lastsignal.edges.rulefiles import ID_PATTERN, load_rules
from lastsignal.edges.rulefiles.reference import detectors, language
from lastsignal.edges.rulefiles.schema import schema_text
from lastsignal.edges.rulefiles.skeleton import skeleton
from lastsignal.errors import InputError, UsageError


@click.command()
@click.argument("rule_id")
@click.option(
    "--directory",
    "-d",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where to write it; the current directory if not given.",
)
def new(rule_id: str, directory: Path) -> int:
    """Write a commented rule that lints and passes its own tests, to be changed into yours."""
    if not ID_PATTERN.match(rule_id):
        raise UsageError(f"`{rule_id}` is no rule id; 3 to 70 of a-z, 0-9 and _, a letter first")
    if rule_id in {rule.id for rule in load_rules()}:
        raise UsageError(
            f"the rule `{rule_id}` is built in; choose another id, or write `override: {rule_id}`"
        )
    path = directory / f"{rule_id}.yaml"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(skeleton(rule_id, str(path)))
    except FileExistsError:
        raise UsageError(f"{path} exists already; remove it first, or choose another id") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    click.echo(f"{path}\nNext: lastsignal rules lint {path} && lastsignal rules test {path}")
    return 0


@click.command()
def schema() -> int:
    """Print the JSON Schema of rule files, for editors.

    \b
    Save it, and begin your rules with a line that names it:
      lastsignal rules schema > rules.schema.json
      # yaml-language-server: $schema=rules.schema.json
    """
    write(schema_text(), None)
    return 0


@click.command()
@paths_option
def docs(paths: tuple[Path, ...]) -> int:
    """Print the reference of the rule language and of every detector, as Markdown."""
    write(f"{language()}\n{detectors(load_rules(paths))}", None)
    return 0
