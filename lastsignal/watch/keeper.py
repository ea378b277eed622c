"""Rules and configuration of a running daemon: read again on request, rules also when they change.

What is broken changes nothing: the last good rules and the last good configuration stay in force.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

import anyio
import anyio.to_thread

from lastsignal.core.rules import Rule
from lastsignal.edges.config import LoadedConfig
from lastsignal.errors import LastSignalError

LOOK_INTERVAL = 2.0  # seconds between looks at the rule files

LoadConfig = Callable[[], LoadedConfig]
LoadRules = Callable[[LoadedConfig], Sequence[Rule]]


class Taker(Protocol):
    """Puts in force what was read, and is told of every attempt."""

    async def use_config(self, loaded: LoadedConfig) -> None:
        """Put a configuration in force, as far as a running daemon can.

        Raises:
            LastSignalError: it cannot be used; the former one stays.
        """

    def use_rules(self, rules: Sequence[Rule]) -> None:
        """Put rules in force."""

    def told_of_config(self, error: str | None) -> None:
        """Note that the configuration was read: None when it went well, else what is wrong."""

    def told_of_rules(self, error: str | None) -> None:
        """Note that the rules were read: None when it went well, else what is wrong."""


class Keeper:
    """Keeps rules and configuration up to date.

    Args:
        loaded: the configuration in force.
        load_config: reads it again; raises LastSignalError with everything that is wrong.
        load_rules: reads all rules; raises LastSignalError with everything that is wrong.
        taker: what puts them in force.
    """

    def __init__(
        self, loaded: LoadedConfig, load_config: LoadConfig, load_rules: LoadRules, taker: Taker
    ) -> None:
        self._loaded = loaded
        self._load_config = load_config
        self._load_rules = load_rules
        self._taker = taker
        self._one_at_a_time = anyio.Lock()
        self._asked = 0
        self._answered = 0
        """Of those who asked, how many the last reading has answered."""
        self._config_problems: list[str] = []
        self._rule_problems: list[str] = []

    @property
    def problems(self) -> list[str]:
        """Return why what the files say is not in force; nothing where it is."""
        return [
            *(f"the configuration could not be read again: {one}" for one in self._config_problems),
            *(f"the rules could not be read again: {one}" for one in self._rule_problems),
        ]

    async def reload(self) -> Sequence[str]:
        """Read configuration and rules; return why the former ones stay, if they do.

        Whoever asks while a reading waits for its turn is answered by that one: a thousand signals
        are two readings.
        """
        self._asked += 1
        mine = self._asked
        async with self._one_at_a_time:
            if self._answered < mine:
                self._answered = self._asked
                await self._read_config()
                await self._read_rules()
            return [*self._config_problems, *self._rule_problems]

    async def keep(self) -> None:
        """Read the rules again whenever their files change."""
        known = await anyio.to_thread.run_sync(self._look)
        while True:
            await anyio.sleep(LOOK_INTERVAL)
            section = self._loaded.config.rules
            if not (section.reload_on_change and section.paths):
                continue
            now = await anyio.to_thread.run_sync(self._look)
            if now != known:
                known = now
                async with self._one_at_a_time:
                    await self._read_rules()

    async def _read_config(self) -> None:
        try:
            loaded = await anyio.to_thread.run_sync(self._load_config)
            await self._taker.use_config(loaded)
        except LastSignalError as error:
            self._config_problems = str(error).splitlines()
            self._taker.told_of_config(str(error))
            return
        self._loaded = loaded
        self._config_problems = []
        self._taker.told_of_config(None)

    async def _read_rules(self) -> None:
        try:
            rules = await anyio.to_thread.run_sync(self._load_rules, self._loaded)
        except LastSignalError as error:
            self._rule_problems = str(error).splitlines()
            self._taker.told_of_rules(str(error))
            return
        self._rule_problems = []
        self._taker.use_rules(rules)
        self._taker.told_of_rules(None)

    def _look(self) -> frozenset[tuple[str, int, int]]:
        seen: set[tuple[str, int, int]] = set()
        for folder in self._loaded.config.rules.paths:
            try:
                paths = [folder, *folder.rglob("*.y*ml")] if folder.is_dir() else [folder]
            except OSError:
                continue  # cannot be looked into now: a later look tells
            for path in paths:
                with suppress(OSError):  # gone while looking: the next look tells
                    info = path.stat()
                    if not stat.S_ISDIR(info.st_mode):
                        seen.add((str(path), info.st_mtime_ns, info.st_size))
        return frozenset(seen)
