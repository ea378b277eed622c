"""The daemon's state, as commands look at it."""

from __future__ import annotations

from pathlib import Path

import click

from lastsignal.edges.config import Override, load_config
from lastsignal.edges.store import StateReader

state_option = click.option(
    "--state-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The daemon's state directory; default: that of the configuration.",
)


def state_reader(path: Path | None, state_dir: Path | None) -> StateReader:
    """Return what looks into the state directory that a configuration or an option names.

    Raises:
        LastSignalError: the configuration is wrong, or there is no state.
    """
    given = [Override(("state_dir",), str(state_dir), "--state-dir")] if state_dir else []
    return StateReader(load_config(path, overrides=given).config.state_dir)
