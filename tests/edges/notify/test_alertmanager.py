"""Alertmanager is told what stands and what ended: against a receiver, and against the real one."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from lastsignal.core.incidents import IncidentBook, IncidentPolicy
from lastsignal.edges.notify import Notifier, Retries, Route, Secret, Surroundings
from lastsignal.edges.notify.alertmanager import END_AFTER, AlertmanagerWorker
from lastsignal.edges.notify.alerts import gather, label_set, posted
from lastsignal.edges.notify.outcome import SENT, Outcome

KEY = "sk-" + "ant-api03-" + "Zx7Qm2Kp9Rt4Lw1Bv8Ny3Hc6Jd5F"
REFUSED = Outcome("dead", "400 Bad Request", None, 400)


class Post:
    """Takes what would be posted, and answers as a test says."""

    def __init__(self, clock: Any, answers: list[Outcome]) -> None:
        self.clock = clock
        self.answers = answers
        self.posts: list[tuple[float, list[dict[str, Any]]]] = []
        self.refuses = ""

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> Outcome:
        assert path == "/api/v2/alerts"
        if self.refuses and self.refuses.encode() in body:
            return REFUSED
        if self.answers:
            return self.answers.pop(0)
        alerts = httpx.Response(200, content=body).json()
        self.posts.append((self.clock.monotonic(), alerts))
        return SENT

    async def close(self) -> None:
        pass

    def traces(self) -> list[tuple[float, list[str]]]:
        return [(at, [one["labels"]["trace_id"] for one in alerts]) for at, alerts in self.posts]


@pytest.fixture
def start(kit: Any, clock: Any, around: Surroundings) -> Callable[..., Any]:
    """Return a context in which a worker runs over a list of standing incidents."""

    @asynccontextmanager
    async def running(
        standing: list[Any], *answers: Outcome, **config: Any
    ) -> AsyncIterator[tuple[Post, AlertmanagerWorker]]:
        post = Post(clock, list(answers))
        target = kit.target("alerts", kind="alertmanager", **config)
        worker = AlertmanagerWorker(target, post, lambda: standing, around)  # type: ignore[arg-type]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run)
            await clock.advance(0)
            yield post, worker
            tasks.cancel_scope.cancel()

    return running


def ends(incident: Any, at: float) -> None:
    incident.state, incident.resolved_at = "resolved", at


class TestAlerts:
    def test_labels_are_few_and_annotations_tell_the_rest(self, kit: Any) -> None:
        one = kit.incident("a", cause=f"because of {KEY}")
        (alert,) = gather([(label_set(one, {"cluster": "eu", "bad-name": "x"}), one)]).values()

        body = posted(alert, kit.T0 + 180)
        assert body["labels"] == {
            "agent": "planner",
            "alertname": "rate_limit_exhausted",
            "category": "execution-error-rate-limiting",
            "cluster": "eu",
            "framework": "crewai",
            "operation": "search",
            "rule": "rate_limit_exhausted",
            "severity": "critical",
            "trace_id": "trace-a",
        }
        assert body["annotations"] == {
            "summary": "Provider quota exhausted: search of a was refused twice",
            "description": "because of [redacted:anthropic-key]",
            "remedy": "1. Raise the limit. 2. Wait until tomorrow.",
            "evidence": '/traces/run.jsonl:3 {"error": "429"}',
            "trace": "trace-a",
            "incidents": "ida",
            "look_further": "lastsignal incidents show ida",
        }
        assert body["startsAt"] == "2023-11-14T22:13:20.000+00:00"
        assert body["endsAt"] == "2023-11-14T22:16:20.000+00:00"

    def test_nothing_unbounded_is_a_label(self, kit: Any) -> None:
        group = {"operation": "search", "arguments_hash": "abc", "metadata.run": "7", "model": KEY}
        labels = dict(label_set(kit.incident("a", group=group), {}))

        assert "trace_id" not in labels  # the incident is none of one trace
        assert not labels.keys() & {"arguments_hash", "metadata.run"}
        assert labels["model"] == "[redacted:anthropic-key]"

    def test_a_severity_that_is_lowered_later_changes_no_identity(self, kit: Any) -> None:
        before = label_set(kit.incident("a"), {})
        after = label_set(kit.incident("a", severity="info"), {})

        assert before == after

    def test_incidents_that_share_all_labels_are_one_alert_until_the_last_ends(
        self, kit: Any
    ) -> None:
        group = {"operation": "search", "arguments_hash": "1"}
        one = kit.incident("a", group=group, openings=[kit.T0 + 5])
        other = kit.incident("b", group={**group, "arguments_hash": "2"})
        ends(other, kit.T0 + 9)
        ((_, alert),) = gather((label_set(i, {}), i) for i in (one, other)).items()

        assert (alert.starts_at, alert.ends_at) == (kit.T0 + 5, None)
        assert posted(alert, 0)["annotations"]["incidents"] == "idb, ida"
        ends(one, kit.T0 + 20)
        ((_, alert),) = gather((label_set(i, {}), i) for i in (one, other)).items()
        assert (alert.starts_at, alert.ends_at) == (kit.T0, kit.T0 + 20)

    def test_no_alert_ends_before_it_starts(self, kit: Any) -> None:
        one = kit.incident("a")
        ends(one, kit.T0 - 5)
        (alert,) = gather([(label_set(one, {}), one)]).values()

        body = posted(alert, 0)
        assert body["startsAt"] < body["endsAt"]


class TestWorker:
    async def test_an_alert_is_posted_at_once_and_again_well_before_it_would_end(
        self, kit: Any, clock: Any, start: Any, record: Any
    ) -> None:
        async with start([kit.incident("a")], refresh_interval=60) as (post, _):
            await clock.advance(200)

        assert post.traces() == [(at, ["trace-a"]) for at in (0, 60, 120, 180)]
        ahead = END_AFTER * 60
        assert [alerts[0]["endsAt"][14:19] for _, alerts in post.posts] == [
            f"{(13 * 60 + 20 + at + ahead) // 60 % 60:02}:20" for at in (0, 60, 120, 180)
        ]
        assert record.counts == {"alerts": {"sent": 4}}

    async def test_an_end_is_posted_at_once_and_for_a_while_again(
        self, kit: Any, clock: Any, start: Any
    ) -> None:
        standing = [kit.incident("a")]
        async with start(standing) as (post, worker):
            await clock.advance(10)
            ends(standing[0], kit.T0 + 10)
            worker.wake()
            await clock.advance(65)
            standing.clear()
            await clock.advance(200)

        assert [at for at, _ in post.posts] == [0, 10, 70]
        assert [alerts[0]["endsAt"][14:19] for _, alerts in post.posts[1:]] == ["13:30"] * 2

    async def test_what_opens_again_starts_again(self, kit: Any, clock: Any, start: Any) -> None:
        standing = [kit.incident("a")]
        async with start(standing) as (post, worker):
            ends(standing[0], kit.T0)
            worker.wake()
            await clock.advance(10)
            standing[0] = kit.incident("a", openings=[kit.T0, kit.T0 + 10])
            worker.wake()
            await clock.advance(1)

        assert [alerts[0]["startsAt"][14:19] for _, alerts in post.posts] == [
            "13:20",
            "13:20",
            "13:30",
        ]

    async def test_what_stands_no_more_or_under_other_labels_is_ended(
        self, kit: Any, clock: Any, start: Any
    ) -> None:
        standing = [kit.incident("a")]
        async with start(standing) as (post, worker):
            standing[0] = kit.incident("a", agents=["writer"])
            worker.wake()
            await clock.advance(5)

        (_, both) = post.posts[-1]
        by_agent = {alert["labels"]["agent"]: alert for alert in both}
        assert by_agent["planner"]["endsAt"] < by_agent["writer"]["endsAt"]

    async def test_a_restart_knows_what_stands_and_what_ended(
        self, kit: Any, clock: Any, start: Any
    ) -> None:
        standing = [kit.incident("a"), kit.incident("b")]
        async with start(standing):
            await clock.advance(5)
        ends(standing[1], kit.T0 + 7)
        async with start(standing) as (post, _):
            await clock.advance(1)

        ((_, alerts),) = post.posts
        assert [one["endsAt"][14:19] for one in alerts] == ["16:25", "13:27"]

    async def test_only_what_a_route_takes(self, kit: Any, clock: Any, start: Any) -> None:
        standing = [kit.incident("a"), kit.incident("b", rule="crash")]
        async with start(standing, routes=(Route(rules=("crash",)),)) as (post, _):
            await clock.advance(1)

        assert post.traces() == [(0, ["trace-b"])]

    async def test_many_alerts_go_in_posts_of_some_one_a_second(
        self, kit: Any, clock: Any, start: Any
    ) -> None:
        standing = [kit.incident(f"n{n}") for n in range(1_200)]
        async with start(standing) as (post, _):
            for _ in range(150):  # each alert is a turn of the event loop
                await clock.advance(0.05)

        assert [(int(at), len(alerts)) for at, alerts in post.posts] == [
            (0, 500),
            (1, 500),
            (2, 200),
        ]

    async def test_a_failure_is_tried_again_and_loses_nothing(
        self, kit: Any, clock: Any, start: Any, record: Any
    ) -> None:
        standing = [kit.incident("a")]
        answers = [Outcome("retry", "503")] * 2 + [Outcome("retry", "429", 30.0)]
        async with start(standing, *answers, retries=Retries(base=2)) as (post, worker):
            for _ in range(50):
                worker.wake()
                await clock.advance(1)

        assert record.delays == [2, 4, 30]
        assert post.traces()[0] == (36, ["trace-a"])

    async def test_a_wrong_address_is_asked_again_now_and_then(
        self, kit: Any, clock: Any, start: Any, record: Any
    ) -> None:
        answers = [Outcome("dead", "404 Not Found", None, 404)] * 2
        async with start([kit.incident("a")], *answers, retries=Retries(cap=100)) as (post, _):
            await clock.advance(250)

        assert record.delays == [100, 100]
        assert post.traces()[0] == (200, ["trace-a"])

    async def test_one_alert_that_is_refused_keeps_no_other_from_arriving(
        self, kit: Any, clock: Any, start: Any, record: Any
    ) -> None:
        standing = [kit.incident(f"n{n}") for n in range(20)]
        async with start([]) as (post, worker):
            post.refuses = "trace-n7"
            worker._standing = lambda: standing
            worker.wake()
            for _ in range(60):
                await clock.advance(0.5)

        arrived = {trace for _, traces in post.traces() for trace in traces}
        assert arrived == {f"trace-n{n}" for n in range(20) if n != 7}
        assert record.counts["alerts"]["dead"] == 1

    async def test_a_stop_posts_what_is_new_and_waits_for_nothing_else(
        self, kit: Any, clock: Any, around: Surroundings
    ) -> None:
        standing = [kit.incident("a")]
        post = Post(clock, [])
        target = kit.target("alerts", kind="alertmanager")
        worker = AlertmanagerWorker(target, post, lambda: standing, around)  # type: ignore[arg-type]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run)
            await clock.advance(5)
            standing.append(kit.incident("b"))
            worker.stop(3)
            await clock.advance(0)
            # the group ends here

        assert post.traces() == [(0, ["trace-a"]), (5, ["trace-b"])]


async def test_posts_carry_the_token_and_go_to_the_api(
    kit: Any, receiver: Any, outbox: Any, record: Any
) -> None:
    target = kit.target("alerts", f"{receiver.url}/am/", kind="alertmanager", token=Secret("t0ken"))
    notifier = Notifier(
        [target], outbox, lambda: [kit.incident("a")], Surroundings(observer=record)
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notifier.run)
        (request,) = await receiver.expect("/am/api/v2/alerts", 1)
        tasks.cancel_scope.cancel()

    assert request.headers["Authorization"] == "Bearer t0ken"
    assert request.json[0]["labels"]["alertname"] == "rate_limit_exhausted"


PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")

CONFIG = """
route:
  receiver: hook
  group_by: [alertname, framework]
  group_wait: 100ms
  group_interval: 300ms
  repeat_interval: 1h
