"""`lastsignal rules`: list, show, lint and test the detectors."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from lastsignal.core.explanation import explain_rule
from lastsignal.core.rules import Rule
from lastsignal.core.ruletest import CaseResult, run_cases
from lastsignal.edges.rulefiles import load_rules, read_rules
from lastsignal.edges.terminal import console_for
from lastsignal.errors import UsageError

RULES_HELP = "A rule file or a directory of them, besides the built-in rules. Repeatable."

paths_option = click.option(
    "--rules", "paths", multiple=True, type=click.Path(path_type=Path), help=RULES_HELP
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON for machines.")


@click.group()
def rules() -> None:
    """List, show, lint and test the detectors: the built-in ones and yours."""


@rules.command("list")
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
        _echo_json([_summary(rule) for rule in loaded])
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("rule", "severity", "status", "window", "title"):
        table.add_column(column, overflow="fold")
    for rule in sorted(loaded, key=lambda rule: rule.id):
        text = rule.text
        table.add_row(text.id, text.severity, text.status, _kind(rule), text.title)
    console_for(sys.stdout).print(table)
    return 0


@rules.command()
@click.argument("rule_id")
@paths_option
@json_option
def show(rule_id: str, paths: tuple[Path, ...], as_json: bool) -> int:
    """Show one rule: what it looks for in words, its texts, its parameters."""
    by_id = {rule.id: rule for rule in load_rules(paths)}
    rule = by_id.get(rule_id)
    if rule is None:
        close = difflib.get_close_matches(rule_id, by_id, n=1)
        hint = f"did you mean `{close[0]}`?" if close else "see `lastsignal rules list`"
        raise UsageError(f"there is no rule `{rule_id}`; {hint}")
    if as_json:
        _echo_json({**_summary(rule), "explanation": explain_rule(rule)})
        return 0
    click.echo(explain_rule(rule))
    return 0


@rules.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
def lint(files: tuple[Path, ...]) -> int:
    """Check rule files: every error of every file at once, each with its line and the fix.

    Without FILES the built-in rules are checked.
    """
    found = read_rules(files, builtin=True)
    for problem in found.problems:
        click.echo(str(problem))
    errors = len(found.errors)
    warnings = len(found.problems) - errors
    click.echo(f"{len(found.rules)} rules, {errors} errors, {warnings} warnings", err=True)
    return 2 if errors else 0


@rules.command("test")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--verbose", "-v", is_flag=True, help="Name the cases that pass, too.")
@json_option
def test_rules(files: tuple[Path, ...], verbose: bool, as_json: bool) -> int:
    """Run the inline tests of rules under a fake clock: the same engine, relative times.

    With FILES only the rules of those files are tested, without them all built-in ones.
    """
    loaded = load_rules(files)
    mine = [rule for rule in loaded if not files or _is_in(rule, files)]
    results = [result for rule in mine for result in run_cases(rule)]
    failed = [result for result in results if not result.passed]
    if as_json:
        _echo_json(results)
    else:
        console = console_for(sys.stdout)
        for result in results:
            if verbose or not result.passed:
                _print_result(console, result)
    click.echo(
        f"{len(mine)} rules, {len(results)} cases: "
        f"{len(results) - len(failed)} passed, {len(failed)} failed",
        err=True,
    )
    return 2 if failed else 0


def markdown_table(loaded: list[Rule]) -> str:
    """Return the table of rules as the README shows it."""
    lines = ["| rule | severity | what it finds |", "|---|---|---|"]
    for rule in sorted(loaded, key=lambda rule: rule.id):
        text = rule.text
        lines.append(f"| `{text.id}` | {text.severity} | {' '.join(text.description.split())} |")
    return "\n".join(lines)


def _print_result(console: Console, result: CaseResult) -> None:
    mark = "[green]ok[/]" if result.passed else "[red]FAILED[/]"
    console.print(f"{mark} ", end="")
    console.print(f"{result.rule}: {result.case}", markup=False, highlight=False)
    for mismatch in result.mismatches:
        console.print(f"    {mismatch}", markup=False, highlight=False)


def _is_in(rule: Rule, files: tuple[Path, ...]) -> bool:
    origin = Path(rule.origin)
    return any(origin == file or file in origin.parents for file in files)


def _kind(rule: Rule) -> str:
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
        "window": _kind(rule),
        "description": text.description,
        "params": text.params,
        "explains": text.explains,
        "file": rule.origin,
    }


def _echo_json(value: object) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
