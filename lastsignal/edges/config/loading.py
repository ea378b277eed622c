"""A file, the environment and the command line → one `Config`, or every mistake in them."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lastsignal.core.places import Place, show_place
from lastsignal.edges.config.checks import check
from lastsignal.edges.config.decoding import WRONG, Decoding
from lastsignal.edges.config.environment import CONFIG_VARIABLE, apply_environment, variables
from lastsignal.edges.config.places import Places
from lastsignal.edges.config.positions import find_lines
from lastsignal.edges.config.schema import Config
from lastsignal.edges.config.search import default_state_dir, find_config
from lastsignal.errors import Problem, UsageError

MAX_BYTES = 1 << 20

RENAMED: Mapping[Place, Place] = MappingProxyType({})
"""Keys of former versions and what they are called now: they still work, with a warning."""


class ConfigError(UsageError):
    """A configuration that cannot be used; carries every problem, not only the first."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Override:
    """A value that the command line gives."""

    place: Place
    """The key, e.g. `("inputs", "paths")`."""
    value: object
    """As the file would have it."""
    option: str
    """What gave it, e.g. `--state-dir`."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration and where it comes from."""

    config: Config
    places: Places = field(repr=False)
    warnings: list[Problem]

    @property
    def path(self) -> Path | None:
        """The file; None where there is none."""
        return self.places.path


def load_config(
    path: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    overrides: Sequence[Override] = (),
    renamed: Mapping[Place, Place] = RENAMED,
) -> LoadedConfig:
    """Return the configuration; sensible with no file at all.

    Args:
        path: the file; without it $LASTSIGNAL_CONFIG, else the first that `search` finds.
        environment: the variables; None for those of this process.
        overrides: what the command line says, over all else.
        renamed: keys of former versions.

    Raises:
        ConfigError: with every mistake.
    """
    environment = os.environ if environment is None else environment
    if path is None and environment.get(CONFIG_VARIABLE):
        path = Path(environment[CONFIG_VARIABLE])
    path = path or find_config(environment)
    raw, places = read_file(path) if path is not None else ({}, Places())
    known = {str(place[-1]): show_place(place) for _, place, _ in reversed([*variables()])}
    decoding = Decoding(places, environment, known)
    _rename(raw, renamed, decoding)
    decoding.problems += apply_environment(raw, environment, places)
    for one in overrides:
        _set(raw, one.place, one.value)
        places.others[one.place] = one.option
    config = _decode(raw, decoding)
    if config is None or any(problem.severity == "error" for problem in decoding.problems):
        raise ConfigError(sorted(p for p in decoding.problems if p.severity == "error"))
    return LoadedConfig(config, places, decoding.problems)


def read_file(path: Path) -> tuple[dict[str, Any], Places]:
    """Return what a TOML file says, and where.

    Raises:
        ConfigError: it cannot be read, or is no TOML.
    """

    def refuse(message: str, fix: str, line: int = 0) -> ConfigError:
        return ConfigError([Problem(str(path), line, message, fix)])

    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise refuse("no such file", "name one that is there, or none at all") from None
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}", "check its permissions") from None
    if len(data) > MAX_BYTES:
        raise refuse("the file is over 1 MiB", "a configuration is a page of text")
    try:
        text = data.decode("utf-8-sig")
        raw = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise refuse("the file is not UTF-8", "save it as UTF-8", line) from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        message, line = (found[1], int(found[2] or 0)) if found else (str(error), 0)
        message = message[:1].lower() + message[1:]
        line = line or text.count("\n") + 1
        raise refuse(f"no valid TOML: {message}", "see https://toml.io", line) from None
    except RecursionError:
        raise refuse("no valid TOML: nested too deeply", "a configuration is flat") from None
    return raw, Places(path, find_lines(text))


def _decode(raw: dict[str, Any], decoding: Decoding) -> Config | None:
    if "state_dir" not in raw:
        found = default_state_dir(decoding.environment)
        if found is None:
            decoding.complain(
                ("state_dir",),
                "there is no place for state: neither STATE_DIRECTORY nor HOME is set",
                'add state_dir = "…" or set LASTSIGNAL_STATE_DIR',
            )
            return None
        raw = {"state_dir": str(found), **raw}
    config = decoding.struct(raw, Config, ())
    if config is WRONG:
        return None
    assert isinstance(config, Config)
    check(config, decoding)
    return config


def _rename(raw: dict[str, Any], renamed: Mapping[Place, Place], decoding: Decoding) -> None:
    for old, new in renamed.items():
        table: Any = raw
        for step in old[:-1]:
            table = table.get(step) if isinstance(table, dict) else None
        if not isinstance(table, dict) or old[-1] not in table:
            continue
        decoding.complain(
            old,
            f"`{show_place(old)}` is now called `{show_place(new)}`",
            "rename it: the old name will go",
            "warning",
        )
        _set(raw, new, table.pop(old[-1]))
        decoding.places.move(old, new)


def _set(raw: dict[str, Any], place: Place, value: object) -> None:
    table: Any = raw
    for step in place[:-1]:
        table = table.setdefault(step, {})
        if not isinstance(table, dict):
            return  # told when it is decoded
    table[place[-1]] = value
