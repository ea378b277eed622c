"""Change notification: a hint which paths to look at, never more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, cast

import anyio
from watchfiles import Change, awatch

from lastsignal.edges.tailer.listing import Listing
from lastsignal.edges.tailer.patterns import Patterns
from lastsignal.edges.tailer.piece import Key

_STEP_MILLISECONDS = 15
_DEBOUNCE_MILLISECONDS = 50
_HEARTBEAT_MILLISECONDS = 5000
_RETRY_SECONDS = 60.0


class Watch(Protocol):
    """What watches folders; `watchfiles.awatch` does."""

    def __call__(self, *paths: str, **options: Any) -> AsyncIterator[set[tuple[Change, str]]]:
        """Yield sets of changes, and empty ones as heartbeats."""


default_watch = cast(Watch, awatch)


class FolderWatch:
    """Watches the folders that the last full look has found.

    Args:
        watch: what watches.
        patterns: says which paths are refused.
        on_hint: told of changed paths.
        on_state: told why watching failed, or with None that it begins.
    """

    def __init__(
        self,
        watch: Watch,
        patterns: Patterns,
        on_hint: Callable[[set[str]], None],
        on_state: Callable[[str | None], None],
    ) -> None:
        self._watch = watch
        self._patterns = patterns
        self._on_hint = on_hint
        self._on_state = on_state
        self._deep: dict[str, Key] = {}
        self._flat: dict[str, Key] = {}
        self._changed = anyio.Event()
        self.has_failed = False

    def note_folders(self, listing: Listing) -> None:
        """Watch these folders from now on; one that was replaced is watched anew."""
        deep = {path: listing.folders[path] for path in listing.deep if path in listing.folders}
        prefixes = tuple(path.rstrip("/") + "/" for path in deep)
        flat = {
            path: key
            for path, key in listing.folders.items()
            if path not in deep and not path.startswith(prefixes) and key[1] > 0
        }
        if (deep, flat) != (self._deep, self._flat):
            self._deep, self._flat = deep, flat
            self._changed.set()

    async def run(self) -> None:
        """Watch until cancelled; try again at times where the system cannot."""
        while True:
            self._changed = anyio.Event()
            failures: list[str] = []
            stop = anyio.Event()  # its thread does not see that the task is cancelled
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, list(self._deep), True, stop, failures)
                tasks.start_soon(self._follow, list(self._flat), False, stop, failures)
                try:
                    await anyio.sleep(0)  # both are watching, or have failed
                    self.has_failed = bool(failures)
                    self._on_state(failures[0] if failures else None)
                    with anyio.move_on_after(_RETRY_SECONDS if failures else None):
                        await self._changed.wait()
                finally:
                    stop.set()

    async def _follow(
        self, folders: list[str], recursive: bool, stop: anyio.Event, failures: list[str]
    ) -> None:
        if not folders:
            return
        try:
            async for changes in self._watch(
                *folders,
                watch_filter=lambda change, path: not self._patterns.refuses(path),
                debounce=_DEBOUNCE_MILLISECONDS,
                step=_STEP_MILLISECONDS,
                stop_event=stop,
                rust_timeout=_HEARTBEAT_MILLISECONDS,
                yield_on_timeout=True,
                recursive=recursive,
                ignore_permission_denied=True,
            ):
                if changes:
                    self._on_hint({path for _, path in changes})
        except (OSError, RuntimeError) as error:  # no more watches, or none at all here
            failures.append(str(error))
            self.has_failed = True
            self._changed.set()
