"""What carries a letter to one target."""

from __future__ import annotations

from typing import Protocol

from lastsignal.edges.notify.letter import Letter
from lastsignal.edges.notify.outcome import Outcome


class Sender(Protocol):
    """One target's way; used by one task."""

    async def send(self, letter: Letter, key: str) -> Outcome:
        """Try once, and raise for no failure; the key is the same for all attempts at a letter."""

    async def close(self) -> None:
        """Let connections go."""
