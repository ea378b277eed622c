"""Events as bytes, for another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from lastsignal.core.events import Event, Metadata


class SentEvent(Event, array_like=True, kw_only=True, gc=False):
    """An event that has come from another process."""

    metadata: bytes | Metadata | None = None


_fields_of = attrgetter(*SentEvent.__struct_fields__)
_encode = msgspec.msgpack.Encoder().encode


def send(events: Sequence[Event], more: Any) -> bytes:
    """Return events, and something more that can be packed, as what `receive` takes.

    Raises:
        OverflowError: a record holds an integer that does not fit.
    """
    for event in events:
        if isinstance(event.metadata, msgspec.Raw):  # few ask: it is parsed where one does
            event.metadata = event.unparsed_metadata() or None
    return _encode((more, [_fields_of(event) for event in events]))


def receiver(more: Any) -> Callable[[bytes], tuple[Any, list[Event]]]:
    """Return what gives back what `send` was given, the other thing first: it is of this type."""
    return msgspec.msgpack.Decoder(tuple[more, list[SentEvent]]).decode  # type: ignore[return-value]
