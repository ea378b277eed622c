"""Time as the workers see it: injected, so that tests never wait."""

from __future__ import annotations

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """The present, and waiting for it to pass."""

    def now(self) -> float:
        """Return the wall clock, in epoch seconds: for what is stored."""

    def monotonic(self) -> float:
        """Return a clock that nobody sets, in seconds: for what happens meanwhile."""

    async def wait(self, event: anyio.Event, seconds: float | None) -> None:
        """Return when the event is set, or so many seconds have passed."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return the wall clock, in epoch seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return a clock that nobody sets, in seconds."""
        return time.monotonic()

    async def wait(self, event: anyio.Event, seconds: float | None) -> None:
        """Return when the event is set, or so many seconds have passed."""
        with anyio.move_on_after(seconds):
            await event.wait()


class Pace:
    """At most so many messages a second: a gap after the start and after the end of each.

    Counted from the start alone, one that was long on its way would arrive right before the next.
    """

    def __init__(self, clock: Clock, max_per_second: float) -> None:
        self._clock = clock
        self._gap = 1.0 / max_per_second
        self._next = clock.monotonic()

    def delay(self) -> float:
        """Return the seconds until the next message may start."""
        return max(0.0, self._next - self._clock.monotonic())

    def note(self) -> None:
        """Note that a message starts or ends now."""
        self._next = self._clock.monotonic() + self._gap


class Alarm:
    """An event that rings again and again."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def ring(self) -> None:
        """Wake who waits; who does not wait yet will not wait once."""
        self._event.set()

    async def wait(self, clock: Clock, seconds: float | None) -> None:
        """Return when it rings, or so many seconds have passed."""
        await clock.wait(self._event, seconds)
        if self._event.is_set():
            self._event = anyio.Event()
