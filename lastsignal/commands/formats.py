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
from lastsignal.core.framing.wrappers import WRAPPERS, Wrapper
from lastsignal.core.spelling import nearest
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

    Of what no framework writes by itself: how it comes to be written.
    And what lines may be wrapped in: a container's log, the journal, what a log shipper writes.
    With NAMES of formats, frameworks or wrappers only these.

    \b
    Examples:
      lastsignal formats
      lastsignal formats opencode
      lastsignal formats docker
      lastsignal formats --check lastsignal.toml
    """
    if checked_path is not None:
        click.echo(f"{checked_path}: all right: {_told(read_aliases(checked_path))}")
        return 0
    ladder, wrappers = _chosen(ladder_from(alias_path), names)
    if as_json:
        told = [_plain(one) for one in ladder] + [_plain_wrapper(one) for one in wrappers]
        echo_json(told)
    elif as_markdown:
        click.echo(f"{markdown_table(ladder)}\n\n{wrapper_table(wrappers)}")
    else:
        console = console_for(sys.stdout)
        if ladder:
            console.print(_table(ladder, with_rule=bool(names)))
        if wrappers:
            console.print(_wrappers(wrappers, with_rule=bool(names)))
    return 0


def markdown_table(ladder: Sequence[Dialect] = LADDER) -> str:
    """Return the table of dialects as the README shows it."""
    lines = ["| format | framework | what |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {one.framework} | {one.description} |" for one in ladder]
    return "\n".join(lines)


def wrapper_table(wrappers: Sequence[Wrapper] = WRAPPERS) -> str:
    """Return the table of what lines may be wrapped in as the README shows it."""
    lines = ["| wrapper | what | told by |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {one.description} | {one.told_by} |" for one in wrappers]
    return "\n".join(lines)


def told_by(dialect: Dialect) -> str:
    """Return in words by what a record of a dialect is known."""
    return " ".join((inspect.getdoc(dialect.recognise) or "").split())


def _chosen(
    ladder: Sequence[Dialect], names: Sequence[str]
) -> tuple[Sequence[Dialect], Sequence[Wrapper]]:
    known = dict.fromkeys([one.name for one in ladder] + [one.framework for one in ladder])
    known.update(dict.fromkeys(one.name for one in WRAPPERS))
    for name in names:
        if name not in known:
            raise UsageError(f"{name}: no such format; {nearest(name, known, 'there are')}")
    if not names:
        return ladder, WRAPPERS
    return (
        [one for one in ladder if {one.name, one.framework} & set(names)],
        [one for one in WRAPPERS if one.name in names],
    )


def _plain(dialect: Dialect) -> dict[str, object]:
    return {
        "name": dialect.name,
        "framework": dialect.framework,
        "description": dialect.description,
        "told_by": told_by(dialect),
        "default_paths": list(dialect.default_paths),
        "written_by": dialect.written_by or None,
    }


def _plain_wrapper(wrapper: Wrapper) -> dict[str, object]:
    return {
        "name": wrapper.name,
        "framework": None,  # it wraps what any of them writes
        "description": wrapper.description,
        "told_by": wrapper.told_by,
        "default_paths": list(wrapper.default_paths),
        "written_by": None,
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
        if dialect.written_by:
            lines.append(f"written by {dialect.written_by}")
        table.add_row(dialect.name, dialect.framework, "\n".join(lines))
    return table


def _wrappers(wrappers: Sequence[Wrapper], *, with_rule: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("lines wrapped by")
    table.add_column("what, how it is told apart, and where it is", overflow="fold")
    for one in wrappers:
        lines = [one.description, *([f"told by: {one.told_by}"] if with_rule else [])]
        table.add_row(one.name, "\n".join([*lines, *one.default_paths]))
    return table


def _told(aliases: UserAliases) -> str:
    names = sum(len(names) for names in aliases.fields.values())
    layouts = ", ".join(layout.name for layout in aliases.layouts) or "none"
    return f"{names} names of fields, {len(aliases.events)} words for events, layouts: {layouts}"
