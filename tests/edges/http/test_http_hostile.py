"""Who is slow, huge, broken or curious on purpose gets nothing, and keeps nobody else waiting."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from prometheus_client import Gauge

from lastsignal.edges.http import server as serving

from .conftest import Running, Serve

GET = b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n"
CLOSING = GET + b"Connection: close\r\n"


@asynccontextmanager
async def connection(server: Running) -> AsyncIterator[SocketStream]:
    """Give a bare connection to the server."""
    stream = await anyio.connect_tcp(*server.address)
    async with stream:
        yield stream


async def everything(stream: SocketStream) -> bytes:
    """Return what comes until the server closes."""
    received = b""
    with anyio.fail_after(10):
        try:
            while True:
                received += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return received


async def ask(server: Running, request: bytes) -> bytes:
    """Send bytes, and return what comes until the server closes."""
    async with connection(server) as stream:
        await stream.send(request)
        return await everything(stream)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the server's patience short."""
    monkeypatch.setattr(serving, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(serving, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0.02)


# -- broken requests -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200) + b"\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\r\n" * 10 + b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        b"Content-Length: 6\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused_and_closed(server: Running, request_bytes: bytes) -> None:
    answer = await ask(server, request_bytes)

    assert answer.startswith(b"HTTP/1.1 400 ") or answer == b""
    assert (await server.client.get("/-/healthy")).status_code == 200
    assert server.status.reloads == 0


@pytest.mark.parametrize(
    "head",
    [
        CLOSING + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /?" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        CLOSING + b"X: y\r\n" * 20_000 + b"\r\n",
        CLOSING + b"X-Long: " + b"x" * 10_000_000,
    ],
)
async def test_a_head_without_end_is_refused(server: Running, head: bytes) -> None:
    async with connection(server) as stream:
        try:
            await stream.send(head)
        except anyio.BrokenResourceError:
            pass  # it was refused before it was sent to its end
        else:
            answer = await everything(stream)
            assert answer[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.1 431 ", b"")

    assert (await server.client.get("/-/healthy")).status_code == 200


@pytest.mark.parametrize("path", [b"//metrics", b"/%2e%2e/metrics", b"/metrics%00", b"*"])
async def test_a_strange_path_is_not_found_and_leads_nowhere(server: Running, path: bytes) -> None:
    answer = await ask(
        server, b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )

    assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 "))
    assert b"location:" not in answer.lower()


async def test_a_web_socket_is_not_opened(server: Running) -> None:
    answer = await ask(
        server,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
    )

    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_a_body_is_never_read(server: Running) -> None:
    async with connection(server) as stream:
        await stream.send(
            b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nx"
        )
        answer = await everything(stream)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer
    assert server.status.reloads == 1


async def test_requests_in_a_row_on_one_connection_are_answered_in_order(server: Running) -> None:
    last = b"GET /no HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = await ask(server, (GET + b"\r\n") * 3 + last)

    assert answer.count(b"HTTP/1.1 200 ") == 3
    assert answer.index(b"HTTP/1.1 404 ") > answer.rindex(b"healthy\n")


# -- slow clients ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("beginning", [b"", b"GET", GET])
async def test_who_brings_no_request_in_time_is_cut_off(server: Running, beginning: bytes) -> None:
    async with connection(server) as stream:
        if beginning:
            await stream.send(beginning)

        assert await everything(stream) == b""


@pytest.mark.usefixtures("hurried")
async def test_who_sends_a_letter_now_and_then_is_cut_off(server: Running) -> None:
    async with connection(server) as stream, anyio.create_task_group() as tasks:

        async def drip() -> None:
            await stream.send(GET)
            while True:
                try:
                    await stream.send(b"X: y\r\n")
                except anyio.BrokenResourceError:
                    return
                await anyio.sleep(0.02)

        tasks.start_soon(drip)
        assert await everything(stream) == b""


@pytest.mark.usefixtures("hurried")
async def test_who_is_idle_after_an_answer_is_cut_off(server: Running) -> None:
    async with connection(server) as stream:
        await stream.send(GET + b"\r\n" + GET)

        assert (await everything(stream)).count(b"HTTP/1.1 200 ") == 1


@pytest.mark.usefixtures("hurried")
async def test_who_takes_no_answer_is_cut_off(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "ANSWER_SECONDS", 2.0)  # to make the answer, and to take it
    Gauge("big", "x" * 30_000_000, registry=server.registry)
    async with connection(server) as stream:
        await stream.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await stream.receive(1)
        with anyio.fail_after(20):
            while gone := [one for one in gc.get_objects() if is_open_protocol(one)]:
                await anyio.sleep(0.05)

    assert gone == []


def is_open_protocol(one: Any) -> bool:
    """Whether this is a connection that the server still holds."""
    return type(one) is serving.ImpatientProtocol and one in one.connections


@pytest.mark.usefixtures("hurried")
async def test_a_crowd_of_slow_clients_shuts_nobody_out_for_long(running: Serve) -> None:
    async with running(max_connections=10) as server, anyio.create_task_group() as tasks:

        async def dawdle() -> None:
            async with connection(server) as stream:
                await stream.send(b"GET / HTTP/1.1\r\n")
                await everything(stream)

        for _ in range(30):
            tasks.start_soon(dawdle)
        with anyio.fail_after(10):
            while True:
                try:
                    answer = await server.client.get("/-/healthy")
                except Exception:  # cut off among the others: it is tried again
                    continue
                if answer.status_code == 200:
                    break
                await anyio.sleep(0.02)


async def test_more_connections_than_allowed_are_turned_away(running: Serve) -> None:
    async with running(max_connections=3) as server:
        streams = [await anyio.connect_tcp(*server.address) for _ in range(3)]
        answer = await ask(server, GET + b"Connection: close\r\n\r\n")
        for stream in streams:
            await stream.aclose()

    assert answer.startswith(b"HTTP/1.1 503 ")


async def test_the_server_stops_though_clients_hold_on(running: Serve) -> None:
    with anyio.fail_after(5):
        async with running() as server:
            stream = await anyio.connect_tcp(*server.address)
            await stream.send(GET)
    await stream.aclose()
