"""All targets at once, each with a task and a queue of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import anyio

from lastsignal.core.incidents import Incident
from lastsignal.edges.notify.alertmanager import AlertmanagerWorker
from lastsignal.edges.notify.http_post import HttpPost
from lastsignal.edges.notify.outbox import Outbox
from lastsignal.edges.notify.senders import check_web_url, make_sender, quiet_libraries
from lastsignal.edges.notify.surroundings import Surroundings
from lastsignal.edges.notify.targets import Target
from lastsignal.edges.notify.worker import Worker


def _nothing() -> Iterable[Incident]:
    return ()


class Notifier:
    """Tells every target what the outbox holds for it, and Alertmanagers what stands.

    Args:
        targets: whom to tell.
        outbox: the messages; only committed ones are seen.
        standing: the incidents that stand or ended lately, as committed (`IncidentBook.standing`).
        around: clock, chance, and who is told of everything; failures go there and nowhere else,
            so that they can never become findings.

    Raises:
        UsageError: a target's URL cannot be used.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        outbox: Outbox,
        standing: Callable[[], Iterable[Incident]] = _nothing,
        around: Surroundings | None = None,
    ) -> None:
        quiet_libraries()
        self._around = around or Surroundings()
        self._workers = [self._worker(target, outbox, standing) for target in targets]
        self._scope: anyio.CancelScope | None = None
        self._ended = anyio.Event()

    def wake(self) -> None:
        """Say that a commit brought messages or changed incidents; in the event loop only."""
        for worker in self._workers:
            worker.wake()

    async def run(self) -> None:
        """Send until `stop`."""
        try:
            with anyio.CancelScope() as self._scope:
                async with anyio.create_task_group() as tasks:
                    for worker in self._workers:
                        tasks.start_soon(worker.run)
        finally:
            self._ended.set()

    async def stop(self, within: float) -> None:
        """Send what can be sent within so many seconds; what is left stays in the outbox.

        A message that is cut off on its way is sent again at the next start.
        """
        if self._scope is None:
            return
        for worker in self._workers:
            worker.stop(within)
        await self._around.clock.wait(self._ended, within)
        self._scope.cancel()

    def _worker(
        self, target: Target, outbox: Outbox, standing: Callable[[], Iterable[Incident]]
    ) -> Worker | AlertmanagerWorker:
        if target.kind == "alertmanager":
            check_web_url(target)
            post = HttpPost(target, self._around.clock)
            return AlertmanagerWorker(target, post, standing, self._around)
        sender = make_sender(target, self._around.clock)
        return Worker(target, sender, outbox, self._around)
