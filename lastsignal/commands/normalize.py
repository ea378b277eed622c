"""`lastsignal normalize`: shows what each record became."""

from __future__ import annotations

import sys

import click
import msgspec

from lastsignal.app import read_events
from lastsignal.core.aliases.reader import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import as_plain
from lastsignal.edges.inputs import open_sources
from lastsignal.errors import InputError

_encode = msgspec.json.Encoder().encode


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--quiet", "-q", is_flag=True, help="Do not tell on stderr what was skipped.")
def normalize(paths: tuple[str, ...], quiet: bool) -> int:
    """Print the events that records became, one JSON object a line, in the native schema.

    PATHS are files, folders, globs, or - for standard input. What gave no event is counted by
    reason on stderr.
    """
    total = 0
    for source in open_sources(paths):
        reader = Reader(source.name, LADDER, ingest_time=0.0)
        for events in read_events(source, reader):
            for event in events:
                sys.stdout.buffer.write(_encode(as_plain(event)) + b"\n")
        total += reader.events
        if not quiet:
            formats = "+".join(reader.formats) or "no known format"
            skipped = ", ".join(f"{count} {why}" for why, count in sorted(reader.skipped.items()))
            click.echo(
                f"{source.name}: {formats}, {reader.records} records, {reader.events} events"
                + (f"; skipped: {skipped}" if skipped else ""),
                err=True,
            )
    sys.stdout.buffer.flush()
    if not total:
        raise InputError("no event could be read from the input; see above what was skipped")
    return 0
