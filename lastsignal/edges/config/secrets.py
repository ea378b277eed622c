"""Secrets by reference: `{ file = "…" }`, `{ env = "…" }`, or plain text with a warning."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from pathlib import Path

from lastsignal.edges.config.values import Secret

_MAX_BYTES = 64 * 1024


def read_secret(
    raw: object,
    environment: Mapping[str, str],
    folder: Path,
    source: str | None,
    warn: Callable[[str, str], None],
) -> Secret:
    """Return the secret that a value is or refers to.

    Args:
        raw: what was written.
        environment: the variables of the process.
        folder: where a relative file name begins.
        source: the variable that gave the value itself; None for the configuration file.
        warn: told of a secret that stands in the open.

    Raises:
        ValueError: what it refers to is not there.
        TypeError: it is no secret at all.
    """
    if isinstance(raw, str):
        if not raw:
            raise ValueError('it is empty; write text, { file = "…" } or { env = "…" }')
        if source is None:
            warn("stands in the file in plain text", 'refer to it by { file = "…" }')
        return Secret(raw, ("env", source) if source else None)
    if not isinstance(raw, dict) or len(raw) != 1:
        raise TypeError
    ((kind, name),) = raw.items()
    if not isinstance(name, str):
        raise TypeError
    if kind == "env":
        return _from_variable(name, environment)
    if kind == "file":
        return _from_file(name, environment, folder)
    raise TypeError


def _from_variable(name: str, environment: Mapping[str, str]) -> Secret:
    text = environment.get(name, "").strip()
    if not text:
        raise ValueError(f"the environment has no {name}; set it, or refer to another")
    return Secret(text, ("env", name))


def _from_file(name: str, environment: Mapping[str, str], folder: Path) -> Secret:
    try:
        # systemd hands credentials over in a folder that only a variable names
        path = folder / Path(string.Template(name).substitute(environment)).expanduser()
    except KeyError as error:
        raise ValueError(
            f"{name}: the environment has no {error.args[0]}; set it, or write the whole path"
        ) from None
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode().strip()
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read: {error.strerror}; check the path and its permissions"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; write the secret alone into it") from None
    if not text:
        raise ValueError(f"{path} is empty; write the secret into it")
    return Secret(text, ("file", name))
