"""Where the configuration and the state are, when nobody says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

SYSTEM_FILE = Path("/etc/lastsignal/config.toml")


def candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield where a configuration is looked for, the first that exists is taken."""
    yield Path("lastsignal.toml")
    home = _home(environment, "XDG_CONFIG_HOME", ".config")
    if home is not None:
        yield home / "lastsignal" / "config.toml"
    yield SYSTEM_FILE


def find_config(environment: Mapping[str, str]) -> Path | None:
    """Return the configuration file, None where there is none."""
    return next((path for path in candidates(environment) if path.is_file()), None)


def default_state_dir(environment: Mapping[str, str]) -> Path | None:
    """Return where state is kept; None where nothing says, e.g. for a user without a home."""
    given = environment.get("STATE_DIRECTORY", "").split(":")[0]  # of systemd; may be several
    if given:
        return Path(given)
    home = _home(environment, "XDG_STATE_HOME", ".local/state")
    return None if home is None else home / "lastsignal"


def _home(environment: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    given = environment.get(variable, "")
    if given and Path(given).is_absolute():  # the XDG specification: a relative one is ignored
        return Path(given)
    home = environment.get("HOME", "")
    return Path(home) / below_home if home else None
