"""`lastsignal watch`: the daemon."""

from __future__ import annotations

import gc
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import click
import structlog

from lastsignal.commands.aliases import ladder_of
from lastsignal.commands.config import config_option
from lastsignal.commands.configured_rules import rules_of
from lastsignal.commands.missing import missing_paths
from lastsignal.edges import logs
from lastsignal.edges.config import LoadedConfig, Override, load_config
from lastsignal.errors import InputError, UsageError
from lastsignal.watch import Request
from lastsignal.watch import watch as run_watch
from lastsignal.watch.settings import secrets


@click.command()
@click.argument("paths", nargs=-1)
@config_option
@click.option(
    "--state-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where offsets, incidents and unsent notifications are kept over a restart.",
)
@click.option(
    "--from",
    "--start",
    "start",
    type=click.Choice(["checkpoint", "start", "end"]),
    help="Where files begin that are there at startup: where the last run stopped (and new ones at "
    "their start), all at their start, or all at their end.",
)
@click.option(
    "--once",
    is_flag=True,
    help="Read what is there to its end, judge what is open, tell what is to be told, and stop.",
)
def watch(
    paths: tuple[str, ...], path: Path | None, state_dir: Path | None, start: str | None, once: bool
) -> int:
    """Follow traces as they are written, and raise incidents while runs are still alive.

    PATHS are files, folders (with everything below them) and globs; they stand for those of the
    configuration. Ends on SIGTERM or Ctrl-C after reading to the last byte; SIGHUP reads rules and
    configuration again. After a crash it goes on where it stopped: nothing is lost, nobody is told
    twice.

    \b
    Examples:
      lastsignal watch ./traces
      lastsignal watch ~/.claude/projects --from end
      lastsignal watch --config /etc/lastsignal/config.toml
    """
    # whoever asks for a reload while it starts must not end it: everything is about to be read
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    options = {
        ("inputs", "paths"): (list(paths) or None, "PATHS"),
        ("inputs", "start"): (start, "--start"),
        ("state_dir",): (str(state_dir) if state_dir else None, "--state-dir"),
    }
    overrides = [
        Override(place, value, option)
        for place, (value, option) in options.items()
        if value is not None
    ]
    load = partial(configuration_of, path, overrides)
    loaded = load()
    section = loaded.config.log
    logs.configure(section.level, section.format, secrets=secrets(loaded.config))
    log = structlog.get_logger("watch")
    for warning in loaded.warnings:
        log.warning("config_warning", detail=str(warning))
    for missing in missing_paths(loaded.config.inputs.paths):
        if once:
            raise InputError(f"{missing}: no such file or folder; check the path")
        log.warning("nothing_there_yet", path=missing, done="waits for it")
    ladder = ladder_of(loaded.config.aliases)
    request = Request(
        loaded=loaded, load_config=load, load_rules=rules_of, ladder=ladder, once=once
    )
    gc.freeze()  # what is loaded by now stays to the end: no need to look for it among the garbage
    anyio.run(run_watch, request, log)
    return 0


def configuration_of(path: Path | None, overrides: Sequence[Override]) -> LoadedConfig:
    """Return a configuration with which the daemon could start.

    Raises:
        UsageError: with what is wrong.
    """
    loaded = load_config(path, overrides=overrides)
    if not loaded.config.inputs.paths:
        raise UsageError(
            "nothing to watch; name files, folders or globs, or set `paths` in [inputs]"
        )
    ladder_of(loaded.config.aliases)
    return loaded
