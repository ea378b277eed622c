"""Messages against a real HTTP server: each arrives once where it can, whatever the others do."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from io import StringIO
from itertools import pairwise
from typing import Any

import anyio
import pytest

from lastsignal.edges.notify import Notifier, Retries, Secret, Surroundings, Target, try_targets
from lastsignal.edges.notify.outcome import LONGEST_RETRY_AFTER, SLOW_DOWN, parse_retry_after
from lastsignal.errors import UsageError

KEY = "sk-" + "ant-api03-" + "Zx7Qm2Kp9Rt4Lw1Bv8Ny3Hc6Jd5F"
TOKEN = "t0ken-that-nobody-may-see"


@pytest.fixture
def jump(kit: Any, receiver: Any) -> Any:
    """Return a clock that jumps ahead when somebody waits; the receiver reads it too."""
    clock = kit.JumpClock()
    receiver.now = clock.monotonic
    return clock


@pytest.fixture
def running(outbox: Any, record: Any, jump: Any) -> Callable[..., Any]:
    """Return a context in which a notifier runs."""

    @asynccontextmanager
    async def context(*targets: Target) -> AsyncIterator[Notifier]:
        around = Surroundings(observer=record, clock=jump, jitter=lambda: 1.0)
        notifier = Notifier(targets, outbox, around=around)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(notifier.run)
            yield notifier
            tasks.cancel_scope.cancel()

    return context


@pytest.fixture
def log() -> Iterator[StringIO]:
    """Return what a program that logs everything would write.

    Not `caplog`: that one also hears loggers which were told to keep to themselves.
    """
    text, root = StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.setLevel(level)
    root.removeHandler(handler)


async def emptied(outbox: Any, *targets: str) -> None:
    """Return when nothing waits for the targets."""
    with anyio.fail_after(20):
        while any(outbox.backlog(target) for target in targets):
            await anyio.sleep(0.002)


async def test_each_message_arrives_once_whatever_the_other_targets_do(
    kit: Any, receiver: Any, outbox: Any, record: Any, running: Any
) -> None:
    receiver.answers["/busy"] = [kit.Answer(429, {"Retry-After": "7"})] * 2
    receiver.answers["/broken"] = [kit.Answer(500)] * 3
    receiver.answers["/bad"] = [kit.Answer(400)] * 3
    receiver.answers["/closing"] = [kit.Answer(way="close")] * 2
    receiver.answers["/hung"] = [kit.Answer(way="hang")] * 9
    names = ["good", "busy", "broken", "bad", "closing", "hung"]
    targets = [
        kit.target(name, f"{receiver.url}/{name}", timeout=60, retries=Retries(base=0.5))
        for name in names
    ]
    for name in names:
        outbox.put(name, *map(kit.notice, "abc"))

    async with running(*targets):
        await receiver.expect("/hung", 1)
        await emptied(outbox, *names[:-1])

    arrived = {
        name: [request.json["incidents"][0]["trace_id"] for request in receiver.at(f"/{name}")]
        for name in names
    }
    assert arrived["good"] == ["trace-a", "trace-b", "trace-c"]
    assert arrived["busy"] == ["trace-a"] * 3 + ["trace-b", "trace-c"]
    assert arrived["broken"] == ["trace-a"] * 4 + ["trace-b", "trace-c"]
    assert arrived["bad"] == ["trace-a", "trace-b", "trace-c"]
    assert arrived["closing"] == ["trace-a"] * 3 + ["trace-b", "trace-c"]
    assert arrived["hung"] == ["trace-a"]
    assert record.counts["good"] == {"sent": 3}
    assert record.counts["bad"] == {"failed": 3, "dead": 3}
    assert record.counts["broken"] == {"failed": 3, "retried": 3, "sent": 3}
    assert [row.error for row in outbox.dead_letters] == ["400 Bad Request"] * 3
    assert outbox.backlog("hung") == 3


async def test_at_most_one_message_a_second_by_the_receivers_own_watch(
    kit: Any, receiver: Any, outbox: Any, running: Any
) -> None:
    outbox.put("chat", *(kit.notice(f"n{n}") for n in range(20)))
    async with running(kit.target("chat", f"{receiver.url}/ok")):
        await emptied(outbox, "chat")

    times = [request.at for request in receiver.at("/ok")]
    assert len(times) == 20
    assert all(later - earlier >= 1 for earlier, later in pairwise(times))


@pytest.mark.parametrize(
    ("header", "wait"),
    [("7", 7), ("0", 1), ("nonsense", SLOW_DOWN), (None, SLOW_DOWN), ("DATE", 90)],
)
async def test_too_many_requests_waits_as_long_as_it_asks_for(
    kit: Any, receiver: Any, outbox: Any, jump: Any, running: Any, header: str | None, wait: float
) -> None:
    if header == "DATE":
        header = formatdate(jump.now() + 90, usegmt=True)
    receiver.answers["/busy"] = [kit.Answer(429, {"Retry-After": header} if header else {})]
    outbox.put("chat", kit.notice())
    async with running(kit.target("chat", f"{receiver.url}/busy", retries=Retries(base=1))):
        await emptied(outbox, "chat")

    first, second = receiver.at("/busy")
    assert second.at - first.at == pytest.approx(wait, abs=0.01)
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 1.5 ", 1.5),
        ("-3", None),
        ("99999999999", LONGEST_RETRY_AFTER),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Fri, 99 Foo 2015", None),
        ("", None),
        (None, None),
    ],
)
def test_what_retry_after_may_say(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, 1_700_000_000) == seconds


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504])
async def test_trouble_that_passes_is_tried_again(
    kit: Any, receiver: Any, outbox: Any, running: Any, status: int
) -> None:
    receiver.answers["/x"] = [kit.Answer(status)]
    outbox.put("chat", kit.notice())
    async with running(kit.target("chat", f"{receiver.url}/x")):
        await emptied(outbox, "chat")

    assert len(receiver.at("/x")) == 2


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 410, 413, 422])
async def test_a_refusal_is_for_good_and_no_redirect_is_followed(
    kit: Any, receiver: Any, outbox: Any, running: Any, status: int
) -> None:
    receiver.answers["/x"] = [
        kit.Answer(status, {"Location": f"{receiver.url}/other"}, f"no {KEY}".encode())
    ]
    outbox.put("chat", kit.notice())
    async with running(kit.target("chat", f"{receiver.url}/x", token=Secret(TOKEN))):
        await emptied(outbox, "chat")

    assert [request.path for request in receiver.requests] == ["/x"]
    (letter,) = outbox.dead_letters
    assert letter.error.endswith(": no [redacted:anthropic-key]")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x", "http://does-not-exist.invalid/x"], ids=["refused", "no name"]
)
async def test_who_is_not_there_is_tried_again(
    kit: Any, outbox: Any, record: Any, running: Any, url: str
) -> None:
    outbox.put("chat", kit.notice())
    async with running(kit.target("chat", url, retries=Retries(attempts=3))):
        await emptied(outbox, "chat")

    assert record.counts["chat"] == {"failed": 3, "retried": 2, "dead": 1}
    assert "ConnectError" in record.errors[0]


async def test_an_answer_that_takes_too_long_is_a_failure(
    kit: Any, receiver: Any, outbox: Any, record: Any, running: Any
) -> None:
    receiver.answers["/slow"] = [kit.Answer(way="hang")]
    outbox.put("chat", kit.notice())
    async with running(kit.target("chat", f"{receiver.url}/slow", timeout=0.05)):
        await emptied(outbox, "chat")

    assert len(receiver.at("/slow")) == 2
    assert record.errors == ["no answer within 50 ms"]


async def test_a_message_as_it_arrives(kit: Any, receiver: Any, outbox: Any, running: Any) -> None:
    outbox.put("chat", kit.notice("a", cause=f"refused: {KEY}", remedy="ask jane@example.com"))
    target = kit.target("chat", f"{receiver.url}/hook?x=1", token=Secret(TOKEN))
    async with running(target):
        (request,) = await receiver.expect("/hook?x=1", 1)

    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["User-Agent"].startswith("lastsignal/")
    message = request.json
    assert message["version"] == 1
    assert message["title"] == "CRITICAL: Provider quota exhausted (planner)"
    assert "Cause: refused: [redacted:anthropic-key]" in message["text"]
    assert KEY.encode() not in request.body
    assert b"jane@" not in request.body


async def test_basic_authentication(kit: Any, receiver: Any, outbox: Any, running: Any) -> None:
    outbox.put("chat", kit.notice())
    target = kit.target("chat", f"{receiver.url}/x", username="me", password=Secret("pw"))
    async with running(target):
        (request,) = await receiver.expect("/x", 1)

    assert request.headers["Authorization"] == "Basic bWU6cHc="


async def test_no_secret_is_logged_or_told(
    kit: Any, receiver: Any, outbox: Any, record: Any, running: Any, log: StringIO
) -> None:
    receiver.answers[f"/{TOKEN}"] = [kit.Answer(500), kit.Answer(way="close"), kit.Answer(404)]
    outbox.put("hook", kit.notice())
    outbox.put("chat", kit.notice())
    address = receiver.url.removeprefix("http")
    async with running(
        kit.target("hook", f"{receiver.url}/{TOKEN}", password=Secret(TOKEN), username="me"),
        kit.target("chat", f"json{address.replace('//', f'//me:{TOKEN}@')}/x", kind="apprise"),
    ):
        await emptied(outbox, "hook", "chat")
        logging.getLogger("ours").warning("a line of ours")

    assert record.counts == {"hook": {"failed": 3, "retried": 2, "dead": 1}, "chat": {"sent": 1}}
    assert TOKEN not in log.getvalue()
    assert "a line of ours" in log.getvalue()
    assert TOKEN not in repr([record.errors, outbox.dead_letters])


async def test_a_stop_sends_what_it_can_and_keeps_the_rest(
    kit: Any, receiver: Any, outbox: Any, record: Any
) -> None:
    receiver.answers["/hung"] = [kit.Answer(way="hang")]
    outbox.put("good", kit.notice("a"), kit.notice("b"))
    outbox.put("hung", kit.notice("a"))
    notifier = Notifier(
        [
            kit.target("good", f"{receiver.url}/good", max_per_second=1000),
            kit.target("hung", f"{receiver.url}/hung"),
        ],
        outbox,
        around=Surroundings(observer=record),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notifier.run)
        await receiver.expect("/hung", 1)
        await notifier.stop(0.2)
        # the group ends here: nothing of the notifier is left

    assert len(receiver.at("/good")) == 2
    assert outbox.backlog("good") == 0
    assert outbox.backlog("hung") == 1


async def test_a_notifier_that_never_ran_stops_at_once(kit: Any, outbox: Any) -> None:
    await Notifier([kit.target("chat")], outbox).stop(100)


async def test_without_targets_it_ends_at_once(outbox: Any) -> None:
    await Notifier([], outbox).run()


class TestTrial:
    async def test_one_message_to_each_target_and_what_happened(
        self, kit: Any, receiver: Any
    ) -> None:
        receiver.answers["/bad"] = [kit.Answer(403)]
        receiver.answers["/busy"] = [kit.Answer(429, {"Retry-After": "60"})]
        address = receiver.url.removeprefix("http")
        trials = await try_targets(
            [
                kit.target("good", f"{receiver.url}/good"),
                kit.target("bad", f"{receiver.url}/bad"),
                kit.target("busy", f"{receiver.url}/busy"),
                kit.target("chat", f"json{address}/chat", kind="apprise"),
                kit.target("alerts", receiver.url, kind="alertmanager"),
                kit.target("odd", "nonsense://x/y", kind="apprise"),
                kit.target("odder", "ftp://x", kind="alertmanager"),
            ]
        )

        assert [(one.target, one.ok) for one in trials] == [
            ("good", True),
            ("bad", False),
            ("busy", False),
            ("chat", True),
            ("alerts", True),
            ("odd", False),
            ("odder", False),
        ]
        assert trials[1].error == "403 Forbidden"
        assert "Apprise does not understand" in trials[5].error
        assert trials[0].address == receiver.url
        assert len(receiver.at("/busy")) == 1
        assert receiver.at("/good")[0].json["kind"] == "test"
        (alert,) = receiver.at("/api/v2/alerts")[0].json
        assert alert["labels"] == {"alertname": "lastsignal_test", "severity": "info"}


@pytest.mark.parametrize(
    ("url", "kind"),
    [(f"slak://{TOKEN}/x", "apprise"), (f"ftp://{TOKEN}", "webhook"), (TOKEN, "alertmanager")],
)
def test_an_address_that_cannot_be_used_is_refused_at_once_and_not_shown(
    kit: Any, outbox: Any, url: str, kind: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Notifier([kit.target("chat", url, kind=kind)], outbox)

    assert "target chat" in str(caught.value)
    assert TOKEN not in str(caught.value)
