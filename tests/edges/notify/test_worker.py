"""One target's messages: in order, paced, tried again, folded; by a clock that nobody waits for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest

from lastsignal.core.incidents import Notice
from lastsignal.edges.notify import Retries, Surroundings
from lastsignal.edges.notify.outcome import SENT, Outcome
from lastsignal.edges.notify.worker import Worker

RETRY = Outcome("retry", "500 Internal Server Error")
DEAD = Outcome("dead", "400 Bad Request")
UNKNOWN = Outcome("unknown", "no result within 15 s")


@pytest.fixture
def start(kit: Any, clock: Any, outbox: Any, around: Surroundings) -> Callable[..., Any]:
    """Return a context in which a worker runs, and its sender."""

    @asynccontextmanager
    async def running(*answers: Outcome, **config: Any) -> AsyncIterator[tuple[Any, Worker]]:
        sender = kit.Sender(clock, answers)
        worker = Worker(kit.target("chat", **config), sender, outbox, around)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run)
            await clock.advance(0)
            yield sender, worker
            tasks.cancel_scope.cancel()

    return running


def times(sender: Any) -> list[float]:
    return [at for at, _ in sender.asked]


def told(sender: Any) -> list[str]:
    return [letter.document["incidents"][0]["trace_id"] for letter in sender.letters]


async def test_messages_go_out_in_order_one_a_second(
    kit: Any, clock: Any, outbox: Any, start: Any, record: Any
) -> None:
    outbox.put("chat", *(kit.notice(name) for name in "abcde"))
    async with start() as (sender, _):
        await clock.advance(10)

    assert times(sender) == [0, 1, 2, 3, 4]
    assert told(sender) == [f"trace-{name}" for name in "abcde"]
    assert outbox.rows == []
    assert record.counts == {"chat": {"sent": 5}}


async def test_attempts_count_against_the_pace_too(
    kit: Any, clock: Any, outbox: Any, start: Any
) -> None:
    outbox.put("chat", *map(kit.notice, "abc"))
    async with start(*[RETRY] * 6, retries=Retries(base=0.01), max_per_second=0.5) as (sender, _):
        await clock.advance(100)

    assert times(sender) == [n * 2.0 for n in range(9)]


async def test_a_message_that_was_long_on_its_way_is_not_followed_at_once(
    kit: Any, clock: Any, outbox: Any, start: Any
) -> None:
    outbox.put("chat", *map(kit.notice, "ab"))
    async with start() as (sender, _):
        sender.takes = 0.9
        outbox.put("chat", kit.notice("c"))
        await clock.advance(10)

    assert times(sender) == [0, 1, 2.9]


async def test_a_commit_wakes_it_at_once(kit: Any, clock: Any, outbox: Any, start: Any) -> None:
    async with start() as (sender, worker):
        await clock.advance(5)
        outbox.put("chat", kit.notice())
        worker.wake()
        await clock.advance(0)

        assert times(sender) == [5]


async def test_waits_double_up_to_the_cap_and_later_messages_stay_behind(
    kit: Any, clock: Any, outbox: Any, start: Any, record: Any
) -> None:
    outbox.put("chat", kit.notice("a"), kit.notice("b"))
    async with start(*[RETRY] * 5, retries=Retries(base=2, cap=10)) as (sender, worker):
        for _ in range(60):
            worker.wake()  # other targets' messages change nothing
            await clock.advance(1)

    assert record.delays == [2, 4, 8, 10, 10]
    assert times(sender) == [0, 2, 6, 14, 24, 34, 35]
    assert told(sender) == ["trace-a"] * 6 + ["trace-b"]
    assert record.counts == {"chat": {"failed": 5, "retried": 5, "sent": 2}}


async def test_chance_shortens_waits_by_half_at_most(
    kit: Any, clock: Any, outbox: Any, record: Any
) -> None:
    outbox.put("chat", kit.notice())
    around = Surroundings(observer=record, clock=clock, jitter=lambda: 0.0)
    worker = Worker(kit.target("chat"), kit.Sender(clock, [RETRY] * 3), outbox, around)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run)
        await clock.advance(60)
        tasks.cancel_scope.cancel()

    assert record.delays == [1, 2, 4]


async def test_what_the_target_asks_for_is_obeyed(
    kit: Any, clock: Any, outbox: Any, start: Any
) -> None:
    outbox.put("chat", kit.notice())
    async with start(Outcome("retry", "429", 90.0), retries=Retries(cap=10)) as (sender, _):
        await clock.advance(89)
        assert times(sender) == [0]
        await clock.advance(2)

    assert times(sender) == [0, 90]


async def test_a_refusal_for_good_is_a_dead_letter_and_the_next_one_goes(
    kit: Any, clock: Any, outbox: Any, start: Any, record: Any
) -> None:
    outbox.put("chat", kit.notice("a"), kit.notice("b"))
    async with start(DEAD) as (sender, _):
        await clock.advance(5)

    assert told(sender) == ["trace-a", "trace-b"]
    assert [row.error for row in outbox.dead_letters] == ["400 Bad Request"]
    assert record.counts == {"chat": {"failed": 1, "dead": 1, "sent": 1}}


@pytest.mark.parametrize(
    ("retries", "attempts"),
    [(Retries(attempts=3), 3), (Retries(give_up_after=10, cap=2), 6)],
    ids=["by number", "by age"],
)
async def test_in_the_end_it_gives_up(
    kit: Any, clock: Any, outbox: Any, start: Any, retries: Retries, attempts: int
) -> None:
    outbox.put("chat", kit.notice())
    async with start(*[RETRY] * 50, retries=retries) as (sender, _):
        await clock.advance(1000)

    assert len(sender.asked) == attempts
    assert len(outbox.dead_letters) == 1


async def test_what_may_have_arrived_is_tried_once_more_and_no_more(
    kit: Any, clock: Any, outbox: Any, start: Any
) -> None:
    outbox.put("chat", kit.notice("a"), kit.notice("b"))
    async with start(UNKNOWN, UNKNOWN, UNKNOWN, SENT) as (sender, _):
        await clock.advance(60)

    assert told(sender) == ["trace-a", "trace-a", "trace-b", "trace-b"]
    assert [row.id for row in outbox.dead_letters] == [1]
    assert len({key for _, key in sender.asked}) == 2  # attempts at a message share its key


async def test_a_restart_goes_on_where_the_other_process_stood(
    kit: Any, clock: Any, outbox: Any, start: Any
) -> None:
    outbox.put("chat", kit.notice())
    async with start(RETRY, RETRY, retries=Retries(base=40)) as (first, _):
        await clock.advance(50)
    async with start() as (second, _):
        await clock.advance(69)
        assert times(second) == []
        await clock.advance(2)

    assert times(first) == [0, 40]
    assert times(second) == [120]


@pytest.mark.parametrize("hours", [-5, 5])
async def test_a_clock_that_is_set_changes_no_wait(
    kit: Any, clock: Any, outbox: Any, start: Any, hours: int
) -> None:
    outbox.put("chat", kit.notice())
    async with start(RETRY, retries=Retries(base=10)) as (sender, worker):
        clock.wall += hours * 3600
        worker.wake()
        await clock.advance(9)
        assert times(sender) == [0]
        await clock.advance(2)

    assert times(sender) == [0, 10]


async def test_a_hung_message_delays_no_other_target(
    kit: Any, clock: Any, outbox: Any, around: Surroundings
) -> None:
    hung, good = kit.Sender(clock), kit.Sender(clock)
    hung.hangs = True
    for name in "abc":
        outbox.put("hung", kit.notice(name))
        outbox.put("good", kit.notice(name))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Worker(kit.target("hung"), hung, outbox, around).run)
        tasks.start_soon(Worker(kit.target("good"), good, outbox, around).run)
        await clock.advance(10)
        tasks.cancel_scope.cancel()

    assert times(hung) == [0]
    assert times(good) == [0, 1, 2]
    assert outbox.backlog("hung") == 3  # all of them are there for the next start
    assert hung.closed and good.closed


async def test_a_message_that_was_delivered_is_not_sent_again_while_the_disk_is_full(
    kit: Any, clock: Any, outbox: Any, start: Any, record: Any
) -> None:
    outbox.put("chat", kit.notice("a"), kit.notice("b"))
    outbox.broken.add("sent")
    async with start() as (sender, _):
        await clock.advance(30)
        assert told(sender) == ["trace-a"]
        outbox.broken.clear()
        await clock.advance(5)

    assert told(sender) == ["trace-a", "trace-b"]
    assert "the disk is full" in record.errors


async def test_a_store_that_cannot_be_read_is_asked_again(
    kit: Any, clock: Any, outbox: Any, start: Any
) -> None:
    outbox.put("chat", kit.notice())
    outbox.broken.add("pending")
    async with start() as (sender, _):
        await clock.advance(10)
        outbox.broken.clear()
        await clock.advance(2)

    assert len(sender.asked) == 1


@pytest.mark.parametrize("payload", [b"", b"\xc1", msgspec.msgpack.encode({"kind": "other"})])
async def test_a_notice_that_cannot_be_read_is_a_dead_letter(
    kit: Any, clock: Any, outbox: Any, start: Any, payload: bytes
) -> None:
    outbox.put("chat", payload=payload)
    outbox.put("chat", kit.notice("b"))
    async with start() as (sender, _):
        await clock.advance(5)

    assert told(sender) == ["trace-b"]
    assert len(outbox.dead_letters) == 1


async def test_a_message_that_cannot_be_written_stops_no_other(
    kit: Any, clock: Any, outbox: Any, start: Any, monkeypatch: Any
) -> None:
    from lastsignal.edges.notify import worker as module

    compose = module.compose

    def faulty(notice: Notice) -> Any:
        if notice.incidents[0].trace_id == "trace-a":
            raise ZeroDivisionError
        return compose(notice)

    monkeypatch.setattr(module, "compose", faulty)
    outbox.put("chat", kit.notice("a"), kit.notice("b"))
    async with start() as (sender, _):
        await clock.advance(5)

    assert told(sender) == ["trace-b"]
    assert outbox.dead_letters[0].error == "fault of Last Signal: ZeroDivisionError"


class TestFolding:
    async def test_a_backlog_becomes_one_digest_and_the_latest_messages(
        self, kit: Any, clock: Any, outbox: Any, start: Any, record: Any
    ) -> None:
        outbox.put("chat", *(kit.notice(f"n{n}") for n in range(30)))
        async with start(queue_limit=10) as (sender, _):
            await clock.advance(100)

        kinds = [letter.document["kind"] for letter in sender.letters]
        assert kinds == ["digest"] + ["opened"] * 5
        digest = sender.letters[0].document
        assert (digest["total"], digest["folded"]) == (25, 25)
        assert told(sender)[1:] == [f"trace-n{n}" for n in range(25, 30)]
        assert record.folded == 25

    async def test_nothing_is_lost_of_a_target_that_is_down_for_long(
        self, kit: Any, clock: Any, outbox: Any, start: Any, record: Any
    ) -> None:
        async with start(*[RETRY] * 12, queue_limit=10, retries=Retries(base=60, cap=60)) as (
            sender,
            worker,
        ):
            for n in range(600):
                outbox.put("chat", kit.notice(f"n{n}"))
                worker.wake()
                await clock.advance(1)
            await clock.advance(200)

        arrived = sender.letters[12:]
        assert sum(letter.document["total"] for letter in arrived) == 600
        assert record.deepest <= 10
        assert outbox.rows == []

    async def test_a_message_that_was_tried_is_left_out_of_it(
        self, kit: Any, clock: Any, outbox: Any, start: Any
    ) -> None:
        outbox.put("chat", kit.notice("first"))
        async with start(UNKNOWN, queue_limit=4, retries=Retries(base=20)) as (sender, worker):
            await clock.advance(1)
            outbox.put("chat", *(kit.notice(f"n{n}") for n in range(10)))
            worker.wake()
            await clock.advance(100)

        kinds = [letter.document["kind"] for letter in sender.letters]
        assert kinds[:3] == ["opened", "opened", "digest"]
        assert told(sender)[:2] == ["trace-first", "trace-first"]


class TestStopping:
    async def test_what_can_be_sent_in_time_is_sent(
        self, kit: Any, clock: Any, outbox: Any, start: Any
    ) -> None:
        outbox.put("chat", *(kit.notice(name) for name in "abcdefgh"))
        async with start() as (sender, worker):
            worker.stop(3.5)
            await clock.advance(60)

        assert times(sender) == [0, 1, 2, 3]
        assert outbox.backlog("chat") == 4
        assert sender.closed

    async def test_nobody_waits_for_an_attempt_that_comes_too_late(
        self, kit: Any, clock: Any, outbox: Any, around: Surroundings
    ) -> None:
        outbox.put("chat", kit.notice())
        sender = kit.Sender(clock, [RETRY])
        worker = Worker(kit.target("chat", retries=Retries(base=60)), sender, outbox, around)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run)
            await clock.advance(1)
            worker.stop(10)
            await clock.advance(0)
            # the group ends here: the worker has returned

        assert outbox.backlog("chat") == 1


async def test_queues_are_told_with_the_age_of_the_oldest(
    kit: Any, clock: Any, outbox: Any, start: Any, record: Any
) -> None:
    outbox.put("chat", kit.notice("a"), kit.notice("b"))
    async with start(RETRY, retries=Retries(base=20)):
        await clock.advance(1)
        assert record.queues == {"chat": (2, kit.T0)}
        await clock.advance(60)

    assert record.queues == {"chat": (0, None)}
