"""What framing gives: records, and what is known of those that had been wrapped."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

Record = tuple[bytes, int, int]
"""(bytes, byte offset, 1-based line) of one record."""


class ProgramLine(NamedTuple):
    """What a program wrote, as one line of a log holds it: a line, or a part of one."""

    wrapper: str
    """By what name `wrappers.WRAPPERS` has who wrapped it."""
    stream: str
    """What parts are put together within: lines of other streams may stand between them."""
    text: bytes | None
    """With a newline where it ends the program's line; None where it was left out."""
    written: Any
    """The wrapper's own time, as it stands there."""
    start: int | None = None
    """Where in the log's line the text stands byte by byte; None where it is escaped."""


class Unwrapped(Record):
    """A record that came out of a wrapped line: it begins in the line at its offset."""

    ended_by: ProgramLine
    """The last piece of it that came."""
    stands_so: bool
    """Whether its bytes stand so in the source, from its offset on."""

    def __new__(cls, record: Record, line: ProgramLine, stands_so: bool) -> Self:
        """Return the record with the piece that has ended it."""
        made = tuple.__new__(cls, record)
        made.ended_by, made.stands_so = line, stands_so
        return made
