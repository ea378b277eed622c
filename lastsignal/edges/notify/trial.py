"""One test message to each target, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import anyio
import msgspec

from lastsignal.edges.notify.alertmanager import END_AFTER, PATH
from lastsignal.edges.notify.alerts import trial_alert
from lastsignal.edges.notify.clock import Clock, SystemClock
from lastsignal.edges.notify.http_post import HttpPost
from lastsignal.edges.notify.letter import trial_letter
from lastsignal.edges.notify.outcome import Outcome
from lastsignal.edges.notify.senders import check_web_url, make_sender, quiet_libraries
from lastsignal.edges.notify.targets import Target
from lastsignal.errors import UsageError


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one target's test message."""

    target: str
    address: str
    """As far as it may be shown."""
    ok: bool
    error: str = ""
    seconds: float = 0.0


async def try_targets(targets: Sequence[Target], clock: Clock | None = None) -> list[Trial]:
    """Send a test message to each target, all at the same time and each once."""
    quiet_libraries()
    the_clock = clock or SystemClock()
    trials: dict[int, Trial] = {}

    async def attempt(number: int, target: Target) -> None:
        started = the_clock.monotonic()
        try:
            outcome = await _send(target, the_clock)
        except UsageError as error:
            outcome = Outcome("dead", str(error))
        trials[number] = Trial(
            target=target.name,
            address=target.address,
            ok=outcome.kind == "sent",
            error=outcome.error,
            seconds=the_clock.monotonic() - started,
        )

    async with anyio.create_task_group() as tasks:
        for number, target in enumerate(targets):
            tasks.start_soon(attempt, number, target)
    return [trials[number] for number in sorted(trials)]


async def _send(target: Target, clock: Clock) -> Outcome:
    if target.kind == "alertmanager":
        check_web_url(target)
        post = HttpPost(target, clock)
        try:
            until = clock.now() + END_AFTER * target.refresh_interval
            body = msgspec.json.encode([trial_alert(target.labels, clock.now(), until)])
            return await post.post(PATH, body, {})
        finally:
            await post.close()
    sender = make_sender(target, clock)
    try:
        return await sender.send(trial_letter(), f"test-{uuid4().hex}")
    finally:
        await sender.close()
