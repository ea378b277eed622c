"""Records that come again, byte for byte: a file appended to itself, a stream that sends anew."""

from __future__ import annotations

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop
from lastsignal.core.aliases.session_runs import CALLS
from lastsignal.core.digests import digest_of, remember
from lastsignal.core.events import Event

MAX_KNOWN = 10_000
"""Records kept of one source; the oldest go first. Of a longer file the repetition is not seen."""

_PIECE = Drop("stream_chunk")


class SavedRepeats(msgspec.Struct, array_like=True):
    """What is known of a source's records, over a restart."""

    known: dict[int, bool] = {}
    """Digests of the latest records."""
    latest: int = 0
    """The digest of the latest one that is named."""
    is_back: bool = False
    """Whether that one had come before: what follows it may have, too."""


class Repeats:
    """Knows the records of layouts in which each is unlike all others; see `Dialect.is_unique`.

    A record without a name (a session is busy, a user goes on) is known by the one that it follows:
    behind one that has come again it has come again, if it stood there before.
    """

    def __init__(self) -> None:
        self.saved = SavedRepeats()
        """All that must survive a restart."""
        self._asked: int | None = None  # the digest of the record that was asked for last

    def knows(self, dialect: Dialect | None, data: bytes) -> bool:
        """Whether a record, if it is of this dialect, has come before."""
        self._asked = None
        if dialect is None or not dialect.is_unique:
            return False
        saved = self.saved
        is_named = dialect.is_named(data)
        self._asked = digest = self._digest(data, is_named)
        is_known = digest in saved.known
        if not is_named:
            return is_known and saved.is_back
        if is_known:
            saved.latest, saved.is_back = digest, True
        return is_known

    def note(self, dialect: Dialect | None, data: bytes, decoded: Decoded) -> None:
        """Keep what a dialect has read: all but pieces of a text, which may well be equal.

        Args:
            dialect: the one that has taken it, be it another than was asked for.
            data: the record that `knows` was asked for.
            decoded: what the dialect has read.
        """
        if dialect is None or not dialect.is_unique or decoded == _PIECE:
            return
        is_named = dialect.is_named(data)
        digest = self._digest(data, is_named) if self._asked is None else self._asked
        remember(self.saved.known, digest, MAX_KNOWN)
        if is_named:
            self.saved.latest, self.saved.is_back = digest, False

    def _digest(self, data: bytes, is_named: bool) -> int:
        if is_named:
            return digest_of(data)
        return digest_of(self.saved.latest.to_bytes(8, "big") + data)


def identify(event: Event) -> None:
    """Give an event what a copy of it in another source shares, under whatever id of its session:
    when it was, and its call, else the id of its record, where its decoder has put that there, else
    all that it tells."""
    if event.timestamp_source != "record":
        event.identity = None
        return
    told: list[object] = [event.timestamp, event.event_type, event.status, event.attempt]
    call_id = (event.call_id or "").removeprefix(event.trace_id)  # a session's run has its id
    if event.identity is None and not call_id:
        tokens = (event.input_tokens, event.output_tokens)
        if event.event_type in CALLS and tokens == (None, None) and not event.error_message:
            return  # two of them may well be equal
        told += (event.operation, *tokens, event.duration_seconds, event.error_message)
    event.identity = "/".join(map(str, (*told, event.identity or call_id)))
