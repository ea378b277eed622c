"""Names and ids of a megabyte, which a hostile or broken trace may hold: cut, and still distinct.

They are kept in the state of rules and in incidents: what the line of evidence shows in full anyway
must not fill the memory.
"""

from __future__ import annotations

from hashlib import blake2b

from lastsignal.core.events import Event

MAX_NAME = 300
"""Characters of a name or an id."""
LONG_RECORD = 1000
"""Bytes below which no record is worth looking at."""

_NAMES = (
    "trace_id",
    "operation",
    "agent",
    "call_id",
    "parent_id",
    "error_type",
    "model",
    "finish_reason",
)


def shorten_names(event: Event) -> None:
    """Cut the names and ids of an event that are too long; equal ones stay equal, others differ."""
    for field in _NAMES:
        name = getattr(event, field)
        if name is not None and len(name) > MAX_NAME:
            setattr(event, field, shortened(name))


def shortened(name: str) -> str:
    """Return a name of `MAX_NAME` characters at most that stands for a longer one."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name[: MAX_NAME - len(digest) - 1]}…{digest}"
