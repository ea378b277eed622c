"""What a terminal wants: colour only where it is one, and a progress bar for long work."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

LONG_WORK_BYTES = 16 * 1024 * 1024
"""Less is read before a bar could be seen."""

FALLBACK_WIDTH = 100


def console_for(stream: TextIO, *, width: int | None = None) -> Console:
    """Return a console that colours only a terminal, and not with NO_COLOR set."""
    is_terminal = stream.isatty()
    return Console(
        file=stream,
        force_terminal=is_terminal,
        no_color=bool(os.environ.get("NO_COLOR")) or not is_terminal,
        width=width or (None if is_terminal else FALLBACK_WIDTH),
        soft_wrap=False,
        highlight=False,
    )


def width_of(stream: TextIO) -> int:
    """Return the columns of a terminal, or a width that suits a file."""
    return console_for(stream).width


class ReadingProgress:
    """A bar over the bytes of all inputs; nothing unless stderr is a terminal and the work long.

    Args:
        total: bytes of all inputs, None where one of them does not tell.
        stream: where the bar is drawn; None for nowhere.
    """

    def __init__(self, total: int | None, stream: TextIO | None) -> None:
        worth = total is None or total >= LONG_WORK_BYTES
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        if stream is not None and stream.isatty() and worth:
            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                DownloadColumn(),
                TimeRemainingColumn(),
                console=console_for(stream),
                transient=True,
            )
            self._task = self._progress.add_task("reading", total=total)

    def __enter__(self) -> ReadingProgress:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self, name: str, count: int) -> None:
        """Move on by bytes read of the input of this name."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=count, description=name[-40:])
