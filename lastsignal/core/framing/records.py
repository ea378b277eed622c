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

    wrapper: str
    written: Any
    """The time of the wrapper's line that ends it, as it stands there."""
    stands_so: bool
    """Whether its bytes stand so in the source, from its offset on."""

    def __new__(cls, record: Record, line: ProgramLine, *, stands_so: bool) -> Self:
        """Return the record with what the line tells of it."""
        made = super().__new__(cls, record)
        made.wrapper, made.written, made.stands_so = line.wrapper, line.written, stands_so
        return made
