"""`lastsignal notify`: whether the targets can be told, and what they have not been told."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio
import click
from rich.table import Table

from lastsignal.commands.config import config_option
from lastsignal.commands.state import state_option, state_reader
from lastsignal.core.durations import show_duration
from lastsignal.core.incidents import Notice
from lastsignal.edges.config import load_config
from lastsignal.edges.notify import try_targets
from lastsignal.edges.report.visible import visible
from lastsignal.edges.terminal import console_for
from lastsignal.errors import UsageError
from lastsignal.watch import targets_of


@click.group()
def notify() -> None:
    """Whether the targets can be told, and what they have not been told."""


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


@notify.command("list")
@config_option
@state_option
@click.option("--dead", "only_dead", is_flag=True, help="Show only what was given up.")
def list_messages(path: Path | None, state_dir: Path | None, only_dead: bool) -> int:
    """List the messages that wait, and those that were given up, the oldest first."""
    found = [
        one for one in state_reader(path, state_dir).messages() if one.is_dead or not only_dead
    ]
    if not found:
        click.echo("nothing waits" if not only_dead else "nothing was given up")
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("target", "state", "age", "attempts", "what", "error"):
        table.add_column(column, overflow="fold")
    for one in found:
        age = show_duration(max(0.0, time.time() - one.created_at))
        state = "given up" if one.is_dead else "waits"
        told = visible(_told(one.notice)), visible(one.error)
        table.add_row(one.target, state, age, str(one.attempts), *told)
    console_for(sys.stdout).print(table, markup=False)
    return 0


def _told(notice: Notice) -> str:
    first = notice.incidents[0]
    if notice.kind == "digest":
        return f"digest of {notice.total} incidents"
    return f"{notice.kind}: {first.summary} ({first.id}, {first.trace_id})"
