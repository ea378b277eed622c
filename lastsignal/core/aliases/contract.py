"""What a dialect is: how to recognise its records, and how they become Events.

A decoder never raises anything but `NotThisDialect`, never reads prompts or message bodies for
error words, and answers every record with events or with a named `Drop`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import msgspec

from lastsignal.core.events import Event


class NotThisDialect(Exception):
    """The record does not belong to this dialect: the reader asks the ladder again."""


class Drop(msgspec.Struct, frozen=True):
    """A record of this dialect that yields no event, with the reason that is counted."""

    reason: str
    """lower_snake, from a closed set per dialect: `stream_chunk`, `structural_span`…"""


Decoded = list[Event] | Drop


class Decoder(Protocol):
    """Decodes the records of one source, one after another.

    `state` is a msgspec Struct of bounded collections: all that must survive a restart. A decoder
    keeps nothing anywhere else that a later record depends on.
    """

    @property
    def state(self) -> msgspec.Struct | None:
        """Of the decoder's own type: whoever restores it decodes to `type(decoder.state)`."""
        ...

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events in order of time, or why there are none.

        Raises:
            NotThisDialect: the record is JSON, but not of this dialect.
        """
        ...


@runtime_checkable
class General(Decoder, Protocol):
    """A decoder of a layout that no framework owns: its records may look like anyone's.

    It yields to the layouts that are told by more: whatever kind of record is new in its source is
    offered to them first, and it is not settled on where one of them has taken a record.
    """

    def again(self, record: bytes) -> Decoded:
        """Return what `decode` does, for a record of a kind that `decode` has had.

        Raises:
            NotThisDialect: as `decode` does, and for a kind of record that is new.
        """
        ...


@runtime_checkable
class Wary(General, Protocol):
    """A general decoder that knows a record by as little as one word of it.

    That is enough in a source whose other records are of its layout, and only there.
    """

    def among_others(self, record: bytes, is_mixed: bool) -> Decoded:
        """Return what `decode` does, for a record that no other layout has taken.

        Args:
            record: as `decode` takes it.
            is_mixed: whether other records of the source are of a framework's layout; else no
                other has come yet, or only such as tell nothing by words.

        Raises:
            NotThisDialect: as `decode` does, and where it may as well be another layout's.
        """
        ...


@runtime_checkable
class Exact(General, Protocol):
    """A general decoder whose records are mostly written as its schema says, to the letter.

    Of such a record nothing is left to find out, which saves half of the way.
    """

    @property
    def exact(self) -> Callable[[bytes], Event | None]:
        """What returns the one event of an exact record, judged, and complete but for its place;
        its names and ids are of a length that can be kept.

        None for any other record, and for what is no JSON: `again` is asked then, and does not
        look whether it is exact; from what it reads it may learn to take more records for exact.
        """
        ...


class Extents(msgspec.Struct, frozen=True, array_like=True):
    """What the records of a source, written as things end, tell of whole runs; by trace."""

    whole: frozenset[str] = frozenset()
    """Their outermost record has come."""
    inner: frozenset[str] = frozenset()
    """A record has come that lies within another, which has not."""


@runtime_checkable
class Enclosing(Decoder, Protocol):
    """A decoder of records that name what encloses them, and come before it."""

    def extents(self) -> Extents:
        """Return how much of which trace has come so far."""
        ...


def none_is_exact(record: bytes) -> None:
    """Stand for `Exact.exact` where no record can be exact."""


def every_record(record: bytes) -> bool:
    """Stand for `Dialect.is_named` where there is no other."""
    return True


def holds(*marks: bytes) -> Callable[[bytes], bool]:
    """Return what says whether a record holds one of these marks: keys of ids or of fine times."""

    def is_named(record: bytes) -> bool:
        return any(mark in record for mark in marks)

    return is_named


@dataclass(frozen=True, slots=True)
class Dialect:
    """One layout on disk."""

    name: str
    """lower_snake, e.g. `langchain_events`."""
    framework: str
    """What `Event.framework` says unless a decoder knows better, e.g. `langchain`."""
    recognise: Callable[[Any], bool]
    """Is this decoded JSON value a record of this layout? Cheap; never raises on any JSON."""
    decoder: Callable[[str], Decoder]
    """Makes a decoder for a source's name."""
    disorder_seconds: float = 0.0
    """How far behind the newest time a record of this layout may still come."""
    one_at_a_time: bool = False
    """Whether a source holds one session after another: where one begins, those before are over."""
    is_unique: bool = False
    """Whether an id or a fine time makes each record unlike all others: one that comes again in its
    source, byte for byte, is the same one."""
    is_named: Callable[[bytes], bool] = every_record
    """Of a layout that is unique but for some of its records: whether this one is. Any other is the
    same again where it stands behind a unique record that has come again, as it did before."""
    is_copied: bool = False
    """Whether a session that goes on in another source, be it under another id, begins there with
    copies of its records. Its decoder may give an event the id of its record as `identity`."""
    description: str = ""
    """One line: which files these are and how they are told apart."""
    default_paths: tuple[str, ...] = ()
    """Where the framework writes such files by default, if anywhere."""
    written_by: str = ""
    """What writes such files, where the framework does not by itself."""
