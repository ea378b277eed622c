"""Tells systemd how the service is doing, by the protocol of sd_notify(3); else does nothing."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping

import anyio

MAX_STATUS_CHARS = 200


class Supervisor:
    """Whoever started the service and wants to hear of it.

    Nothing here ever raises or waits: a supervisor that does not listen is no reason to stop.

    Args:
        environment: NOTIFY_SOCKET says where to tell, WATCHDOG_USEC how often to show life.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self.watchdog_seconds = _watchdog(environment) if self._address else None
        """Within which a sign of life is expected; None where nobody expects one."""

    @property
    def listens(self) -> bool:
        """Whether there is anybody to tell."""
        return self._address is not None

    def ready(self, status: str = "") -> bool:
        """Tell that the service is up, or that a reload is over."""
        return self._tell("READY=1", *_status(status))

    def reloading(self) -> bool:
        """Tell that a reload begins; `ready` ends it."""
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        return self._tell("RELOADING=1", f"MONOTONIC_USEC={microseconds}")

    def stopping(self, status: str = "", *, seconds: float | None = None) -> bool:
        """Tell that the service stops, and how long that may take from now."""
        extend = [] if seconds is None else [f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}"]
        return self._tell("STOPPING=1", *extend, *_status(status))

    def status(self, text: str) -> bool:
        """Show one line in `systemctl status`."""
        return self._tell(*_status(text))

    def alive(self) -> bool:
        """Give a sign of life."""
        return self._tell("WATCHDOG=1")

    async def show_life(self, is_alive: Callable[[], bool] = lambda: True) -> None:
        """Give signs of life twice as often as they are expected, for as long as there is any.

        Args:
            is_alive: whether the service moves; while it does not, no sign is given, and the
                supervisor starts it anew.
        """
        if self.watchdog_seconds is None:
            return
        while True:
            if is_alive():
                self.alive()
            await anyio.sleep(self.watchdog_seconds / 2)

    def _tell(self, *lines: str) -> bool:
        """Return whether it was told."""
        if self._address is None or not lines:
            return False
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        try:
            with socket.socket(socket.AF_UNIX, kind) as one:
                one.setblocking(False)
                one.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)
        except OSError:
            return False
        return True


def _address(text: str) -> str | None:
    if text.startswith("@"):
        return "\0" + text[1:]  # in Linux's abstract namespace: no file
    return text if text.startswith("/") else None


def _status(text: str) -> list[str]:
    line = " ".join(text.split())[:MAX_STATUS_CHARS]
    return [f"STATUS={line}"] if line else []


def _watchdog(environment: Mapping[str, str]) -> float | None:
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None  # it is another process of the service that is watched
    text = environment.get("WATCHDOG_USEC", "")
    microseconds = int(text) if text.isascii() and text.isdecimal() else 0
    return microseconds / 1e6 if microseconds else None
