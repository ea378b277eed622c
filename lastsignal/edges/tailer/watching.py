"""Change notification: a hint which paths to look at, never more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, cast

import anyio
from watchfiles import Change, awatch

from lastsignal.edges.tailer.listing import Listing
from lastsignal.edges.tailer.patterns import Patterns
from lastsignal.edges.tailer.piece import Key

_STEP_MILLISECONDS = 20
_DEBOUNCE_MILLISECONDS = 50
_HEARTBEAT_MILLISECONDS = 5000
_RETRY_SECONDS = 60.0
_SOON_SECONDS = 1.0


class Watch(Protocol):
    """What watches folders; `watchfiles.awatch` does."""

    def __call__(self, *paths: str, **options: Any) -> AsyncIterator[set[tuple[Change, str]]]:
        """Yield sets of changes, and empty ones as heartbeats."""


default_watch = cast(Watch, awatch)


class _Attempt:
    """One attempt to watch."""

    def __init__(self) -> None:
        self.stop = anyio.Event()
        self.failure = anyio.Event()
        self.why: str | None = None

    def fail(self, why: str) -> None:
        """Give up, for this reason."""
        self.why = why
        self.failure.set()


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
        there = {path: key for path, key in listing.folders.items() if key[1] > 0}
        deep = {path: there[path] for path in listing.deep if path in there}
        prefixes = tuple(path.rstrip("/") + "/" for path in deep)
        flat = {
            path: key
            for path, key in there.items()
            if path not in deep and not path.startswith(prefixes)
        }
        if (deep, flat) != (self._deep, self._flat):
            self._deep, self._flat = deep, flat
            self._changed.set()

    async def run(self) -> None:
        """Watch until cancelled; try again at times where the system cannot."""
        while True:
            self._changed = anyio.Event()
            attempt = _Attempt()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, list(self._deep), True, attempt)
                tasks.start_soon(self._follow, list(self._flat), False, attempt)
                try:
                    await anyio.sleep(0)  # both are watching by now, or have failed
                    if not attempt.failure.is_set():
                        self._note(None)
                        await self._wait_for_change_or(attempt.failure)
                finally:
                    attempt.stop.set()
            if attempt.failure.is_set():
                self._note(attempt.why)
                with anyio.move_on_after(_RETRY_SECONDS if attempt.why else _SOON_SECONDS):
                    await self._changed.wait()

    async def _wait_for_change_or(self, failure: anyio.Event) -> None:
        async with anyio.create_task_group() as tasks:

            async def wait(event: anyio.Event) -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait, self._changed)
            tasks.start_soon(wait, failure)

    def _note(self, why: str | None) -> None:
        is_news = why is None or not self.has_failed
        self.has_failed = why is not None
        if is_news:
            self._on_state(why)

    async def _follow(self, folders: list[str], recursive: bool, attempt: _Attempt) -> None:
        if not folders:
            return
        try:
            try:
                await self._take_hints(folders, recursive, attempt.stop, ignores_denials=False)
            except PermissionError:  # of one folder; ignoring it hides every other fault, too
                await self._take_hints(folders, recursive, attempt.stop, ignores_denials=True)
        except FileNotFoundError:  # a folder that was there a moment ago: a look tells more
            attempt.failure.set()
        except (OSError, RuntimeError) as error:  # no more watches, or none at all here
            attempt.fail(str(error))
        except ExceptionGroup as group:  # what comes while it watches, e.g. a name that is no UTF-8
            known, unknown = group.split((OSError, RuntimeError))
            if unknown is not None:
                raise
            attempt.fail(str(_first(known)))

    async def _take_hints(
        self, folders: list[str], recursive: bool, stop: anyio.Event, *, ignores_denials: bool
    ) -> None:
        async for changes in self._watch(
            *folders,
            watch_filter=lambda change, path: not self._patterns.refuses(path),
            debounce=_DEBOUNCE_MILLISECONDS,
            step=_STEP_MILLISECONDS,
            stop_event=stop,  # its thread does not see that the task is cancelled
            rust_timeout=_HEARTBEAT_MILLISECONDS,
            yield_on_timeout=True,
            recursive=recursive,
            ignore_permission_denied=ignores_denials,
        ):
            if changes:
                self._on_hint({path for _, path in changes})


def _first(error: BaseException | None) -> BaseException | None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
