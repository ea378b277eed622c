"""The rules of a running daemon: read again on request or when their files change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from lastsignal.core.rules import Rule
from lastsignal.errors import LastSignalError

LOOK_INTERVAL = 2.0  # seconds between looks at the rule files

LoadRules = Callable[[], Sequence[Rule]]
UseRules = Callable[[Sequence[Rule]], None]


class RuleKeeper:
    """Keeps the rules in force up to date; a broken set leaves the last good one.

    Args:
        load: reads all rules; raises LastSignalError with everything that is wrong.
        use: puts rules in force.
        told: told of every attempt: None when it went well, else what is wrong.
        folders: rule files and folders, looked at for changes.
    """

    def __init__(
        self,
        load: LoadRules,
        use: UseRules,
        told: Callable[[str | None], None],
        folders: Sequence[Path] = (),
    ) -> None:
        self._load = load
        self._use = use
        self._told = told
        self._folders = folders
        self._one_at_a_time = anyio.Lock()
        self.problems: list[str] = []
        """Why the rule files are not in force as they are; empty where they are."""

    async def reload(self) -> Sequence[str]:
        """Read the rules; return why the former ones stay, if they do."""
        async with self._one_at_a_time:
            try:
                rules = await anyio.to_thread.run_sync(self._load)
            except LastSignalError as error:
                self.problems = str(error).splitlines()
                self._told(str(error))
                return self.problems
            self.problems = []
            self._use(rules)
            self._told(None)
            return []

    async def keep(self) -> None:
        """Read the rules again whenever their files change."""
        known = await anyio.to_thread.run_sync(self._look)
        while True:
            await anyio.sleep(LOOK_INTERVAL)
            now = await anyio.to_thread.run_sync(self._look)
            if now != known:
                known = now
                await self.reload()

    def _look(self) -> frozenset[tuple[str, int, int]]:
        seen: set[tuple[str, int, int]] = set()
        for folder in self._folders:
            for path in [folder, *folder.rglob("*.y*ml")] if folder.is_dir() else [folder]:
                try:
                    info = path.stat()
                except OSError:
                    continue  # gone while looking: the next look tells
                if not path.is_dir():
                    seen.add((str(path), info.st_mtime_ns, info.st_size))
        return frozenset(seen)
