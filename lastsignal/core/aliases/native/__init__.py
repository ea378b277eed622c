"""The published trace schema, decoded straight into Events: the fast path.

A record with exact names and types needs one pass of the decoder, and one over its metadata.
Whatever is not exact (other names, numbers in strings, unknown words) is left to `flat`, which
knows every alias. What is read here says just what `flat` would say of it, but for what an event of
its type cannot have: a call that begins has cost nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastsignal.core.aliases import flat
from lastsignal.core.aliases.contract import Decoded, Dialect, none_is_exact
from lastsignal.core.aliases.flat_table import DEFAULT_TABLE, AliasTable
from lastsignal.core.aliases.native.exact import habitual_reader, read_exact
from lastsignal.core.aliases.native.habits import Habits, Names
from lastsignal.core.aliases.native.record import with_habits
from lastsignal.core.events import EVENT_TYPES, Event

_TRIES = 64
"""Inexact records without anything to learn from them, before a source counts as irregular."""


def recognise(value: Any) -> bool:
    """A JSON object whose event_type is one of ours."""
    return isinstance(value, dict) and value.get("event_type") in EVENT_TYPES


class NativeDecoder:
    """Decodes native records; asks `flat` for the inexact ones, and learns from them.

    What a source does in each of its records (a key of its own, times in ISO 8601) is exact from
    the second one on. That need not be kept over a restart: both ways say the same.
    """

    def __init__(self, source: str, table: AliasTable = DEFAULT_TABLE) -> None:
        self._flat = flat.FlatDecoder(source, table, ours=True)
        self.state = self._flat.state
        self.exact: Callable[[bytes], Event | None] = none_is_exact
        """Returns the event of a record that is; see `contract.Exact`."""
        self._tries = 0
        if (names := Names.of(table)) is not None:
            self.exact = read_exact
            self._habits, self._names, self._tries = Habits(), names, _TRIES

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        event = self.exact(record)
        return self._learn(record, self._flat.decode(record)) if event is None else [event]

    def again(self, record: bytes) -> Decoded:
        """Return the event of a record that is not exact; see `contract.Exact`."""
        return self._learn(record, self._flat.again(record))

    def _learn(self, record: bytes, decoded: Decoded) -> Decoded:
        """Let the next records like this one be exact, if they can be; return what it became."""
        if self._tries > 0:
            habits = self._habits.with_those_of(record, self._names)
            if habits == self._habits:
                self._tries -= 1
            else:
                self._habits, self._tries = habits, _TRIES
                self.exact = habitual_reader(with_habits(habits))
        return decoded


DIALECT = Dialect(
    name="native",
    framework="native",
    recognise=recognise,
    decoder=NativeDecoder,
    description="Last Signal's own trace schema: one object a line with event_type and trace_id",
    written_by="agents that log for Last Signal, or in its schema",
)
