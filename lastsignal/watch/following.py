"""The events of growing files as they come: what `lastsignal normalize --follow` prints.

The daemon's way as far as the events. Nothing is kept: every start reads from the beginning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.events import Event
from lastsignal.core.framing import DEFAULT_MAX_RECORD_BYTES
from lastsignal.edges.tailer import OnTrouble, Piece, Tailer, TailerConfig
from lastsignal.watch.clocks import Clocks
from lastsignal.watch.pipeline import Pipeline
from lastsignal.watch.settings import is_trace_name

TICK = 0.25  # seconds between looks for files that stand still

_QUEUE = 16  # pieces that may wait while the events of others are printed

UseEvents = Callable[[Sequence[Event]], None]


class Followed:
    """The files that are followed, each on its way from bytes to events.

    Args:
        ladder: the dialects to recognise.
        use: takes the events that a file has completed, in their order.
        on_end: told of a file that is no more, or that nothing more will be read of.
    """

    def __init__(
        self,
        ladder: tuple[Dialect, ...],
        use: UseEvents,
        on_end: Callable[[Pipeline], None],
    ) -> None:
        self._ladder = ladder
        self._use = use
        self._on_end = on_end
        self._pipelines: dict[str, Pipeline] = {}
        self._clocks = Clocks()

    def take(self, piece: Piece) -> None:
        """Hand on what a piece of a file completes."""
        pipeline = self._pipelines.get(piece.file_id)
        if pipeline is None:
            pipeline = Pipeline(piece.name, self._ladder, DEFAULT_MAX_RECORD_BYTES, time.time())
            self._pipelines[piece.file_id] = pipeline
        self._hand_on(pipeline.take(piece, time.time()))
        self._clocks.note(piece, pipeline)
        if piece.is_last:
            del self._pipelines[piece.file_id]
            self._on_end(pipeline)

    def release_due(self) -> None:
        """Hand on what is held, for its order or its newline, of files that stand still."""
        for standing in self._clocks.due():
            self._release(standing.pipeline)

    def end(self) -> None:
        """Hand on what is held of every file, and tell of each: nothing more will be read."""
        for file_id in list(self._pipelines):
            pipeline = self._pipelines.pop(file_id)
            self._release(pipeline)
            self._on_end(pipeline)

    def _release(self, pipeline: Pipeline) -> None:
        self._hand_on(pipeline.take_whole_line() + pipeline.release())

    def _hand_on(self, events: Sequence[Event]) -> None:
        if events:
            self._use(events)


async def follow(paths: Sequence[str], followed: Followed, on_trouble: OnTrouble) -> None:
    """Read files from their start, and go on as they grow, until cancelled.

    Args:
        paths: files, folders and globs; what is not there yet is waited for.
        followed: takes what is read.
        on_trouble: told of what goes wrong.
    """
    config = TailerConfig(patterns=tuple(paths), start="start", takes_below_folder=is_trace_name)
    send, receive = anyio.create_memory_object_stream[Piece](_QUEUE)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Tailer(config, on_trouble=on_trouble).run, send)
        try:
            await _take_all(receive, followed)
        finally:
            followed.end()


async def _take_all(pieces: MemoryObjectReceiveStream[Piece], followed: Followed) -> None:
    next_tick = time.monotonic() + TICK
    async with pieces:
        while True:
            with anyio.move_on_after(max(0.0, next_tick - time.monotonic())):
                followed.take(await pieces.receive())
            if time.monotonic() >= next_tick:
                followed.release_due()
                next_tick = time.monotonic() + TICK
