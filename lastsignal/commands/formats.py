"""`lastsignal formats`: which layouts are recognised, how, and where they are found."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from lastsignal.commands.aliases import aliases_option, ladder_from, read_aliases
from lastsignal.commands.output import echo_json
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.custom import UserAliases
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.rule_shape import nearest
from lastsignal.edges.terminal import console_for
from lastsignal.errors import UsageError


@click.command()
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Write JSON for machines.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Write the README's table.")
@click.option(
    "--check",
    "checked_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Check the [aliases] of this TOML file: every mistake at once, with its line.",
)
@aliases_option
def formats(
    names: tuple[str, ...],
    as_json: bool,
    as_markdown: bool,
    checked_path: Path | None,
    alias_path: Path | None,
) -> int:
    """List the layouts that are recognised, how each is told apart, and its usual place.

    With NAMES of formats or frameworks only these.

    \b
    Examples:
      lastsignal formats
      lastsignal formats opencode
      lastsignal formats --check lastsignal.toml
    """
    if checked_path is not None:
        click.echo(f"{checked_path}: all right: {_told(read_aliases(checked_path))}")
        return 0
    ladder = _chosen(ladder_from(alias_path), names)
    if as_json:
        rows = [_plain(dialect) for dialect in ladder]
        echo_json(rows)
    elif as_markdown:
        click.echo(markdown_table(ladder))
    else:
        console_for(sys.stdout).print(_table(ladder, with_rule=bool(names)))
    return 0


def markdown_table(ladder: Sequence[Dialect] = LADDER) -> str:
    """Return the table of dialects as the README shows it."""
    lines = ["| format | framework | what |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {one.framework} | {one.description} |" for one in ladder]
    return "\n".join(lines)


def told_by(dialect: Dialect) -> str:
    """Return in words by what a record of a dialect is known."""
    return " ".join((inspect.getdoc(dialect.recognise) or "").split())


def _chosen(ladder: Sequence[Dialect], names: Sequence[str]) -> Sequence[Dialect]:
    known = dict.fromkeys([one.name for one in ladder] + [one.framework for one in ladder])
    for name in names:
        if name not in known:
            raise UsageError(f"{name}: no such format; {nearest(name, known, 'there are')}")
    return [one for one in ladder if not names or {one.name, one.framework} & set(names)]


def _plain(dialect: Dialect) -> dict[str, object]:
    return {
        "name": dialect.name,
        "framework": dialect.framework,
        "description": dialect.description,
        "told_by": told_by(dialect),
        "default_paths": list(dialect.default_paths),
    }


def _table(ladder: Sequence[Dialect], *, with_rule: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("format", "framework", "what, how it is told apart, and where it is"):
        table.add_column(column, overflow="fold")
    for dialect in ladder:
        lines = [dialect.description]
        if with_rule and told_by(dialect):
            lines.append(f"told by: {told_by(dialect)}")
        lines += dialect.default_paths
        table.add_row(dialect.name, dialect.framework, "\n".join(lines))
    return table


def _told(aliases: UserAliases) -> str:
    names = sum(len(names) for names in aliases.fields.values())
    layouts = ", ".join(layout.name for layout in aliases.layouts) or "none"
    return f"{names} names of fields, {len(aliases.events)} words for events, layouts: {layouts}"
