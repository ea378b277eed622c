"""Letters as JSON to a web hook."""

from __future__ import annotations

import msgspec

from lastsignal.edges.notify.clock import Clock
from lastsignal.edges.notify.document import VERSION
from lastsignal.edges.notify.http_post import HttpPost
from lastsignal.edges.notify.layout import as_text
from lastsignal.edges.notify.letter import Letter
from lastsignal.edges.notify.outcome import Outcome
from lastsignal.edges.notify.targets import Target

MAX_TEXT = 32_768


class Webhook:
    """Posts each letter with a key that stays the same when it is tried again.

    A receiver that remembers `Idempotency-Key` takes each message once, also where an answer was
    lost on its way back.
    """

    def __init__(self, target: Target, clock: Clock) -> None:
        self._post = HttpPost(target, clock)

    async def send(self, letter: Letter, key: str) -> Outcome:
        """Post one letter."""
        body = msgspec.json.encode(
            {
                "version": VERSION,
                "title": letter.title,
                "severity": letter.severity,
                "text": as_text(letter, MAX_TEXT),
                **letter.document,
            }
        )
        return await self._post.post("", body, {"Idempotency-Key": key})

    async def close(self) -> None:
        """Close the connection."""
        await self._post.close()
