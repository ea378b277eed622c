"""Records that come again, byte for byte: a file appended to itself, a stream that sends anew."""

from __future__ import annotations

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop
from lastsignal.core.digests import digest_of, remember
from lastsignal.core.events import Event

MAX_KNOWN = 10_000
"""Records kept of one source; the oldest go first. Of a longer file the repetition is not seen."""

_PIECE = Drop("stream_chunk")


class Repeats:
    """Knows the records of layouts in which each is unlike all others; see `Dialect.is_unique`."""

    def __init__(self) -> None:
        self.known: dict[int, bool] = {}
        """Digests of the latest records; all that must survive a restart."""
        self._asked: int | None = None  # the digest of the record that was asked for last

    def knows(self, dialect: Dialect | None, data: bytes) -> bool:
        """Whether a record, if it is of this dialect, has come before."""
        self._asked = digest_of(data) if _is_unique(dialect) else None
        return self._asked in self.known

    def note(self, dialect: Dialect | None, data: bytes, decoded: Decoded) -> None:
        """Keep what a dialect has read: all but pieces of a text, which may well be equal.

        Args:
            dialect: the one that has taken it, be it another than was asked for.
            data: the record that `knows` was asked for.
            decoded: what the dialect has read.
        """
        if _is_unique(dialect) and decoded != _PIECE:
            digest = digest_of(data) if self._asked is None else self._asked
            remember(self.known, digest, MAX_KNOWN)


def identify(event: Event) -> None:
    """Give an event what a copy of it in another source shares: what it tells, and when."""
    if event.identity is None and event.timestamp_source == "record":
        told = (event.timestamp, event.event_type, event.status, event.operation, event.call_id)
        event.identity = "/".join(map(str, (*told, event.attempt)))


def _is_unique(dialect: Dialect | None) -> bool:
    return dialect is not None and dialect.is_unique
