"""Work that other processes do ahead, handed out in its order.

Whoever takes a result may find none, because a process has died or refused, and does the work then:
that it is shared out never shows in what comes of it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Work = Callable[[int], bytes | None]
"""work(number) returns what came of it; None where whoever takes it shall do it."""

_HELD = 2  # tasks that a worker has at a time: so that it need not wait for the next
_WINDOW = 3  # results that may wait to be taken, for each worker


def processors() -> int:
    """Return how many processes of ours can work at a time; one where they cannot be forked."""
    if not sys.platform.startswith("linux"):
        return 1  # elsewhere libraries of the system do not survive a fork
    return len(os.sched_getaffinity(0))


class _Worker:
    def __init__(self, work: Work, earlier: Sequence[_Worker]) -> None:
        import multiprocessing  # here, for it takes longer than most files: few need it

        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.tasks: deque[int] = deque()
        ours = [self.connection, *(worker.connection for worker in earlier)]
        self._process: BaseProcess = context.Process(
            target=_serve, args=(theirs, ours, work), daemon=True
        )
        self._process.start()
        theirs.close()

    def give(self, number: int) -> None:
        """Hand a task out; the result of one that cannot be is none."""
        self.tasks.append(number)
        with suppress(OSError):  # it has died: its end of the pipe tells
            self.connection.send(number)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.connection.close()
        self._process.terminate()
        self._process.join()


class Ahead:
    """Results of numbered work, taken in rising order while the next ones are made.

    Args:
        work: what to do; it is not pickled, and sees the world as it is now.
        numbers: what to do it for, in rising order.
        jobs: how many processes do it; with none, or with a single number, nothing is done ahead.
    """

    def __init__(self, work: Work, numbers: Sequence[int], jobs: int) -> None:
        self._waiting = deque(numbers if len(numbers) > 1 else ())
        self._results: dict[int, bytes | None] = {}
        count = min(jobs, len(self._waiting))
        self._workers: list[_Worker] = []
        for _ in range(count):
            self._workers.append(_Worker(work, self._workers))
        self._window = count * _WINDOW
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
            worker.end()

    def take(self, number: int) -> bytes | None:
        """Return what came of the work for a number; None where it has not been done."""
        if not self._workers:
            return self._results.pop(number, None)
        from multiprocessing.connection import wait  # known by then: it came with the workers

        while number not in self._results and any(number in one.tasks for one in self._workers):
            ready = wait([worker.connection for worker in self._workers if worker.tasks])
            for worker in self._workers:
                if worker.connection in ready:
                    self._receive(worker)
            self._hand_out()
        found = self._results.pop(number, None)
        self._hand_out()
        return found

    def _receive(self, worker: _Worker) -> None:
        try:
            result = worker.connection.recv_bytes()
        except (EOFError, OSError):
            self._results.update(dict.fromkeys(worker.tasks))
            worker.tasks.clear()
            self._workers.remove(worker)
            worker.end()
            return
        self._results[worker.tasks.popleft()] = result or None

    def _hand_out(self) -> None:
        for worker in self._workers:
            while self._waiting and len(worker.tasks) < _HELD and self._has_room():
                worker.give(self._waiting.popleft())

    def _has_room(self) -> bool:
        pending = sum(len(worker.tasks) for worker in self._workers)
        return len(self._results) + pending < self._window


def _serve(connection: Connection, inherited: Sequence[Connection], work: Work) -> None:
    """Do one task after another until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that was started
    for one in inherited:  # while anybody holds the other side, its end is not told
        one.close()
    with suppress(EOFError, OSError):
        while True:
            connection.send_bytes(_result(work, connection.recv()))


def _result(work: Work, number: int) -> bytes:
    try:
        return work(number) or b""
    except Exception:  # whoever takes it will meet the same, and say so
        return b""
