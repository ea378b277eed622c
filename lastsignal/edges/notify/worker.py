"""One target's messages: in order, paced, tried again, and never in the way of another target's.

A row leaves the outbox only once its delivery is certain or given up; what the process was about
to send when it was killed is sent again. While the first message cannot be delivered, those behind
it wait: a target that is down is down for all of them, and they stay in order.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import anyio
import msgspec

from lastsignal.core.incidents import Notice, folded, shortened
from lastsignal.core.packing import pack
from lastsignal.edges.notify.clock import Alarm, Pace
from lastsignal.edges.notify.compose import compose
from lastsignal.edges.notify.outbox import Outbox, Row
from lastsignal.edges.notify.outcome import LONGEST_RETRY_AFTER, Outcome
from lastsignal.edges.notify.patience import Patience
from lastsignal.edges.notify.sender import Sender
from lastsignal.edges.notify.surroundings import Surroundings
from lastsignal.edges.notify.targets import Target
from lastsignal.errors import LastSignalError

STORE_PATIENCE = 1.0  # seconds between attempts at a store that cannot be read or written


class Worker:
    """Sends one target's rows until it is stopped.

    Args:
        target: whom to tell.
        sender: its way.
        outbox: what is to be told.
        around: clock, chance, and who is told of everything.
    """

    def __init__(
        self, target: Target, sender: Sender, outbox: Outbox, around: Surroundings
    ) -> None:
        self.target = target
        self._sender = sender
        self._outbox = outbox
        self._clock = around.clock
        self._observer = around.observer
        self._patience = Patience(target.retries, around.jitter)
        self._pace = Pace(around.clock, target.max_per_second)
        self._alarm = Alarm()
        self._stop_at: float | None = None
        self._not_before: tuple[int, float] | None = None
        """The row that was tried last, and the monotonic time of its next attempt."""
        self._unknown: int | None = None
        """The row whose last attempt may have been delivered."""

    def wake(self) -> None:
        """Look at the outbox: something was committed to it."""
        self._alarm.ring()

    def stop(self, within: float) -> None:
        """Send what can be sent within so many seconds, and end."""
        self._stop_at = self._clock.monotonic() + within
        self._alarm.ring()

    async def run(self) -> None:
        """Send rows as they come."""
        try:
            while True:
                try:
                    delay = await self._step()
                except LastSignalError as error:
                    self._observer.failed(self.target.name, str(error))
                    delay = STORE_PATIENCE
                if self._stop_at is not None and self._ends_before(delay):
                    return
                if delay != 0:
                    await self._alarm.wait(self._clock, delay)
        finally:
            await self._sender.close()

    def _ends_before(self, delay: float | None) -> bool:
        """Whether nothing can be sent any more: there is nothing, or its time comes too late."""
        now = self._clock.monotonic()
        return delay is None or now + delay >= (self._stop_at or now)

    async def _step(self) -> float | None:
        """Send the first row if it is due; return the seconds to wait, None if nothing waits."""
        row = self._first()
        if row is None:
            return None
        delay = self._delay(row)
        if delay <= 0:
            await self._attempt(row)
        return delay

    def _first(self) -> Row | None:
        name = self.target.name
        backlog = self._outbox.backlog(name)
        if backlog > self.target.queue_limit:
            backlog -= self._fold(backlog)
        row = next(iter(self._outbox.pending(name, 1)), None) if backlog else None
        notice = _decoded(row) if row is not None else None
        self._observer.queue(name, backlog, notice.created_at if notice else None)
        return row

    def _delay(self, row: Row) -> float:
        """Return the seconds until the row may be sent."""
        if self._not_before is not None and self._not_before[0] == row.id:
            # not the stored time: a clock that was set back would make it an hour
            due = self._not_before[1] - self._clock.monotonic()
        else:
            due = row.next_attempt_at - self._clock.now() if row.attempts else 0.0
            due = min(due, LONGEST_RETRY_AFTER)
        return max(0.0, due, self._pace.delay())

    async def _attempt(self, row: Row) -> None:
        notice = _decoded(row)
        if notice is None:
            self._give_up(row, "the stored notice cannot be read")
            return
        self._pace.note()
        started = self._clock.monotonic()
        outcome = await self._deliver(notice, row)
        self._pace.note()
        if outcome.kind == "sent":
            self._unknown = None
            await self._keep(lambda: self._outbox.sent(row.id))
            self._observer.sent(self.target.name, self._clock.monotonic() - started)
            return
        self._observer.failed(self.target.name, outcome.error)
        if self._is_hopeless(row, notice, outcome):
            self._give_up(row, outcome.error)
        else:
            self._try_again(row, outcome)

    async def _deliver(self, notice: Notice, row: Row) -> Outcome:
        try:
            return await self._sender.send(compose(notice), _key_of(row))
        except Exception as error:  # a message that we cannot even write must not stop the others
            return Outcome("dead", f"fault of Last Signal: {type(error).__name__}")

    def _is_hopeless(self, row: Row, notice: Notice, outcome: Outcome) -> bool:
        if outcome.kind == "dead":
            return True
        if outcome.kind == "unknown" and self._unknown == row.id:
            return True
        retries, attempts = self.target.retries, row.attempts + 1
        age = self._clock.now() - notice.created_at
        return age >= retries.give_up_after or (
            retries.attempts is not None and attempts >= retries.attempts
        )

    def _try_again(self, row: Row, outcome: Outcome) -> None:
        if outcome.kind == "unknown":
            self._unknown = row.id
        attempts = row.attempts + 1
        delay = self._patience.delay(attempts, outcome.retry_after)
        self._not_before = (row.id, self._clock.monotonic() + delay)
        self._outbox.retry(row.id, attempts, self._clock.now() + delay, outcome.error)
        self._observer.retried(self.target.name, delay)

    def _give_up(self, row: Row, error: str) -> None:
        self._unknown = None
        self._outbox.dead(row.id, error)
        self._observer.dead(self.target.name, error)

    async def _keep(self, write: Callable[[], None]) -> None:
        """Write what must not be forgotten: a delivered message would be sent again."""
        while True:
            try:
                write()
                return
            except LastSignalError as error:
                self._observer.failed(self.target.name, str(error))
                await self._clock.wait(anyio.Event(), STORE_PATIENCE)

    def _fold(self, backlog: int) -> int:
        """Make one digest of the oldest rows; return how many rows fewer there are.

        Half of the room is made, so that not every further message folds again.
        """
        name = self.target.name
        rows = list(self._outbox.pending(name, backlog - self.target.queue_limit // 2))
        if rows and rows[0].attempts:
            rows = rows[1:]  # it may have been delivered, and has waits of its own
        read = [(row.id, notice) for row in rows if (notice := _decoded(row)) is not None]
        if len(read) < 2:
            return 0
        digest = shortened(folded((notice for _, notice in read), self._clock.now()))
        self._outbox.fold([row_id for row_id, _ in read], pack(digest))
        self._observer.suppressed(name, len(read))
        return len(read) - 1


def _key_of(row: Row) -> str:
    """Return what tells one message from all others; ids of rows may be used again."""
    return f"{row.target}-{blake2b(row.payload, digest_size=12).hexdigest()}"


def _decoded(row: Row) -> Notice | None:
    try:
        return msgspec.msgpack.decode(row.payload, type=Notice)
    except msgspec.MsgspecError:
        return None
