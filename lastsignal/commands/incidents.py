"""`lastsignal incidents`: look at what the daemon has found, acknowledge it, silence it."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import click
from rich.table import Table

from lastsignal.commands.config import config_option
from lastsignal.commands.output import echo_json
from lastsignal.commands.state import state_option, state_reader
from lastsignal.core.durations import parse_duration, show_duration
from lastsignal.core.incidents import Incident, Silence, rank
from lastsignal.edges.report.visible import escaped, visible
from lastsignal.edges.store import Acknowledge, EndSilence, StartSilence, StateReader
from lastsignal.edges.terminal import console_for
from lastsignal.errors import UsageError


@click.group()
def incidents() -> None:
    """Look at what the daemon has found; acknowledge it, or silence it for a while."""


@incidents.command("list")
@config_option
@state_option
@click.option("--all", "with_resolved", is_flag=True, help="Show resolved incidents too.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON for machines.")
def list_incidents(
    path: Path | None, state_dir: Path | None, with_resolved: bool, as_json: bool
) -> int:
    """List the open incidents, the worst first, of these the latest."""
    found = [
        one
        for one in state_reader(path, state_dir).incidents()
        if with_resolved or one.state == "open"
    ]
    found.sort(key=lambda one: (one.state != "open", -rank(one.severity), -one.opened_at, one.id))
    if as_json:
        echo_json(found)
        return 0
    if not found:
        click.echo("no open incidents" if not with_resolved else "no incidents")
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("incident", "severity", "state", "age", "trace", "what"):
        table.add_column(column, overflow="fold")
    for one in found:
        age = show_duration(max(0.0, time.time() - one.opened_at))
        told = visible(one.trace_id), visible(one.summary)
        table.add_row(one.id, one.severity, _state(one), age, *told)
    console_for(sys.stdout).print(table, markup=False)
    return 0


@incidents.command()
@click.argument("incident_id")
@config_option
@state_option
def show(incident_id: str, path: Path | None, state_dir: Path | None) -> int:
    """Show one incident: its cause, the lines that it rests on, and what to do."""
    one = _find(state_reader(path, state_dir), incident_id)
    lines = [
        f"{one.id}  {one.severity}, {_state(one)}",
        visible(one.summary),
        "",
        f"trace     {visible(one.trace_id)}",
        f"rule      {one.rule} ({one.category})",
        f"opened    {_moment(one.opened_at)}",
        f"count     {one.count}",
    ]
    if one.resolved_at is not None:
        lines.append(f"resolved  {_moment(one.resolved_at)}")
    if one.explained_by is not None:
        lines.append(f"symptom of  {one.explained_by}")
    lines += ["", "Cause", f"  {visible(one.cause)}", "", "Evidence"]
    lines += [
        f"  {escaped(at.source)}:{at.line}  {visible(at.focus or at.event_type)}"
        for at in one.evidence
    ]
    lines += ["", "Remedy", *(f"  {visible(line)}" for line in one.remedy.splitlines())]
    click.echo("\n".join(lines))
    return 0


@incidents.command()
@click.argument("incident_id")
@config_option
@state_option
def ack(incident_id: str, path: Path | None, state_dir: Path | None) -> int:
    """Acknowledge an incident: nobody is told of it again until it ends or opens anew."""
    reader = state_reader(path, state_dir)
    one = _find(reader, incident_id)
    reader.submit(Acknowledge(one.id))
    click.echo(f"{one.id} will be taken as known by the daemon within about a second of running")
    return 0


@incidents.command()
@click.argument("matchers", nargs=-1, required=True)
@click.option("--for", "length", default="2h", show_default=True, help="How long, e.g. 30m.")
@click.option("--comment", default="", help="Why.")
@config_option
@state_option
def silence(
    matchers: tuple[str, ...], length: str, comment: str, path: Path | None, state_dir: Path | None
) -> int:
    """Tell nobody of incidents that match, for a while.

    MATCHERS are FIELD=VALUE, all of which must hold; fields are rule, severity, trace_id,
    framework, agent, and those of the rule's group, such as operation.
    """
    wanted = {}
    for matcher in matchers:
        name, equals, value = matcher.partition("=")
        if not equals or not name or not value:
            raise UsageError(
                f"`{matcher}` is no matcher; write FIELD=VALUE, e.g. rule=tool_timeout"
            )
        wanted[name] = value
    try:
        until = time.time() + parse_duration(length)
    except ValueError as error:
        raise UsageError(f"--for: {error}") from error
    one = Silence(id=uuid4().hex[:8], matchers=wanted, until=until, comment=comment)
    reader = state_reader(path, state_dir)
    standing = [incident for incident in reader.incidents() if incident.state == "open"]
    reader.submit(StartSilence(one))
    matched = sum(map(one.matches, standing))
    click.echo(
        f"silence {one.id} until {_moment(until)}, matches {matched} of {len(standing)} open"
        f" incidents; end it with `incidents unsilence {one.id}`"
    )
    return 0


@incidents.command()
@click.argument("silence_id")
@config_option
@state_option
def unsilence(silence_id: str, path: Path | None, state_dir: Path | None) -> int:
    """End a silence."""
    reader = state_reader(path, state_dir)
    if silence_id not in {one.id for one in reader.silences()}:
        raise UsageError(f"there is no silence `{silence_id}`; see `lastsignal incidents silences`")
    reader.submit(EndSilence(silence_id))
    click.echo(f"silence {silence_id} will end")
    return 0


@incidents.command()
@config_option
@state_option
def silences(path: Path | None, state_dir: Path | None) -> int:
    """List the silences that hold."""
    held = [one for one in state_reader(path, state_dir).silences() if one.until > time.time()]
    for one in held:
        matchers = " ".join(f"{name}={value}" for name, value in one.matchers.items())
        click.echo(f"{one.id}  until {_moment(one.until)}  {matchers}  {one.comment}".rstrip())
    if not held:
        click.echo("no silences")
    return 0


def _find(reader: StateReader, incident_id: str) -> Incident:
    found = [one for one in reader.incidents() if one.id.startswith(incident_id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"there is no incident `{incident_id}`; see `lastsignal incidents list`")
    raise UsageError(f"`{incident_id}` begins {len(found)} incidents; write more of the id")


def _state(one: Incident) -> str:
    if one.state == "open" and one.acknowledged_at is not None:
        return "acknowledged"
    return one.state


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
