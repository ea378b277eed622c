"""`lastsignal formats`: which layouts are recognised, and where they are found."""

from __future__ import annotations

import sys

import click
import msgspec
from rich.table import Table

from lastsignal.core.aliases.registry import LADDER
from lastsignal.edges.terminal import console_for


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write JSON for machines.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Write the README's table.")
def formats(as_json: bool, as_markdown: bool) -> int:
    """List the layouts that are recognised, how each is told apart, and its usual place."""
    if as_json:
        rows = [
            {
                "name": dialect.name,
                "framework": dialect.framework,
                "description": dialect.description,
                "default_paths": list(dialect.default_paths),
            }
            for dialect in LADDER
        ]
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
    elif as_markdown:
        click.echo(markdown_table())
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("format", "framework", "what and where"):
            table.add_column(column, overflow="fold")
        for dialect in LADDER:
            where = "".join(f"\n{path}" for path in dialect.default_paths)
            table.add_row(dialect.name, dialect.framework, dialect.description + where)
        console_for(sys.stdout).print(table)
    return 0


def markdown_table() -> str:
    """Return the table of dialects as the README shows it."""
    lines = ["| format | framework | what |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {one.framework} | {one.description} |" for one in LADDER]
    return "\n".join(lines)
