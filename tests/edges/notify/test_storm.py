"""Ten thousand incidents at once, from findings to what people get, and a kill in the middle."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec

from lastsignal.core.diagnosis.findings import Finding, finding_id
from lastsignal.core.incidents import Incident, IncidentBook, IncidentPolicy
from lastsignal.edges.notify import Notifier, Surroundings, route

SIZE = 10_000


def finding(number: int) -> Finding:
    group = {"trace_id": f"trace-{number}"}
    return Finding(
        id=finding_id("quota", group),
        rule="quota",
        severity="critical",
        category="c",
        title="Quota exhausted",
        summary="s",
        cause="c",
        remedy="r",
        group=group,
        trace_id=f"trace-{number}",
        count=1,
        first_seen=1.0,
        last_seen=1.0,
        opened_at=1.0,
        healed=False,
        evidence=[],
    )


async def test_a_storm_is_a_few_messages_and_none_of_it_is_lost_to_a_kill(
    kit: Any, receiver: Any, outbox: Any, record: Any
) -> None:
    clock = kit.JumpClock()
    targets = [kit.target(name, f"{receiver.url}/{name}") for name in ("one", "two")]
    around = Surroundings(observer=record, clock=clock, jitter=lambda: 1.0)

    def take(book: IncidentBook) -> None:
        """Do what a commit does: notices and incidents together."""
        for notice, names in route(book.take_notices(clock.now()), targets):
            for name in names:
                outbox.put(name, notice)
        stored.update((key, msgspec.msgpack.encode(one)) for key, one in book.incidents.items())

    async def send_until(left: int, *names: str) -> None:
        """Run a notifier, and kill it when these targets have so many messages left."""
        notifier = Notifier(targets, outbox, around=around)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(notifier.run)
            with anyio.fail_after(20):
                while any(outbox.backlog(name) > left for name in names):
                    await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()

    stored: dict[str, bytes] = {}
    book = IncidentBook(IncidentPolicy())
    for number in range(SIZE):
        book.observe(finding(number), clock.now())
        if number == SIZE // 2:
            take(book)
    await send_until(4, "one")
    take(book)  # it holds back what came after the first messages
    late = IncidentBook(
        IncidentPolicy(), [msgspec.msgpack.decode(one, type=Incident) for one in stored.values()]
    )
    clock.passed += 60
    take(late)
    await send_until(0, "one", "two")

    for path in ("/one", "/two"):
        # the kill may have come between a delivery and the note of it: then the key is the same
        arrived = {r.headers["Idempotency-Key"]: r for r in receiver.at(path)}
        messages = [request.json for request in arrived.values()]
        assert len(receiver.at(path)) <= len(messages) + 1
        assert len(messages) == 20
        assert sum(message["total"] for message in messages) == SIZE
        assert [message["kind"] for message in messages].count("digest") == 2
