"""What programs wrote, put together again out of the lines in which it was wrapped.

Each stream of a program is cut into records as if it stood in a file of its own: a line may come in
parts, a value over many lines, and lines of other streams may stand between them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from hashlib import blake2b
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from lastsignal.core.framing.checkpoint import Checkpoint, Place, SavedStream
from lastsignal.core.framing.cutter import Cutter
from lastsignal.core.framing.grammar import BRACE
from lastsignal.core.framing.records import ProgramLine, Record, Unwrapped
from lastsignal.core.framing.skips import Skips
from lastsignal.core.framing.wrappers import MAX_PLAIN_OBJECTS, is_told, read_wrapped

_MAX_STREAMS = 64  # that hold something at once; beyond, the one that began first is given up
_MAX_PLACES = 64  # of what one stream holds; a record may begin in its first two and its last
_MAX_NAME = 1000  # characters of a stream's name that are kept: many streams may be open
_MAX_TIME = 64  # characters of a time as it is written

_start_of = attrgetter("start")

_ELSEWHERE = 0
"""The line of what began in another source: it has its place where it goes on."""
_NOWHERE = 2**63
"""An offset that no source reaches."""
_NO_LINE = ProgramLine("", "", b"", None)

MakeCutter = Callable[[Checkpoint, Skips], Cutter]


class Programs:
    """The streams of one source's programs, as far as they hold something.

    Args:
        limit: bytes of a record; all streams together hold no more than two such.
        skips: where to count what cannot be used.
        make: makes the cutter of a stream.
        resume: what an earlier one held by stream, and how what it took was wrapped itself.
        may_nest: whether what a program wrote may be wrapped itself.
    """

    def __init__(
        self, limit: int, skips: Skips, make: MakeCutter, resume: Checkpoint, *, may_nest: bool
    ) -> None:
        self._limit = limit
        self._skips = skips
        self._make = make
        self._may_nest = may_nest
        self._open = {
            key: _Stream(skips, make, stream.within, stream)
            for key, stream in resume.streams.items()
        }
        self.within = resume.within or Checkpoint()
        """How what programs wrote is wrapped itself, as far as that was found; no place."""

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the rest of their record."""
        return sum(stream.cutter.buffered_bytes for stream in self._open.values())

    def save(self) -> dict[str, SavedStream]:
        """Return what another one goes on with."""
        return {key: stream.save() for key, stream in self._open.items()}

    def hand_over(self) -> dict[str, SavedStream]:
        """Give away what is held, for a source in which nothing of it has a place."""
        given = {}
        for key, saved in self.save().items():
            elsewhere = Place(saved.places[0].start, 0, _ELSEWHERE, False)
            given[key] = replace(saved, places=[elsewhere])
        self._open.clear()
        return given

    @property
    def is_at_rest(self) -> bool:
        """Whether no stream holds anything."""
        return not self._open

    @property
    def held_from(self) -> int:
        """Where the first line begins of which a stream still holds something."""
        return min((stream.begins_from for stream in self._open.values()), default=_NOWHERE)

    @property
    def innermost(self) -> bytes:
        """What waits for its end in the stream that began first."""
        return next((stream.cutter.innermost for stream in self._open.values()), b"")

    def held_at(self, offset: int) -> bytes:
        """Return what waits for its end and begins in the line at an offset."""
        held = (one.cutter.innermost for one in self._open.values() if one.begins_at(offset))
        return next(held, b"")

    def holds(self, line: ProgramLine) -> bool:
        """Tell whether a line may go on with what its stream holds."""
        return _key(line) in self._open

    def take(self, line: ProgramLine, offset: int, number: int) -> list[Record]:
        """Return the records that a line of the log completes.

        Args:
            line: what it holds.
            offset: of its first byte.
            number: of the line.
        """
        text, is_exact = line.text, line.start is not None
        place = offset + (line.start or 0)
        if text is None:
            self._skips.add("message_left_out", number, offset, b"")
        if not text:
            return []
        key = _key(line)
        stream = self._open.get(key)
        if stream is None:
            is_one = text[0] == BRACE and text[-2:] == b"}\n"
            if is_one and text.find(b"\n") == len(text) - 1 and not self._is_nested(text[:-1]):
                return [Unwrapped((text[:-1], place, number), line, is_exact)]
            stream = self._open[key] = _Stream(self._skips, self._make, self.within)
        records = stream.take(line, text, place, number)
        if text.endswith(b"\n") and stream.cutter.is_at_rest:
            self.within = stream.cutter.manner()
            del self._open[key]
        else:
            records += self._give_up()
        return records

    def _is_nested(self, text: bytes) -> bool:
        """Tell whether an object that a program wrote wraps what another one has written."""
        within = self.within
        if not self._may_nest or within.plain_objects >= MAX_PLAIN_OBJECTS:
            return False
        line = read_wrapped(text, within.wrapper)
        if line is not None and is_told(line, within.wrapper):
            return True
        if not within.wrapper:
            self.within = replace(within, plain_objects=within.plain_objects + 1)
        return False

    def take_whole_tails(self) -> list[Record]:
        """Return the objects that lack only the end of their line."""
        records = []
        for stream in self._open.values():
            stream.cutter.take_whole_tail()
            records += stream.drain()
        return records

    def finish(self) -> list[Record]:
        """Return the records that the source's end completes."""
        records = []
        while self._open:
            records += self._finish_first()
        return records

    def _give_up(self) -> list[Record]:
        records = []
        while len(self._open) > _MAX_STREAMS or self.buffered_bytes > 2 * self._limit:
            records += self._finish_first()
        return records

    def _finish_first(self) -> list[Record]:
        stream = self._open.pop(next(iter(self._open)))
        stream.cutter.finish()
        return stream.drain()


