"""`lastsignal diagnose`: the postmortem of finished traces, and a gate for CI."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from lastsignal.app import diagnose as run_diagnosis
from lastsignal.app import fill_in_excerpts, in_order_of_time, read_ahead
from lastsignal.commands.aliases import aliases_option, ladder_from
from lastsignal.commands.configured_rules import tuned
from lastsignal.commands.normalize import no_event_message
from lastsignal.commands.output import write
from lastsignal.core.diagnosis.report import Report
from lastsignal.core.rules import SEVERITIES
from lastsignal.edges.inputs import Source, open_sources, processors
from lastsignal.edges.report import FORMATS, Options, quoted, render, wants_color
from lastsignal.edges.terminal import ReadingProgress, width_of
from lastsignal.errors import InputError


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--format",
    "-f",
    "format_name",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="What to write.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, "never"]),
    default="warning",
    show_default=True,
    help="Exit with 1 when a finding is at or above this severity.",
)
@click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A rule file or a directory of them, besides the built-in rules. Repeatable.",
)
@click.option("--no-builtin-rules", is_flag=True, help="Run only the rules of --rules.")
@click.option(
    "--config",
    "-c",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Judge as the daemon does under this configuration: by its [rules] and its [aliases].",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report to this file instead of standard output.",
)
@aliases_option
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(0, 64),
    default=0,
    metavar="N",
    help="Read in so many processes while this one judges; 1: no other. [default: one a processor]",
)
@click.option("--no-progress", is_flag=True, help="Never draw the progress bar.")
def diagnose(  # noqa: PLR0913  # an option each
    paths: tuple[str, ...],
    format_name: str,
    fail_on: str,
    rule_paths: tuple[Path, ...],
    no_builtin_rules: bool,
    config_path: Path | None,
    output: Path | None,
    alias_path: Path | None,
    jobs: int,
    no_progress: bool,
) -> int:
    """Say why runs failed: the cause, the lines that show it, and what to do.

    PATHS are trace files, folders (searched recursively), globs, archives, or - for standard
    input; plain, .gz, .zst, zip and Inspect's .eval. The format of each is recognised by itself.

    \b
    Examples:
      lastsignal diagnose trace.jsonl
      lastsignal diagnose ~/.claude/projects --fail-on critical
      kubectl logs my-agent | lastsignal diagnose -
      lastsignal diagnose runs/ --format sarif --output findings.sarif
    """
    rules, ladder = tuned(config_path, rule_paths, builtin=not no_builtin_rules)
    if alias_path is not None:
        ladder = ladder_from(alias_path)
    sources = in_order_of_time(open_sources(paths), ladder)
    gc.freeze()  # what is loaded by now stays to the end: no need to look for it among the garbage
    # processes before threads: the bar is drawn by one
    with (
        read_ahead(sources, ladder, jobs or processors()) as ahead,
        ReadingProgress(_total_bytes(sources), None if no_progress else sys.stderr) as progress,
    ):
        report = run_diagnosis(
            sources, rules, ladder=ladder, progress=progress.advance, ahead=ahead
        )
    fill_in_excerpts(quoted(report, format_name), sources)
    options = Options(
        color=output is None and wants_color(os.environ, sys.stdout.isatty()),
        width=width_of(sys.stdout),
        fail_on=None if fail_on == "never" else fail_on,  # type: ignore[arg-type]  # click has checked it
        base=str(Path.cwd()),
    )
    write(render(report, format_name, options), output)
    return _exit_code(report, fail_on)


def _total_bytes(sources: Sequence[Source]) -> int | None:
    sizes = [source.size for source in sources]
    return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)


def _exit_code(report: Report, fail_on: str) -> int:
    if not report.events():
        # not clean: nothing was seen. CI must not pass on an empty or a foreign file.
        raise InputError(no_event_message(report.inputs))
    worst = report.worst()
    if worst is None or fail_on == "never":
        return 0
    return int(SEVERITIES.index(worst) >= SEVERITIES.index(fail_on))
