"""`lastsignal normalize`: shows what each record became."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lastsignal.app import explain_records, read_events, summary_of
from lastsignal.commands.aliases import aliases_option, ladder_from
from lastsignal.commands.explanations import explanation_lines
from lastsignal.commands.printing import print_events, told
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.explaining import Explainer
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.diagnosis.report import InputSummary
from lastsignal.edges.inputs import Source, open_sources
from lastsignal.errors import InputError, UsageError


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--quiet", "-q", is_flag=True, help="Do not tell on stderr what was skipped.")
@click.option(
    "--explain",
    is_flag=True,
    help="Say of each record which dialect took it, which of its fields counted, and why it was "
    "dropped.",
)
@click.option(
    "--follow",
    "-F",
    "follows",
    is_flag=True,
    help="Go on as the files grow, through every rotation; wait for those that are not there yet. "
    "Ends on Ctrl-C.",
)
@aliases_option
def normalize(
    paths: tuple[str, ...], quiet: bool, explain: bool, follows: bool, alias_path: Path | None
) -> int:
    """Print the events that records became, one JSON object a line, in the native schema.

    PATHS are files, folders, globs, or - for standard input. What gave no event is counted by
    reason on stderr.

    \b
    Examples:
      lastsignal normalize trace.jsonl
      lastsignal normalize trace.jsonl --explain
      lastsignal normalize runs/ --follow | jq 'select(.status == "failed")'
      lastsignal normalize my.log --aliases lastsignal.toml --explain
    """
    ladder = ladder_from(alias_path)
    if follows:
        if explain:
            raise UsageError("--explain reads to the end, --follow has none; leave one of them out")
        # what watches is imported when it is asked for: a look at one file need not wait for it
        from lastsignal.commands.following import print_followed

        return print_followed(paths, ladder, quiet=quiet)
    summaries = []
    for source in open_sources(paths):
        reader = _explain(source, ladder) if explain else _print_events(source, ladder)
        summaries.append(summary_of(source, reader))
        if not quiet:
            click.echo(told(summaries[-1], reader), err=True)
    sys.stdout.flush()
    if not any(one.events for one in summaries):
        raise InputError(no_event_message(summaries))
    return 0


def no_event_message(inputs: list[InputSummary]) -> str:
    """Return why nothing could be read, and what to do about it."""
    told = [f"{one.source}: {one.advice}" for one in inputs if one.advice][:5]
    return "\n".join(["no event could be read from the input", *(f"  {line}" for line in told)])


def _print_events(source: Source, ladder: tuple[Dialect, ...]) -> Reader:
    reader = Reader(source.name, ladder, ingest_time=0.0)
    for events in read_events(source, reader):
        print_events(events)
    return reader


def _explain(source: Source, ladder: tuple[Dialect, ...]) -> Reader:
    explainer = Explainer(source.name, ladder)
    for line in explanation_lines(explain_records(source, explainer)):
        click.echo(line)
    return explainer.reader
