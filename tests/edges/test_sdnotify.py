"""systemd is told what it wants to hear, over a real socket; elsewhere nobody is."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from lastsignal.edges.sdnotify import Supervisor


class Listener:
    """systemd's end of the socket."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(5)

    def hears(self) -> list[str]:
        """Return the lines of the next message."""
        return self.socket.recv(4096).decode().split("\n")


@pytest.fixture
def anyio_backend() -> str:
    """Return the backend that the daemon runs on."""
    return "asyncio"


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    """Return a listener at `notify` in the test's folder."""
    one = Listener(str(tmp_path / "notify"))
    yield one
    one.socket.close()


@pytest.fixture
def supervisor(tmp_path: Path, listener: Listener) -> Callable[..., Supervisor]:
    """Return a way to make the daemon's end."""
    return lambda **variables: Supervisor({"NOTIFY_SOCKET": str(tmp_path / "notify"), **variables})


Make = Callable[..., Supervisor]


def test_ready_is_told_with_a_status_line(supervisor: Make, listener: Listener) -> None:
    assert supervisor().ready("3 files,\n44 rules")
    assert listener.hears() == ["READY=1", "STATUS=3 files, 44 rules"]


def test_a_reload_tells_its_time_on_the_monotonic_clock(
    supervisor: Make, listener: Listener
) -> None:
    before = time.monotonic_ns() // 1000
    supervisor().reloading()
    after = time.monotonic_ns() // 1000

    first, second = listener.hears()
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= after


def test_stopping_asks_for_the_time_that_it_takes(supervisor: Make, listener: Listener) -> None:
    supervisor().stopping("draining", seconds=20)

    assert listener.hears() == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=20000000", "STATUS=draining"]


def test_stopping_may_say_nothing_more(supervisor: Make, listener: Listener) -> None:
    supervisor().stopping()

    assert listener.hears() == ["STOPPING=1"]


def test_a_status_is_one_short_line(supervisor: Make, listener: Listener) -> None:
    supervisor().status("x\nREADY=1\n" + "y" * 1000)

    (line,) = listener.hears()
    assert line.startswith("STATUS=x READY=1 yyy")
    assert len(line) == len("STATUS=") + 200


def test_an_abstract_socket_is_known_by_its_at_sign() -> None:
    name = f"lastsignal-test-{os.getpid()}"
    listener = Listener("\0" + name)
    try:
        assert Supervisor({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert listener.hears() == ["READY=1"]
    finally:
        listener.socket.close()


@pytest.mark.parametrize("address", ["", "relative/path", "vsock:2:1", "/no/such/socket"])
def test_nobody_who_listens_is_no_reason_to_stop(address: str) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000000"})

    assert not supervisor.ready()
    assert not supervisor.alive()


def test_a_listener_that_takes_nothing_keeps_nobody_waiting(
    supervisor: Make, listener: Listener
) -> None:
    one = supervisor()
    for _ in range(100_000):
        if not one.alive():
            break
    else:
        pytest.fail("the socket took everything")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "often"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_only_where_one_waits(
    supervisor: Make, variables: dict[str, str], expected: float | None
) -> None:
    assert supervisor(**variables).watchdog_seconds == expected


async def test_signs_of_life_come_while_the_service_moves(
    supervisor: Make, listener: Listener
) -> None:
    listener.socket.setblocking(False)
    is_alive = True
    signs = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor(WATCHDOG_USEC="20000").show_life, lambda: is_alive)
        with anyio.fail_after(5):
            while signs < 3:
                await anyio.wait_readable(listener.socket)
                assert listener.hears() == ["WATCHDOG=1"]
                signs += 1
        is_alive = False
        with anyio.move_on_after(0.05):
            await anyio.wait_readable(listener.socket)
            listener.hears()  # one may have been on its way
        with anyio.move_on_after(0.1) as silence:
            await anyio.wait_readable(listener.socket)
        tasks.cancel_scope.cancel()

    assert silence.cancelled_caught


async def test_without_a_watchdog_there_is_nothing_to_show(supervisor: Make) -> None:
    with anyio.fail_after(1):
        await supervisor().show_life()
