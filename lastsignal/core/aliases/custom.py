"""Names and layouts that a configuration adds, and the ladder that knows them.

    [aliases.fields]                 our field = the names that your records use
    [aliases.events]                 your word for what happened = an event type of ours
    [[aliases.dialects]]             a whole layout of flat records: how it is told, what is where

Nothing in them is run: names, words and paths into objects are all that there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from lastsignal.core.aliases import flat, native
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import at
from lastsignal.core.aliases.flat_table import DEFAULT_TABLE, AliasTable, Happened
from lastsignal.core.events import Status

Scalar = str | int | float | bool

ANY_WORD = "*"
"""The word that stands for every record of a layout whose own word is not known."""

_decode = msgspec.json.Decoder().decode
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Layout:
    """One of a user's own dialects."""

    name: str
    keys: tuple[str, ...] = ()
    """Paths that a record of this layout has."""
    equals: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    """Path → what may stand there."""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    events: Mapping[str, Happened] = field(default_factory=dict)
    statuses: Mapping[str, Status] = field(default_factory=dict)
    ticks_per_second: float | None = None
    framework: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class UserAliases:
    """All that a configuration adds."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    events: Mapping[str, Happened] = field(default_factory=dict)
    layouts: tuple[Layout, ...] = ()


def extended(ladder: tuple[Dialect, ...], aliases: UserAliases) -> tuple[Dialect, ...]:
    """Return the ladder with a user's layouts at its top: they know their files best.

    Their names and words for flat records come before the built-in ones.
    """
    table = _table(DEFAULT_TABLE, aliases.fields, aliases.events)
    layouts = tuple(_dialect_of(layout, table) for layout in aliases.layouts)
    if table is DEFAULT_TABLE:
        return layouts + ladder
    general = {
        native.DIALECT.name: replace(
            native.DIALECT, decoder=lambda source: native.NativeDecoder(source, table)
        ),
        flat.DIALECT.name: replace(
            flat.DIALECT,
            recognise=flat.recogniser(table),
            decoder=lambda source: flat.FlatDecoder(source, table),
        ),
    }
    return layouts + tuple(general.get(dialect.name, dialect) for dialect in ladder)


def _table(
    base: AliasTable, fields: Mapping[str, tuple[str, ...]], events: Mapping[str, Happened]
) -> AliasTable:
    if not fields and not events:
        return base
    # A name that a user gives to one field is no longer a name of any other.
    given = {name for names in fields.values() for name in names}
    rest = {
        name: tuple(one for one in names if one not in given) for name, names in base.fields.items()
    }
    return replace(
        base,
        fields={name: (*fields.get(name, ()), *names) for name, names in rest.items()},
        event_words={**base.event_words, **events},
    )


class LayoutDecoder:
    """Decodes the records of a user's own layout."""

    def __init__(self, source: str, recognise: Callable[[Any], bool], table: AliasTable) -> None:
        self._recognise = recognise
        self._table = table
        self._otherwise = table.event_words.get(ANY_WORD)
        self._flat = flat.FlatDecoder(source, table)
        self.state = self._flat.state

    def decode(self, record: bytes) -> Decoded:
        """Return the record's event; see `contract.Decoder`."""
        value = _decode(record)
        if not self._recognise(value):
            raise NotThisDialect
        happened = self._table.event_type(value) or self._otherwise
        if happened is not None:
            return self._flat.tell(value, happened)
        return Drop("unknown_event" if self._table.names_something(value) else "names_no_event")


def _dialect_of(layout: Layout, base: AliasTable) -> Dialect:
    table = replace(
        _table(base, layout.fields, layout.events),
        status_words=layout.statuses,
        ticks_per_second=layout.ticks_per_second,
    )
    recognise = _recogniser(layout)
    return Dialect(
        name=layout.name,
        framework=layout.framework or layout.name,
        recognise=recognise,
        decoder=lambda source: LayoutDecoder(source, recognise, table),
        description=layout.description or f"Yours: {_told_by(layout)}",
    )


def _recogniser(layout: Layout) -> Callable[[Any], bool]:
    paths = [(path, tuple(path.split("."))) for path in layout.keys]
    wanted = [(path, tuple(path.split(".")), values) for path, values in layout.equals.items()]

    def recognise(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        return all(path in value or at(value, *steps) is not None for path, steps in paths) and all(
            _is_one_of(value, path, steps, values) for path, steps, values in wanted
        )

    return recognise


def _is_one_of(
    record: dict[str, Any], path: str, steps: tuple[str, ...], values: tuple[Scalar, ...]
) -> bool:
    found = record.get(path, _ABSENT)
    if found is _ABSENT:
        found = at(record, *steps)
    return any(
        found == value and isinstance(found, bool) is isinstance(value, bool) for value in values
    )


def _told_by(layout: Layout) -> str:
    parts = [f"has {', '.join(layout.keys)}"] if layout.keys else []
    parts += [
        f"{path} is {' or '.join(map(str, values))}" for path, values in layout.equals.items()
    ]
    return "; ".join(parts)
