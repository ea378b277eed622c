"""Apprise's own services against a real receiver: what it says, and what happens when it hangs."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from lastsignal.edges.notify.apprise_service import AppriseService
from lastsignal.edges.notify.compose import compose
from lastsignal.edges.notify.letter import trial_letter
from lastsignal.edges.notify.outcome import SENT, SLOW_DOWN
from lastsignal.errors import UsageError

KEY = "sk-" + "ant-api03-" + "Zx7Qm2Kp9Rt4Lw1Bv8Ny3Hc6Jd5F"


def service(kit: Any, receiver: Any, path: str, **config: Any) -> AppriseService:
    address = receiver.url.replace("http://", "json://")
    return AppriseService(kit.target("chat", f"{address}{path}", kind="apprise", **config))


async def test_a_message_as_it_arrives(kit: Any, receiver: Any) -> None:
    letter = compose(kit.notice("a", cause=f"refused: {KEY}"))
    chat = service(kit, receiver, "/chat")

    assert await chat.send(letter, "1") == SENT
    (request,) = receiver.at("/chat")
    assert request.json["title"] == "CRITICAL: Provider quota exhausted (planner)"
    assert request.json["type"] == "failure"
    assert "refused: [redacted:anthropic-key]" in request.json["message"]
    assert "lastsignal incidents show ida" in request.json["message"]
    assert KEY.encode() not in request.body


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"told_severity": "warning"}, "warning"),
        ({"severity": "info", "told_severity": None}, "info"),
    ],
)
async def test_the_kind_follows_the_severity(
    kit: Any, receiver: Any, changes: dict[str, Any], kind: str
) -> None:
    await service(kit, receiver, "/chat").send(compose(kit.notice("a", **changes)), "1")

    assert receiver.at("/chat")[0].json["type"] == kind


async def test_an_end_is_a_success(kit: Any, receiver: Any) -> None:
    letter = compose(kit.notice("a", "resolved", state="resolved"))
    await service(kit, receiver, "/chat").send(letter, "1")

    assert receiver.at("/chat")[0].json["type"] == "success"


async def test_markdown_goes_where_it_is_asked_for(kit: Any, receiver: Any) -> None:
    await service(kit, receiver, "/chat?format=markdown").send(compose(kit.notice()), "1")
    await service(kit, receiver, "/chat").send(compose(kit.notice()), "2")

    marked, plain = receiver.requests
    assert "**Cause:** The" in marked.json["message"]
    assert "\nCause: The" in plain.json["message"]


@pytest.mark.parametrize(
    ("status", "kind", "retry_after"),
    [
        (429, "retry", SLOW_DOWN),
        (408, "retry", None),
        (500, "retry", None),
        (503, "retry", None),
        (400, "dead", None),
        (401, "dead", None),
        (404, "dead", None),
    ],
)
async def test_what_a_status_means_is_read_from_apprises_words(
    kit: Any, receiver: Any, status: int, kind: str, retry_after: float | None
) -> None:
    receiver.answers["/x"] = [kit.Answer(status, {"Retry-After": "7"})]
    outcome = await service(kit, receiver, "/x").send(trial_letter(), "1")

    assert (outcome.kind, outcome.status, outcome.retry_after) == (kind, status, retry_after)
    assert str(status) in outcome.error
    assert len(receiver.at("/x")) == 1  # Apprise itself tries once


async def test_failures_without_a_status_are_tried_again(kit: Any, receiver: Any) -> None:
    receiver.answers["/x"] = [kit.Answer(way="close")]
    closed = await service(kit, receiver, "/x").send(trial_letter(), "1")
    target = kit.target("chat", "json://127.0.0.1:1/x", kind="apprise")
    absent = await AppriseService(target).send(trial_letter(), "1")

    assert closed.kind == absent.kind == "retry"
    assert "Connection error" in closed.error


class TestHanging:
    async def test_a_late_result_counts_and_nothing_is_sent_twice(
        self, kit: Any, receiver: Any
    ) -> None:
        receiver.answers["/x"] = [kit.Answer(way="hang")]
        chat = service(kit, receiver, "/x?rto=30", timeout=0.1)

        assert (await chat.send(trial_letter(), "1")).kind == "unknown"
        receiver.release()
        with anyio.fail_after(20):
            while chat._call is not None and not chat._call.done.is_set():
                await anyio.sleep(0.005)
        assert await chat.send(trial_letter(), "1") == SENT
        assert len(receiver.at("/x")) == 1

    async def test_a_late_failure_is_tried_again(self, kit: Any, receiver: Any) -> None:
        receiver.answers["/x"] = [kit.Answer(500, way="hang")]
        chat = service(kit, receiver, "/x?rto=30", timeout=0.1)
        assert (await chat.send(trial_letter(), "1")).kind == "unknown"
        receiver.release()
        with anyio.fail_after(20):
            while chat._call is not None and not chat._call.done.is_set():
                await anyio.sleep(0.005)

        assert await chat.send(trial_letter(), "1") == SENT
        assert len(receiver.at("/x")) == 2

    async def test_while_one_hangs_no_other_is_started(self, kit: Any, receiver: Any) -> None:
        receiver.answers["/x"] = [kit.Answer(way="hang")]
        chat = service(kit, receiver, "/x?rto=30", timeout=0.05)

        assert (await chat.send(trial_letter(), "1")).kind == "unknown"
        assert (await chat.send(trial_letter(), "1")).kind == "unknown"
        outcome = await chat.send(trial_letter(), "2")
        assert (outcome.kind, outcome.error) == ("retry", "an earlier message still hangs")
        assert len(receiver.at("/x")) == 1


async def test_a_plugins_own_fault_is_a_failed_attempt(
    kit: Any, receiver: Any, monkeypatch: Any
) -> None:
    chat = service(kit, receiver, "/x")

    def faulty(*_: Any, **__: Any) -> None:
        raise KeyError(f"password={KEY}")

    monkeypatch.setattr(chat._apprise, "notify", faulty)
    outcome = await chat.send(trial_letter(), "1")

    assert outcome.kind == "retry"
    assert outcome.error.startswith("KeyError: ")
    assert KEY not in outcome.error


@pytest.mark.parametrize(
    ("url", "limit"),
    [
        ("discord://123456789012345678/abcdefghijklmnopqrstuvwxyz", 2000),
        ("tgram://123456789:abcdefghijklmnopqrstuvwxyzABCDEFGHI/1234", 4096),
        ("mailtos://me:pw@example.com", 32768),
    ],
)
def test_bodies_keep_to_what_a_service_takes(kit: Any, url: str, limit: int) -> None:
    chat = AppriseService(kit.target("chat", url, kind="apprise"))
    letter = compose(kit.notice("a", cause="Because. " * 400, summary="So. " * 400))
    message = chat._message(letter)

    assert len(message.body) + len(message.title) <= limit
    assert len(message.title) <= 250
    assert "lastsignal incidents show ida" in message.body


def test_an_url_that_apprise_does_not_know_is_refused_without_being_shown(kit: Any) -> None:
    with pytest.raises(UsageError, match="target chat: Apprise does not understand") as caught:
        AppriseService(kit.target("chat", "slak://t0ken-a/t0ken-b", kind="apprise"))

    assert "t0ken" not in str(caught.value)
