"""What time it is in a source: by its records, by who wrapped their lines, or by none of these."""

from __future__ import annotations

from collections.abc import Callable

from lastsignal.core.events import Event
from lastsignal.core.framing.records import Record, Unwrapped
from lastsignal.core.timestamps import UNREADABLE, parse_timestamp

AHEAD_SECONDS = 86_400.0
"""How far ahead of the world, and of the records before it, a record's time counts as damage: one
such record would make every call in its file look as if it had hung. Zones and clocks differ by
less."""
LEAST_ZONE = 1800.0
"""Seconds by which the clocks of two zones differ at least."""
_FOR_EVER = float("inf")


class SourceClock:
    """Gives each event of one source the time that it has, or else the best that is known.

    Args:
        ingest_time: epoch seconds given to events of a source that never shows a time.
        mend: told of each time that cannot be: the reason, and the line.
    """

    def __init__(self, ingest_time: float, mend: Callable[[str, int], None]) -> None:
        self.highest = 0.0
        """Of the times seen; 0.0 before the first."""
        self.now = _FOR_EVER
        """Epoch seconds, as far as the caller knows."""
        self.lent = 0.0
        """The last time that was taken from who wrapped a line; -1.0 where he lives in another
        zone."""
        self.ingest_time = ingest_time
        self._mend = mend
        self._damaged = -1  # the offset of the latest record with a time that cannot be

    @property
    def latest(self) -> float:
        """The time up to which a record is believed whatever came before it."""
        return self.now + AHEAD_SECONDS

    def take(self, event: Event, record: Record, front: float) -> None:
        """Settle an event's time.

        Args:
            event: NaN stands for the time of a record that carries none.
            record: what it was read from.
            front: the earliest time among the events before it that are held; 0.0 without any.
        """
        timestamp = event.timestamp
        if timestamp > self.highest:
            is_near = timestamp <= self.latest
            self.highest = timestamp if is_near else self.leap(event, self.highest, record[1])
        elif timestamp != timestamp:
            if timestamp is UNREADABLE or event.timestamp_source != "record":
                self._note_damage(event, record[1])
            self._lend(event, record, front)
        elif timestamp < self.lent - LEAST_ZONE:
            self.highest = self.turn_back(timestamp)

    def leap(self, event: Event, highest: float, offset: int | None = None) -> float:
        """Take the time of an event that lies far after `now`, or not; return the highest time.

        Args:
            event: the one.
            highest: time of those before.
            offset: of its record, where that is not its own.
        """
        if not _leaps(event.timestamp, highest):
            return event.timestamp  # the world's clock is behind, not the record's ahead
        self._note_damage(event, event.offset if offset is None else offset)
        self._inherit(event, highest)
        return highest

    def _note_damage(self, event: Event, offset: int) -> None:
        """Count a record once, however many events it gave."""
        if offset != self._damaged:
            self._damaged = offset
            self._mend("unusable_time", event.line)

    def turn_back(self, timestamp: float) -> float:
        """Return the clock of a program that lives in another zone than who wraps its lines."""
        self.lent = -1.0
        return timestamp

    def _lend(self, event: Event, record: Record, front: float) -> None:
        """Give an event the time at which its line was wrapped, else that of what came before."""
        time = self._lent_by(record)
        if time is None or (time > self.latest and _leaps(time, self.highest)):
            self._inherit(event, front or self.highest)
            return
        event.timestamp, event.timestamp_source = time, "wrapper"
        self.lent = self.highest = time

    def _lent_by(self, record: Record) -> float | None:
        """Return when a record's line was wrapped; None where it says nothing.

        Who wraps lines may live in another zone than a program that writes local times: beside
        times of the program's own his count only where the two clocks agree.
        """
        if not isinstance(record, Unwrapped):
            return None
        time, highest = parse_timestamp(record.ended_by.written), self.highest
        if time is None or not (highest in (0.0, self.lent) or 0.0 <= time - highest < LEAST_ZONE):
            return None
        return max(time, highest)  # the lines of two streams may pass each other

    def _inherit(self, event: Event, time: float) -> None:
        if time:
            event.timestamp, event.timestamp_source = time, "inherited"
        else:
            event.timestamp, event.timestamp_source = self.ingest_time, "ingest"


def _leaps(time: float, highest: float) -> bool:
    return highest > 0.0 and time - highest > AHEAD_SECONDS
