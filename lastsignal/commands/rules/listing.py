"""`rules list` and `rules show`: what there is, in a table and in words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from lastsignal.commands.output import echo_json
from lastsignal.commands.rules.options import json_option, paths_option
from lastsignal.core.rules import Rule
from lastsignal.core.rules.explanation import explain_rule
from lastsignal.core.spelling import did_you_mean
from lastsignal.edges.rulefiles import load_rules
from lastsignal.edges.terminal import console_for
from lastsignal.errors import UsageError


@click.command("list")
@paths_option
@json_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Write the README's table.")
def list_rules(paths: tuple[Path, ...], as_json: bool, as_markdown: bool) -> int:
    """List every rule with its severity, status and category."""
    loaded = load_rules(paths)
    if as_markdown:
        click.echo(markdown_table(loaded))
        return 0
    if as_json:
        echo_json([_summary(rule) for rule in loaded])
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("rule", "severity", "status", "window", "title"):
        table.add_column(column, overflow="fold")
    for rule in sorted(loaded, key=lambda rule: rule.id):
        text = rule.text
        table.add_row(text.id, text.severity, text.status, kind_of(rule), text.title)
    console_for(sys.stdout).print(table)
    return 0


@click.command()
@click.argument("rule_id")
@paths_option
@json_option
def show(rule_id: str, paths: tuple[Path, ...], as_json: bool) -> int:
    """Show one rule: what it looks for in words, its texts, its parameters."""
    by_id = {rule.id: rule for rule in load_rules(paths)}
    rule = by_id.get(rule_id)
    if rule is None:
        hint = did_you_mean(rule_id, by_id, "see `lastsignal rules list`")
        raise UsageError(f"there is no rule `{rule_id}`; {hint}")
    if as_json:
        echo_json({**_summary(rule), "explanation": explain_rule(rule)})
        return 0
    click.echo(explain_rule(rule))
    return 0


def markdown_table(loaded: list[Rule]) -> str:
    """Return the table of rules as the README shows it."""
    lines = ["| rule | severity | what it finds |", "|---|---|---|"]
    for rule in sorted(loaded, key=lambda rule: rule.id):
        text = rule.text
        lines.append(f"| `{text.id}` | {text.severity} | {' '.join(text.description.split())} |")
    return "\n".join(lines)


def kind_of(rule: Rule) -> str:
    """Return the name of the rule's window kind."""
    return str(rule.window.__struct_config__.tag)


def _summary(rule: Rule) -> dict[str, Any]:
    text = rule.text
    return {
        "id": text.id,
        "title": text.title,
        "status": text.status,
        "severity": text.severity,
        "category": text.category,
        "also": text.also,
        "window": kind_of(rule),
        "description": text.description,
        "params": text.params,
        "explains": text.explains,
        "file": rule.origin,
    }
