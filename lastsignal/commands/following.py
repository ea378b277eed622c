"""`lastsignal normalize --follow`: the events of growing files, until somebody ends it."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import click

from lastsignal.commands.missing import missing_paths
from lastsignal.commands.printing import print_events, told
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.diagnosis.report import InputSummary
from lastsignal.edges.tailer import Trouble
from lastsignal.errors import UsageError
from lastsignal.watch.following import Followed, follow
from lastsignal.watch.pipeline import Pipeline
from lastsignal.watch.service import innermost


def print_followed(paths: Sequence[str], ladder: tuple[Dialect, ...], *, quiet: bool) -> int:
    """Print events as they come; returns never, for only a signal or a closed pipe ends it.

    Raises:
        UsageError: standard input is among the paths.
        KeyboardInterrupt: somebody has ended it; what was held is printed by then.
    """
    if "-" in paths:
        raise UsageError("standard input is read as it comes, without --follow; leave one out")

    def tell(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    for path in missing_paths(paths):
        tell(f"{path}: not there yet; waiting for it")
    followed = Followed(ladder, print_events, lambda pipeline: tell(_summary(pipeline)))
    try:
        anyio.run(follow, paths, followed, lambda trouble: tell(_trouble(trouble)))
    except BaseExceptionGroup as group:
        raise innermost(group) from None
    return 0


def _summary(pipeline: Pipeline) -> str:
    reader = pipeline.reader
    summary = InputSummary(
        source=pipeline.name,
        format=list(reader.formats),
        records=reader.records,
        events=reader.events,
        skipped=dict(sorted(pipeline.account().skipped.items())),
        mended=dict(sorted(reader.mended.items())),
        first_mended=reader.first_mended,
    )
    return told(summary, reader)


def _trouble(trouble: Trouble) -> str:
    return f"{trouble.path or 'following'}: {trouble.kind.value}: {trouble.detail}"
