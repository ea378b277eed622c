"""What goes wrong on the way, as values: whoever listens decides on log and metric."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple


class TroubleKind(Enum):
    """A closed set, fit for a metric's label."""

    UNREADABLE = "unreadable"
    """A file or folder cannot be opened or read; tried again at every scan."""
    CORRUPT = "corrupt"
    """Compressed content that does not decompress: what stands before the fault is delivered."""
    TRUNCATED = "truncated"
    """Content was cut away, and no copy of it was found; bytes may be lost."""
    LOST = "lost"
    """A file with a checkpoint is nowhere to be found; bytes may be lost."""
    DELETED_DROPPED = "deleted_dropped"
    """Too many deleted files were held open: the oldest was closed, its unread bytes are lost."""
    OPEN_LIMIT = "open_limit"
    """More files have unread bytes than may be open: what is deleted before its turn is lost."""
    NO_NOTIFICATION = "no_notification"
    """The system does not tell of changes: polling instead."""
    UNDRAINED = "undrained"
    """The time to drain was over before the last byte."""


class Trouble(NamedTuple):
    """One thing that went wrong."""

    kind: TroubleKind
    path: str
    detail: str


OnTrouble = Callable[[Trouble], None]


def ignore_trouble(trouble: Trouble) -> None:
    """Tell nobody."""
