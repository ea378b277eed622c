"""The lines of a source that somebody may have wrapped → records of what programs wrote."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from lastsignal.core.framing.checkpoint import Checkpoint
from lastsignal.core.framing.cutter import Cutter
from lastsignal.core.framing.programs import MakeCutter, Programs
from lastsignal.core.framing.records import ProgramLine, Record, Unwrapped
from lastsignal.core.framing.skips import Skips
from lastsignal.core.framing.wrappers import (
    MAX_DEPTH,
    MAX_PLAIN_OBJECTS,
    is_told,
    is_whole,
    read_cri,
    read_prefix,
    read_wrapped,
)

_DIGITS = b"0123456789"


class Unwrapper(Cutter):
    """Cuts a source as `Cutter` does, and what programs wrote out of the lines that wrap it.

    Args:
        limit: bytes of a record.
        resume: where an earlier one stood.
        skips: where to count what cannot be used; one of its own by default.
        depth: how many wrappers there may be, one within the other.
    """

    def __init__(
        self,
        limit: int,
        resume: Checkpoint,
        skips: Skips | None = None,
        depth: int = MAX_DEPTH,
    ) -> None:
        super().__init__(limit, resume, skips)
        self._wrapper = resume.wrapper
        self._plain_objects = resume.plain_objects
        self._ends_lines = resume.ends_lines
        make: MakeCutter = partial(Cutter, limit)
        if depth > 1:
            make = partial(Unwrapper, limit, depth=depth - 1)
        self._programs = Programs(limit, self.skips, make, resume, may_nest=depth > 1)

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the rest of their record."""
        return super().buffered_bytes + self._programs.buffered_bytes

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is held that a later line could go on with."""
        return super().is_at_rest and self._programs.is_at_rest

    @property
    def held_from(self) -> int:
        """Where what waits for its end begins."""
        return min(super().held_from, self._programs.held_from)

    @property
    def innermost(self) -> bytes:
        """What waits for its end, as whoever wrote it first has written it."""
        return self.held or self._programs.innermost

    def manner(self) -> Checkpoint:
        """Return how its lines are wrapped, as far as that was found; no place."""
        return Checkpoint(
            wrapper=self._wrapper,
            plain_objects=self._plain_objects,
            ends_lines=self._ends_lines,
            within=self._programs.within,
        )

    def hand_over(self) -> Checkpoint | None:
        """Give away what the streams of programs hold; None where a line of its own has not ended,
        or they hold nothing."""
        if not self.is_between_lines or self._programs.is_at_rest:
            return None
        return replace(self.manner(), streams=self._programs.hand_over())

    def held_at(self, offset: int) -> bytes:
        """Return what a program wrote that waits for its end and begins in the line there."""
        return self._programs.held_at(offset)

    def checkpoint(self) -> Checkpoint:
        """Return where another one can go on: before the bytes that wait for their end."""
        return replace(
            super().checkpoint(),
            wrapper=self._wrapper,
            plain_objects=self._plain_objects,
            ends_lines=self._ends_lines,
            streams=self._programs.save(),
            within=self._programs.within,
        )

    def finish(self) -> None:
        """Use what waits for its end: none will come."""
        super().finish()
        self.records += self._programs.finish()

    def take_whole_tail(self) -> None:
        """Use what waits for the end of its line if it is one whole object."""
        super().take_whole_tail()
        self.records += self._programs.take_whole_tails()

    def _taker_of_objects(self) -> Callable[[Record], None]:
        return self._take_object if self._looks_at_objects else self.records.append

    @property
    def _looks_at_objects(self) -> bool:
        return self._plain_objects < MAX_PLAIN_OBJECTS

    def _is_taken_as_dated(self, piece: bytes, base: int, line: int) -> bool:
        found = read_cri(piece) if piece[0] in _DIGITS else None
        if found is None:
            return False
        self.records += self._programs.take(found, base, line)
        return True

    def _pass_text(self, piece: bytes, start: int, base: int) -> int:
        known = len(self.records)
        end = super()._pass_text(piece, start, base)
        if len(self.records) > known:
            record = self.records[-1]
            line = read_prefix(piece[start : record[1] - base])
            if line is not None and not isinstance(record, Unwrapped):
                self.records[-1] = Unwrapped(record, line, stands_so=True)
        return end

    def _take_object(self, record: Record) -> None:
        """Take what a program wrote out of an object that wraps it; any other is a record."""
        data, offset, number = record
        line = read_wrapped(data, self._wrapper) if self._looks_at_objects else None
        if line is None:
            self._plain_objects += not self._wrapper
        elif is_told(line, self._wrapper):
            self._wrapper, self._plain_objects = line.wrapper, 0
            if not self._ends_lines:
                line = self._with_its_end(line)
            self.records += self._programs.take(line, offset, number)
            return
        self.records.append(record)

    def _with_its_end(self, line: ProgramLine) -> ProgramLine:
        """End a line whose newline a shipper has taken away, as from all before it."""
        text = line.text or b""
        self._ends_lines = text.endswith(b"\n")
        if self._ends_lines or self._programs.holds(line) or not is_whole(line):
            return line
        return line._replace(text=text + b"\n")
