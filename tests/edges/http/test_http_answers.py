"""What is asked over HTTP is answered: metrics, health, reload, incidents, status."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.incidents import Incident

from .conftest import InMemoryStatus, Running, Serve

Make = Callable[..., Incident]
PAGES = ("/", "/metrics", "/-/healthy", "/-/ready", "/api/v1/incidents", "/api/v1/status")


# -- metrics ---------------------------------------------------------------------------------------


async def test_metrics_are_plain_text_unless_asked_otherwise(server: Running) -> None:
    answer = await server.client.get("/metrics")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert "\nlastsignal_test 7.0\n" in answer.text
    assert "# EOF" not in answer.text


async def test_metrics_are_openmetrics_where_that_is_accepted(server: Running) -> None:
    accept = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5"
    answer = await server.client.get("/metrics", headers={"accept": accept})

    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")
    assert answer.headers["vary"] == "accept, accept-encoding"


async def test_metrics_are_packed_where_that_is_accepted(server: Running) -> None:
    plain = await server.client.get("/metrics", headers={"accept-encoding": "identity"})
    async with server.client.stream("GET", "/metrics", headers={"accept-encoding": "gzip"}) as one:
        packed = b"".join([chunk async for chunk in one.aiter_raw()])

    assert "content-encoding" not in plain.headers
    assert one.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == plain.content


# -- health ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/-/healthy", "/healthz"])
async def test_it_is_healthy_while_it_answers(server: Running, path: str) -> None:
    server.status.reasons = ["the rules are broken"]
    answer = await server.client.get(path)

    assert (answer.status_code, answer.text) == (200, "healthy\n")


@pytest.mark.parametrize("path", ["/-/ready", "/readyz"])
async def test_it_is_ready_or_says_why_not(server: Running, path: str) -> None:
    ready = await server.client.get(path)
    server.status.reasons = ["mine.yaml:3: unknown key `whre`", "the state is not restored yet"]
    not_ready = await server.client.get(path)

    assert (ready.status_code, ready.text) == (200, "ready\n")
    assert (not_ready.status_code, not_ready.text) == (
        503,
        "mine.yaml:3: unknown key `whre`\nthe state is not restored yet\n",
    )


# -- reload ----------------------------------------------------------------------------------------


async def test_reload_does_it_and_says_so(server: Running) -> None:
    answer = await server.client.post("/-/reload")

    assert (answer.status_code, answer.text) == (200, "reloaded\n")
    assert server.status.reloads == 1


async def test_a_reload_that_fails_says_why(server: Running) -> None:
    server.status.problems = ["mine.yaml:3: unknown key `whre`", "mine.yaml:4: …"]
    answer = await server.client.post("/-/reload")

    assert answer.status_code == 500
    assert answer.text == "mine.yaml:3: unknown key `whre`\nmine.yaml:4: …\n"


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
async def test_reload_takes_no_other_method(server: Running, method: str) -> None:
    answer = await server.client.request(method, "/-/reload")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert server.status.reloads == 0


async def test_reload_can_be_switched_off(running: Serve) -> None:
    async with running(reload=False) as server:
        answer = await server.client.post("/-/reload")

    assert answer.status_code == 403
    assert answer.text == "off; set `reload` of [http], or send SIGHUP\n"
    assert server.status.reloads == 0


# -- incidents -------------------------------------------------------------------------------------


async def test_incidents_are_told_with_their_evidence(server: Running, incident: Make) -> None:
    evidence = Evidence("/var/log/a.jsonl", 3, 120, "tool_result", 5.0, "the line")
    server.status.held = [incident(agents=["planner"], evidence=[evidence], acknowledged_at=7.0)]
    answer = await server.client.get("/api/v1/incidents")

    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert document["total"] == 1
    (one,) = document["incidents"]
    assert one["rule"] == "retry_storm"
    assert one["group"] == {"trace_id": "trace-1", "operation": "search"}
    assert one["acknowledged_at"] == 7.0
    assert one["evidence"][0]["line"] == 3
    assert one["evidence"][0]["excerpt"] == "the line"
    assert not {"told", "told_at", "openings", "announced"} & set(one)


async def test_the_open_the_worst_and_the_latest_come_first(
    server: Running, incident: Make
) -> None:
    server.status.held = [
        incident(1),
        incident(2, severity="critical"),
        incident(3),
        incident(4, severity="critical", state="resolved"),
        incident(5, severity="info"),
    ]
    answer = await server.client.get("/api/v1/incidents")

    assert [one["count"] for one in answer.json()["incidents"]] == [2, 3, 1, 5, 4]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("state=open", {1, 2}),
        ("state=resolved", {3}),
        ("state=open,resolved", {1, 2, 3}),
        ("severity=critical", {2}),
        ("severity=critical&severity=warning&state=open", {1, 2}),
        ("rule=call_cycle", {3}),
        ("trace_id=trace-1", {1}),
        ("trace_id=trace-1&rule=call_cycle", set()),
        ("state=", {1, 2, 3}),
    ],
)
async def test_incidents_can_be_filtered(
    server: Running, incident: Make, query: str, expected: set[int]
) -> None:
    server.status.held = [
        incident(1),
        incident(2, severity="critical"),
        incident(3, state="resolved", rule="call_cycle"),
    ]
    document = (await server.client.get(f"/api/v1/incidents?{query}")).json()

    assert {one["count"] for one in document["incidents"]} == expected
    assert document["total"] == len(expected)


async def test_a_limit_cuts_the_list_and_not_the_total(server: Running, incident: Make) -> None:
    server.status.held = [incident(number) for number in range(150)]
    some = (await server.client.get("/api/v1/incidents?limit=3")).json()
    default = (await server.client.get("/api/v1/incidents")).json()

    assert [one["count"] for one in some["incidents"]] == [149, 148, 147]
    assert some["total"] == 150
    assert len(default["incidents"]) == 100


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("sate=open", "`sate` is no filter; did you mean `state`?"),
        ("zzz=1", "`zzz` is no filter; there are state, severity, rule, trace_id, limit"),
        ("state=closed", "`closed` is no state; there are open, resolved"),
        ("severity=fatal", "`fatal` is no severity; there are info, warning, critical"),
        ("limit=0", "`limit` is `0`; it takes 1 to 1000"),
        ("limit=-1", "`limit` is `-1`; it takes 1 to 1000"),
        ("limit=1001", "`limit` is `1001`; it takes 1 to 1000"),
        ("limit=²", "`limit` is `²`; it takes 1 to 1000"),  # that is the point
        (f"limit={'9' * 5000}", f"`limit` is `{'9' * 50}`; it takes 1 to 1000"),
    ],
)
async def test_a_filter_that_is_none_is_refused_with_words(
    server: Running, query: str, error: str
) -> None:
    answer = await server.client.get(f"/api/v1/incidents?{query}")

    assert answer.status_code == 400
    assert answer.json() == {"error": error}


# -- status ----------------------------------------------------------------------------------------


async def test_the_status_is_told_as_json(server: Running) -> None:
    server.status.told = {"files": 3, "polling": False, "last commit": None}
    server.status.reasons = ["not yet"]
    answer = await server.client.get("/api/v1/status")

    assert answer.json() == {
        "version": "1.2.3",
        "ready": False,
        "reasons": ["not yet"],
        "facts": {"files": 3, "polling": False, "last commit": None},
    }


async def test_the_page_shows_what_is_open(server: Running, incident: Make) -> None:
    server.status.held = [incident(3, severity="critical"), incident(4, state="resolved")]
    server.status.told = {"files": 3, "polling": True, "store": None}
    text = (await server.client.get("/")).text

    assert "<title>Last Signal: 1 open</title>" in text
    assert "<p>Ready.</p>" in text
    assert "`search` was tried 3 times" in text
    assert "`search` was tried 4 times" not in text
    assert '<span class="critical">critical</span>' in text
    assert "<tr><th>polling</th><td>yes</td></tr>" in text
    assert "<tr><th>store</th><td>none</td></tr>" in text


async def test_the_page_says_why_it_is_not_ready(server: Running) -> None:
    server.status.reasons = ["rules: a < b"]

    assert "<li>rules: a &lt; b</li>" in (await server.client.get("/")).text


async def test_the_page_names_only_so_many_incidents(server: Running, incident: Make) -> None:
    server.status.held = [incident(number) for number in range(60)]

    text = (await server.client.get("/")).text
    assert text.count("<td>retry_storm</td>") == 50
    assert "and 10 more, see the API" in text


async def test_nothing_of_a_trace_becomes_markup(server: Running, incident: Make) -> None:
    evil = "<script>alert('x')</script>\"><img src=x onerror=y>&"
    fields = dict.fromkeys(("rule", "trace_id", "summary", "cause", "category"), evil)
    server.status.held = [incident(1, **fields)]
    server.status.told = {evil: evil}
    text = (await server.client.get("/")).text

    assert not re.search("<(script|img)", text)
    assert text.count("&lt;script&gt;alert(&#x27;x&#x27;)") == 6


@pytest.mark.parametrize("opened_at", [float("nan"), float("inf"), 1e300, -1e300])
async def test_a_time_that_cannot_be_breaks_no_page(
    server: Running, incident: Make, opened_at: float
) -> None:
    server.status.held = [incident(1, opened_at=opened_at)]

    for path in ("/", "/api/v1/incidents"):
        assert (await server.client.get(path)).status_code == 200
    assert server.faults == []


# -- manners ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
async def test_head_answers_as_get_without_a_body(server: Running, path: str) -> None:
    get = await server.client.get(path, headers={"accept-encoding": "identity"})
    head = await server.client.head(path, headers={"accept-encoding": "identity"})

    assert head.status_code == get.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == get.headers["content-type"]
    assert int(head.headers["content-length"]) > 0


@pytest.mark.parametrize("path", PAGES)
async def test_what_is_only_read_takes_no_post(server: Running, path: str) -> None:
    answer = await server.client.post(path, content=b"x")

    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize("path", ["/no/such", "/metrics/", "/api/v1", "/../etc"])
async def test_what_is_not_there_is_not_found(server: Running, path: str) -> None:
    answer = await server.client.get(path)

    assert answer.status_code == 404
    assert "location" not in answer.headers


@pytest.mark.parametrize("path", [*PAGES, "/no/such"])
async def test_every_answer_keeps_browsers_from_harm(server: Running, path: str) -> None:
    headers = (await server.client.get(path)).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "server" not in headers


async def test_a_fault_of_ours_is_told_and_answered_and_nothing_else_stops(
    server: Running,
) -> None:
    server.status.fault = RuntimeError("secret detail")
    answer = await server.client.get("/api/v1/incidents")

    assert answer.status_code == 500
    assert answer.text == "a fault of Last Signal, see its log\n"
    assert [str(one) for one in server.faults] == ["secret detail"]
    assert (await server.client.get("/-/healthy")).status_code == 200


async def test_many_ask_at_once_and_all_are_answered(server: Running, incident: Make) -> None:
    server.status.held = [incident(number) for number in range(200)]
    answers: list[Any] = []

    async def ask(path: str) -> None:
        answers.append(await server.client.get(path, timeout=30))

    async with anyio.create_task_group() as tasks:
        for _ in range(12):
            for path in PAGES:
                tasks.start_soon(ask, path)

    assert len(answers) == 12 * len(PAGES)
    assert {one.status_code for one in answers} == {200}


async def test_two_reloads_at_once_run_one_after_the_other(server: Running) -> None:
    inside, most = 0, 0

    async def reload() -> list[str]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await anyio.sleep(0.02)
        inside -= 1
        return []

    server.status.reload = reload  # type: ignore[method-assign]
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(server.client.post, "/-/reload")

    assert most == 1


async def test_incidents_are_valid_json_whatever_a_group_holds(
    server: Running, incident: Make
) -> None:
    group = {"a": float("nan"), "b": None, "c": [1, {"d": "😀\x00"}]}
    server.status.held = [incident(1, group=group, first_seen=float("nan"))]

    document = json.loads((await server.client.get("/api/v1/incidents")).content)
    assert document["incidents"][0]["first_seen"] is None


def test_the_status_of_the_tests_is_one_that_the_server_knows() -> None:
    from lastsignal.edges.http import Status

    one: Status = InMemoryStatus()
    assert one.version
