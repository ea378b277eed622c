"""`rules lint` and `rules test`: whether rules are right, and do what they say."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from lastsignal.commands.output import echo_json, write
from lastsignal.commands.rules.options import is_in, json_option
from lastsignal.core.rules import RuleCase
from lastsignal.core.ruletest import CaseResult, run_case, timeline
from lastsignal.edges.rulefiles import load_rules, read_rules
from lastsignal.edges.rulefiles.junit import junit_of_cases
from lastsignal.edges.terminal import console_for

EXIT_WRONG = 2


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
def lint(files: tuple[Path, ...], strict: bool) -> int:
    """Check rule files: every error of every file at once, each with its line and the fix.

    Warnings tell of what is useless without being wrong: a condition that no event meets, a
    parameter that nothing uses, a symptom that is never of the same thing. Without FILES the
    built-in rules are checked.
    """
    found = read_rules(files, builtin=True, warn=True)
    for problem in found.problems:
        click.echo(str(problem))
    errors = len(found.errors)
    warnings = len(found.problems) - errors
    click.echo(f"{len(found.rules)} rules, {errors} errors, {warnings} warnings", err=True)
    return EXIT_WRONG if errors or (strict and warnings) else 0


@click.command("test")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--verbose", "-v", is_flag=True, help="Name the cases that pass, too.")
@json_option
@click.option(
    "--junit",
    "junit_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the results to this file as JUnit XML.",
)
def test_rules(
    files: tuple[Path, ...], verbose: bool, as_json: bool, junit_path: Path | None
) -> int:
    """Run the inline tests of rules under a fake clock: the same engine, relative times.

    With FILES only the rules of those files are tested, without them all built-in ones.
    """
    mine = [rule for rule in load_rules(files) if not files or is_in(rule, files)]
    results = [(case, run_case(rule, case)) for rule in mine for case in rule.text.tests]
    failed = [result for _, result in results if not result.passed]
    if as_json:
        echo_json([result for _, result in results])
    else:
        console = console_for(sys.stdout)
        for case, result in results:
            if verbose or not result.passed:
                _print_result(console, case, result)
    if junit_path is not None:
        write(junit_of_cases(result for _, result in results), junit_path)
    click.echo(
        f"{len(mine)} rules, {len(results)} cases: "
        f"{len(results) - len(failed)} passed, {len(failed)} failed",
        err=True,
    )
    return EXIT_WRONG if failed else 0


def _print_result(console: Console, case: RuleCase, result: CaseResult) -> None:
    mark = "[green]ok[/]" if result.passed else "[red]FAILED[/]"
    console.print(f"{mark} ", end="")
    console.print(f"{result.rule}: {result.case}", markup=False, highlight=False)
    lines: Sequence[str] = result.mismatches
    if not result.passed:
        lines = [*lines, "events", *timeline(case)]
    for line in lines:
        console.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)
