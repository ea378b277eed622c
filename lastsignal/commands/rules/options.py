"""Options that the commands of this group share."""

from __future__ import annotations

from pathlib import Path

import click

from lastsignal.core.rules import Rule

RULES_HELP = "A rule file or a directory of them, besides the built-in rules. Repeatable."

paths_option = click.option(
    "--rules", "paths", multiple=True, type=click.Path(path_type=Path), help=RULES_HELP
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON for machines.")


def is_in(rule: Rule, files: tuple[Path, ...]) -> bool:
    """Whether a rule comes from one of these files or directories."""
    origin = Path(rule.origin)
    return any(origin == file or file in origin.parents for file in files)
