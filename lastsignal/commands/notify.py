"""`lastsignal notify`: whether the targets can be told."""

from __future__ import annotations

from pathlib import Path

import anyio
import click

from lastsignal.commands.config import config_option
from lastsignal.core.durations import show_duration
from lastsignal.edges.config import load_config
from lastsignal.edges.notify import try_targets
from lastsignal.errors import UsageError
from lastsignal.watch import targets_of


@click.group()
def notify() -> None:
    """Whether the targets of notifications can be told."""


@notify.command()
@config_option
def test(path: Path | None) -> int:
    """Send one test message to each target, and say what happened."""
    targets = targets_of(load_config(path).config)
    if not targets:
        raise UsageError("no targets are configured; add a [[targets]] table")
    trials = anyio.run(try_targets, targets)
    for one in trials:
        said = "sent" if one.ok else f"FAILED: {one.error}"
        click.echo(f"{one.target}  {one.address}  {said}  ({show_duration(one.seconds)})")
    return 0 if all(one.ok for one in trials) else 3