def _key(line: ProgramLine) -> str:
    return line.wrapper + _name(line.stream)


def _name(stream: str) -> str:
    if len(stream) <= _MAX_NAME:
        return stream
    return blake2b(stream.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _kept_time(written: Any) -> str | int | float | None:
    """Return a time as a wrapper wrote it; None where it is none, however much stands there."""
    is_short = isinstance(written, int | float) or (
        isinstance(written, str) and len(written) <= _MAX_TIME
    )
    return written if is_short else None


class _Stream:
    """One stream of a program, and where in the source its pieces stand."""

    def __init__(
        self,
        skips: Skips,
        make: MakeCutter,
        within: Checkpoint,
        saved: SavedStream | None = None,
    ) -> None:
        self._places = list(saved.places) if saved else []
        self._line = ProgramLine(saved.wrapper, "", b"", saved.written) if saved else _NO_LINE
        self.cutter = make(within, _PlacedSkips(skips, self._place_of))
        if saved:
            self.cutter.cut(saved.held)

    def save(self) -> SavedStream:
        within, held, line = self.cutter.checkpoint(), self.cutter.held, self._line
        return SavedStream(within, held, self._places.copy(), line.wrapper, line.written)

    @property
    def begins_from(self) -> int:
        """The offset of the first line of which it holds something."""
        return self._places[0].offset

    def begins_at(self, offset: int) -> bool:
        return self.begins_from == offset

    def take(self, line: ProgramLine, text: bytes, offset: int, number: int) -> list[Record]:
        cutter, places = self.cutter, self._places
        kept_time = _kept_time(line.written)
        self._line = line._replace(stream=_name(line.stream), text=None, written=kept_time)
        if places and places[0].line == _ELSEWHERE:
            places[0] = Place(places[0].start, offset, number, False)
        places.append(Place(cutter.position, offset, number, line.start is not None))
        cutter.cut(text)
        records = self.drain()
        first = bisect_right(places, cutter.held_from, key=_start_of) - 1
        del places[: max(first, 0)]
        if len(places) > _MAX_PLACES:
            del places[-2]
        return records

    def drain(self) -> list[Record]:
        records, self.cutter.records = self.cutter.records, []
        return [self._unwrapped(record) for record in records]

    def _unwrapped(self, record: Record) -> Record:
        data, start, _ = record
        offset, line = self._place_of(start)
        index = bisect_right(self._places, start, key=_start_of)
        ends_here = index == len(self._places) or start + len(data) <= self._places[index].start
        stands_so = ends_here and self._places[index - 1].stands_so
        if not isinstance(record, Unwrapped):
            return Unwrapped((data, offset, line), self._line, stands_so)
        ended_by = record.ended_by
        if ended_by.written is None:
            ended_by = ended_by._replace(written=self._line.written)
        return Unwrapped((data, offset, line), ended_by, stands_so and record.stands_so)

    def _place_of(self, start: int) -> tuple[int, int]:
        """Return offset and line of what stands at a byte of the stream."""
        place = self._places[max(0, bisect_right(self._places, start, key=_start_of) - 1)]
        offset = place.offset + (start - place.start if place.stands_so else 0)
        return offset, max(place.line, 1)


class _PlacedSkips(Skips):
    """Counts what a stream's cutter cannot use where it stands in the source."""

    def __init__(self, skips: Skips, place_of: Callable[[int], tuple[int, int]]) -> None:
        super().__init__()
        self._skips = skips
        self._place_of = place_of

    def add(self, reason: str, line: int, offset: int, data: bytes) -> None:
        """Count one piece."""
        offset, line = self._place_of(offset)
        self._skips.add(reason, line, offset, data)
