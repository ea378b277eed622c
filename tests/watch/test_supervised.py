"""What systemd hears of the running service, and what it may do to it."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from watch.harness import incidents
from watch.kit import PATIENCE, Watch, failure, record, wait_for, write


class Listener:
    """The socket of a supervisor."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def hears(self, *parts: str) -> None:
        """Wait for a message with all of these parts."""

        def listen() -> bool:
            return any(all(part in one for part in parts) for one in self.listen())

        wait_for(listen, f"{parts} in {self.heard}")

    def listen(self) -> list[str]:
        """Return all that was heard."""
        try:
            while True:
                self.heard.append(self._socket.recv(4096).decode())
        except BlockingIOError:
            return self.heard

    def forget(self) -> None:
        """Forget all that was heard."""
        self.listen().clear()


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    """Return a supervisor that listens."""
    one = Listener(tmp_path / "notify")
    yield one
    one.close()


def test_it_tells_of_its_whole_life(tmp_path: Path, listener: Listener) -> None:
    daemon = Watch(tmp_path)
    try:
        daemon.start(NOTIFY_SOCKET=str(listener.path), WATCHDOG_USEC="400000").ready()
        assert daemon.process is not None
        listener.hears("READY=1", "STATUS=reading")
        for _ in range(3):
            listener.hears("WATCHDOG=1")
            listener.forget()
        daemon.process.send_signal(signal.SIGHUP)
        listener.hears("RELOADING=1", "MONOTONIC_USEC=")
        listener.hears("READY=1", "STATUS=reading")
        listener.forget()
        broken = daemon.rules / "broken.yaml"
        broken.write_text("id: broken\n")
        daemon.process.send_signal(signal.SIGHUP)
        listener.hears("READY=1", "STATUS=the rules could not be read again", "broken.yaml")
        daemon.process.send_signal(signal.SIGTERM)
        listener.hears("STOPPING=1", "EXTEND_TIMEOUT_USEC=", "STATUS=reading to the end")
        assert daemon.process.wait(PATIENCE) == 0
    finally:
        daemon.kill()


def test_a_daemon_that_hangs_gives_no_sign_of_life(tmp_path: Path, listener: Listener) -> None:
    daemon = Watch(tmp_path)
    try:
        daemon.start(NOTIFY_SOCKET=str(listener.path), WATCHDOG_USEC="400000").ready()
        assert daemon.process is not None
        listener.hears("WATCHDOG=1")
        daemon.process.send_signal(signal.SIGSTOP)
        status = Path(f"/proc/{daemon.process.pid}/status")
        wait_for(lambda: "State:\tT" in status.read_text(), "it stands")
        listener.forget()
        time.sleep(0.5)  # longer than until the next sign is due: that none comes is what is meant
        assert listener.listen() == []
    finally:
        daemon.kill()


def test_a_stop_keeps_to_its_limit_and_the_next_start_reads_the_rest(tmp_path: Path) -> None:
    daemon = Watch(tmp_path, '[limits]\ndrain_timeout = "200ms"\nread_queue = 1\n')
    many = record("r", "tool_call", "x", "started") * 150_000
    for number in range(4):
        write(daemon.traces / f"{number}.jsonl", many, failure(f"last-{number}"))
    try:
        daemon.start().ready()
        began = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - began < 15
        assert daemon.lines("tail_trouble")[0]["kind"] == "undrained"
        daemon.once()
        assert sorted(one.trace_id for one in incidents(daemon.state)) == [
            f"last-{number}" for number in range(4)
        ]
    finally:
        daemon.kill()