receivers:
  - name: hook
    webhook_configs: [{url: "URL", send_resolved: true}]
"""


@pytest.fixture
def alertmanager(tmp_path: Path, receiver: Any) -> Iterator[str]:
    """Start a real Alertmanager that tells the receiver; return its URL."""
    assert PROGRAM is not None
    (tmp_path / "config.yml").write_text(CONFIG.replace("URL", f"{receiver.url}/hook"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                PROGRAM,
                f"--config.file={tmp_path / 'config.yml'}",
                f"--storage.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--cluster.listen-address=",
            ],
            stdout=log,
            stderr=log,
        )
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)


@pytest.mark.external
@pytest.mark.skipif(PROGRAM is None, reason="prometheus-alertmanager is not installed")
async def test_a_real_alertmanager_receives_groups_and_resolves(
    kit: Any, receiver: Any, outbox: Any, record: Any, alertmanager: str
) -> None:
    incidents = [kit.incident(name) for name in "abc"]
    incidents += [kit.incident("d", framework="langchain", severity="warning")]
    now = Surroundings().clock.now()
    for one in incidents:
        one.opened_at, one.updated_at, one.openings, one.told_at = now, now, [now], now
    book = IncidentBook(IncidentPolicy(), incidents)
    around = Surroundings(observer=record)
    target = kit.target(
        "alerts",
        alertmanager,
        kind="alertmanager",
        max_per_second=20.0,
        retries=Retries(base=0.05),
    )
    notifier = Notifier([target], outbox, lambda: book.standing(around.clock.now()), around)

    async with httpx.AsyncClient(base_url=alertmanager) as api, anyio.create_task_group() as tasks:
        tasks.start_soon(notifier.run)
        await receiver.expect("/hook", 2)
        assert sorted(
            (sorted(alert["labels"]["trace_id"] for alert in group["alerts"]))
            for group in (await api.get("/api/v2/alerts/groups")).json()
        ) == [["trace-a", "trace-b", "trace-c"], ["trace-d"]]
        alerts = (await api.get("/api/v2/alerts")).json()
        assert {alert["status"]["state"] for alert in alerts} == {"active"}
        assert alerts[0]["annotations"]["description"] == "The account has used up its quota."

        for name in "abc":
            ends(book.incidents[f"id{name}"], around.clock.now())
        notifier.wake()
        with anyio.fail_after(20):
            while len((await api.get("/api/v2/alerts")).json()) != 1:
                await anyio.sleep(0.02)
        told = await receiver.expect("/hook", 3)
        tasks.cancel_scope.cancel()

    last = told[-1].json
    assert last["status"] == "resolved"
    assert {alert["labels"]["trace_id"] for alert in last["alerts"]} == {
        "trace-a",
        "trace-b",
        "trace-c",
    }
