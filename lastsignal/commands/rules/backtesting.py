"""`rules backtest`: what rules would have said of past traces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.table import Table

from lastsignal.app import diagnose, in_order_of_time
from lastsignal.commands.output import echo_json, write
from lastsignal.commands.rules.options import is_in
from lastsignal.core.backtest import RuleScore, score
from lastsignal.edges.inputs import open_sources
from lastsignal.edges.rulefiles import load_rules
from lastsignal.edges.rulefiles.junit import Outcome, junit
from lastsignal.edges.rulefiles.labels import read_labels
from lastsignal.edges.terminal import console_for
from lastsignal.errors import InputError


@click.command()
@click.argument("traces", nargs=-1, required=True)
@click.option(
    "--rules",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Judge the rules of this file or directory instead of the built-in ones. Repeatable.",
)
@click.option(
    "--labels",
    "labels_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help='What should fire: a JSON object a line, {"trace_id": …, "rule": …}.',
)
@click.option(
    "--format",
    "-f",
    "format_name",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    show_default=True,
    help="What to write.",
)
def backtest(
    traces: tuple[str, ...], paths: tuple[Path, ...], labels_path: Path | None, format_name: str
) -> int:
    """Say what rules would have found in past TRACES: firings, traces, and how often rightly.

    With --labels every labelled pair must fire and no other: else the exit code is 2.

    \b
    Examples:
      lastsignal rules backtest --rules my-rules/ traces/
      lastsignal rules backtest traces/ --labels labels.jsonl --format junit
    """
    loaded = load_rules(paths)
    rules = [rule for rule in loaded if not paths or is_in(rule, paths)]
    report = diagnose(in_order_of_time(open_sources(traces)), loaded)
    if not report.events():
        raise InputError("no event could be read from the input; see `lastsignal diagnose`")
    labels = None
    if labels_path is not None:
        known = {trace.trace_id for trace in report.traces}
        labels = read_labels(labels_path, known, [rule.id for rule in rules])
    scores = score(rules, report.traces, labels)
    if format_name == "json":
        echo_json([_as_json(one, labels is not None) for one in scores])
    elif format_name == "junit":
        write(junit("lastsignal rules backtest", _outcomes(scores)), None)
    else:
        _print(scores, len(report.traces), labels is not None)
    return 2 if any(one.wrong or one.missed for one in scores) else 0


def _as_json(one: RuleScore, labelled: bool) -> dict[str, object]:
    shown: dict[str, object] = msgspec.to_builtins(one)
    if labelled:
        return {**shown, "precision": one.precision, "recall": one.recall}
    return {
        name: value for name, value in shown.items() if name not in ("right", "wrong", "missed")
    }


def _outcomes(scores: Sequence[RuleScore]) -> list[Outcome]:
    outcomes = []
    for one in scores:
        told = [
            *(Outcome(one.rule, trace, ["fired, and no label says so"]) for trace in one.wrong),
            *(
                Outcome(one.rule, trace, ["a label says so, and it is silent"])
                for trace in one.missed
            ),
        ]
        right = [trace for trace in one.traces if trace not in one.wrong]
        outcomes += [*told, *(Outcome(one.rule, trace, ()) for trace in right)]
        if not told and not right:
            outcomes.append(Outcome(one.rule, "silent in every trace", ()))
    return outcomes


def _print(scores: Sequence[RuleScore], traces: int, labelled: bool) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("rule", "severity", "firings", "traces", "healed", "not checked"):
        table.add_column(column, justify="left" if column in ("rule", "severity") else "right")
    for column in ("precision", "recall") if labelled else ():
        table.add_column(column, justify="right")
    for one in sorted(scores, key=lambda one: (-len(one.traces), one.rule)):
        if one.firings or one.missed:
            numbers = [one.firings, len(one.traces), one.healed, one.not_checked]
            shares = [_share(one.precision), _share(one.recall)] if labelled else []
            table.add_row(one.rule, one.severity, *map(str, numbers), *shares)
    console = console_for(sys.stdout)
    console.print(table)
    for one in scores:
        for trace in one.wrong:
            _say(f"{trace}: {one.rule} fired, and no label says so")
        for trace in one.missed:
            _say(f"{trace}: {one.rule} is silent, and a label says that it should fire")
    silent = sum(not one.firings for one in scores)
    click.echo(f"{len(scores)} rules over {traces} traces, {silent} rules silent", err=True)


def _say(line: str) -> None:
    click.echo(line.encode("utf-8", "replace").decode().replace("\x1b", "\ufffd"))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
