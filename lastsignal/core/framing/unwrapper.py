"""The lines of a source that somebody may have wrapped → records of what programs wrote."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from lastsignal.core.framing.checkpoint import Checkpoint
from lastsignal.core.framing.cutter import Cutter
from lastsignal.core.framing.grammar import BRACE
from lastsignal.core.framing.programs import Programs
from lastsignal.core.framing.wrappers import is_told, read_cri, read_wrapped

_MAX_PLAIN_OBJECTS = 64
"""A source whose first objects nobody has wrapped holds none that are: to look costs each line."""


class Unwrapper(Cutter):
    """Cuts a source as `Cutter` does, and what programs wrote out of the lines that wrap it."""

    def __init__(self, limit: int, resume: Checkpoint) -> None:
        super().__init__(limit, resume)
        self._wrapper = resume.wrapper
        self._plain_objects = resume.plain_objects
        self._programs = Programs(limit, self.skips, partial(Cutter, limit), resume.streams)

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the rest of their record."""
        return super().buffered_bytes + self._programs.buffered_bytes

    def held_at(self, offset: int) -> bytes:
        """Return what a program wrote that waits for its end and begins in the line there."""
        return self._programs.held_at(offset)

    def checkpoint(self) -> Checkpoint:
        """Return where another one can go on: before the bytes that wait for their end."""
        return replace(
            super().checkpoint(),
            wrapper=self._wrapper,
            plain_objects=self._plain_objects,
            streams=self._programs.save(),
        )

    def finish(self) -> None:
        """Use what waits for its end: none will come."""
        super().finish()
        self.records += self._programs.finish()

    def take_whole_tail(self) -> None:
        """Use what waits for the end of its line if it is one whole object."""
        super().take_whole_tail()
        self.records += self._programs.take_whole_tails()

    def _takes_objects_as_they_are(self) -> bool:
        return not self._looks_at_objects and super()._takes_objects_as_they_are()

    @property
    def _looks_at_objects(self) -> bool:
        return self._plain_objects < _MAX_PLAIN_OBJECTS

    def _take_dated_line(self, piece: bytes, base: int) -> bool:
        line = read_cri(piece)
        if line is None:
            return False
        self.records += self._programs.take(line, base, self._line)
        return True

    def _emit(self, data: bytes, offset: int, line: int) -> None:
        is_looked_at = self._looks_at_objects and data[0] == BRACE
        if not (is_looked_at and self._unwrap(data, offset, line)):
            super()._emit(data, offset, line)

    def _unwrap(self, data: bytes, offset: int, line: int) -> bool:
        """Take what a program wrote out of an object that wraps it; False for any other."""
        found = read_wrapped(data, self._wrapper)
        if found is None:
            self._plain_objects += not self._wrapper
            return False
        if not is_told(found, self._wrapper):
            return False
        self._wrapper, self._plain_objects = found.wrapper, 0
        self.records += self._programs.take(found, offset, line)
        return True
