"""Work that other processes do ahead, handed out in its order.

What comes of it is taken piece by piece, while more is made. It may end early, because a process
has died or refused, and whoever takes it does the rest then: that it is shared out never shows in
what comes of it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Work = Callable[[int], Iterable[bytes]]
"""work(number) yields what comes of it, in pieces that are not empty; whoever takes them must see
by the last one whether it is the last."""

WAITING_BYTES = 32 * 1024**2
"""What may wait to be taken, of all processes together."""
_HELD = 2  # tasks that a worker has at a time: so that it need not wait for the next
_WINDOW = 4  # tasks of a worker of which not all has been taken
_END = b""
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def processors(quota: Path = _QUOTA) -> int:
    """Return how many processes of ours can work at a time; one where they cannot be forked.

    Args:
        quota: where a container is told how much of its host's processors it may use.
    """
    if not sys.platform.startswith("linux"):
        return 1  # elsewhere libraries of the system do not survive a fork
    count = len(os.sched_getaffinity(0))
    with suppress(OSError, ValueError):  # there is none, or it says `max`
        time, period = map(int, quota.read_text().split())
        count = min(count, max(1, time // period))
    return count


class _Worker:
    def __init__(self, work: Work, earlier: Sequence[_Worker], limit: int) -> None:
        import multiprocessing  # here, for it takes longer than most files: few need it

        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.tasks: deque[int] = deque()
        """Those of which not all has been taken."""
        self.pieces: deque[bytes] = deque()
        """What has come of them, in their order, with `_END` behind each."""
        self.under_way = 0
        """How many of the tasks have not come to their end."""
        self.is_alive = True
        self._limit = limit
        self._waiting_bytes = 0
        ours = [self.connection, *(worker.connection for worker in earlier)]
        self._process: BaseProcess = context.Process(
            target=_serve, args=(theirs, ours, work), daemon=True
        )
        self._process.start()
        theirs.close()

    @property
    def has_room(self) -> bool:
        """Whether more of what is under way may wait."""
        return self.is_alive and self.under_way > 0 and self._waiting_bytes < self._limit

    def give(self, number: int) -> None:
        """Hand a task out; nothing comes of one that cannot be."""
        self.tasks.append(number)
        self.under_way += 1
        with suppress(OSError):  # it has died: its end of the pipe tells
            self.connection.send(number)

    def receive(self) -> None:
        """Take in the next piece, or that there will be none."""
        try:
            piece = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.give_up()
            return
        self.pieces.append(piece)
        self._waiting_bytes += len(piece)
        self.under_way -= piece == _END

    def next_piece(self) -> bytes:
        """Hand on the piece that has waited for longest.

        Raises:
            IndexError: none has.
        """
        piece = self.pieces.popleft()
        self._waiting_bytes -= len(piece)
        return piece

    def give_up(self) -> None:
        """End the process; nothing more comes of what it had to do."""
        self.pieces.extend([_END] * self.under_way)
        self.under_way = 0
        self.end()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.is_alive = False
        self.connection.close()
        self._process.terminate()
        self._process.join()


class Ahead:
    """What comes of numbered work, taken in rising order while more of it is done.

    Args:
        work: what to do; it is not pickled, and sees the world as it is now.
        numbers: what to do it for, in rising order.
        jobs: how many processes do it; with none nothing is done ahead.
    """

    def __init__(self, work: Work, numbers: Sequence[int], jobs: int) -> None:
        self._waiting = deque(numbers)
        self._workers: list[_Worker] = []
        for _ in range(count := min(jobs, len(self._waiting))):
            self._workers.append(_Worker(work, self._workers, WAITING_BYTES // count))
        self._hand_out()

    def __enter__(self) -> Ahead:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            if worker.is_alive:
                worker.end()

    def take(self, number: int) -> Iterator[bytes]:
        """Yield what comes of the work for a number, as far as it is done; to be taken to its end.

        That is not all where the process that does it ends or refuses, and nothing where nobody
        has been given it.
        """
        worker = self._worker_on(number)
        while worker is not None and (piece := self._next_piece(worker)) != _END:
            yield piece
        if worker is not None:
            worker.tasks.popleft()
            self._hand_out()

    def leave(self, number: int) -> None:
        """Take nothing of the work for a number, and have no more of it done."""
        worker = self._worker_on(number)
        if worker is not None and _END not in worker.pieces:
            worker.give_up()
        for _ in self.take(number):
            pass

    def _worker_on(self, number: int) -> _Worker | None:
        return next((one for one in self._workers if number in one.tasks), None)

    def _next_piece(self, worker: _Worker) -> bytes:
        """Return the next piece of a worker; what others have ready is taken in as well."""
        from multiprocessing.connection import wait  # known by then: it came with the workers

        while True:
            ready = wait(
                [one.connection for one in self._workers if one.has_room],
                timeout=0 if worker.pieces else None,
            )
            for one in self._workers:
                if one.connection in ready:
                    one.receive()
            if ready:
                self._hand_out()
            if worker.pieces:
                return worker.next_piece()

    def _hand_out(self) -> None:
        for held in range(_HELD):  # one for each before anybody has two: they may be large
            for worker in self._workers:
                is_free = worker.under_way <= held and len(worker.tasks) < _WINDOW
                if self._waiting and worker.is_alive and is_free:
                    worker.give(self._waiting.popleft())


def _serve(connection: Connection, inherited: Sequence[Connection], work: Work) -> None:
    """Do one task after another until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that was started
    for one in inherited:  # while anybody holds the other side, its end is not told
        one.close()
    with suppress(EOFError, OSError):
        while True:
            for piece in _pieces(work, connection.recv()):
                connection.send_bytes(piece)
            connection.send_bytes(_END)


def _pieces(work: Work, number: int) -> Iterator[bytes]:
    with suppress(Exception):  # whoever takes it will meet the same, and say so
        yield from work(number)
