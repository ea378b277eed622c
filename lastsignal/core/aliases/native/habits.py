"""What a source writes beside the exact names, in every record: learnt from it, then exact too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec

from lastsignal.core.aliases.flat_table import DEFAULT_TABLE, AliasTable
from lastsignal.core.aliases.flat_words import ALIASES
from lastsignal.core.events import EVENT_TYPES, PUBLISHED_NAMES
from lastsignal.core.timestamps import EARLIEST, LATEST

MAX_LEARNT = 32
"""Names of a source; who writes ever new ones is left to `flat`."""
_MAX_NAME = 100

_TOLD = frozenset({"event_type", "timestamp", "trace_id", "operation"})
"""What a record says by its exact name: another one, `tool` or `session_id`, is not asked then."""

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True)
class Names:
    """What the names of a table mean to a record whose exact names have spoken."""

    mapped: frozenset[str]
    """Those that have a field of their own: no metadata."""
    asked: frozenset[str]
    """Those that may say something all the same."""
    stand_ins: frozenset[tuple[str, str]]
    """(name, field) of those that are asked where the exact name of a field is missing."""

    @classmethod
    def of(cls, table: AliasTable) -> Names | None:
        """Return what a table's names mean; None where they make exact records inexact."""
        if not _means_the_same(table):
            return None
        asked, stand_ins = set[str](), set[tuple[str, str]]()
        for field, paths in table.fields.items():
            at = paths.index(field) if field in _TOLD else len(paths)
            asked.update(name for path in paths[:at] for name in _names_in(path))
            stand_ins.update((name, field) for path in paths[at:] for name in _names_in(path))
        return cls(table.mapped, frozenset(asked), frozenset(stand_ins))


@dataclass(frozen=True)
class Habits:
    """What a source has been seen to write."""

    noted: frozenset[str] = frozenset()
    """Names of its own: they are metadata."""
    beside: frozenset[str] = frozenset()
    """Other names for what the exact ones say."""
    empty: frozenset[str] = frozenset()
    """Names that mean something, and were null."""
    may_stand_in: frozenset[str] = frozenset()
    """Fields for which some of these names are asked where the exact one is missing."""
    any_time: bool = False
    """Whether times are written in another way than as seconds."""

    def with_those_of(self, record: bytes, names: Names) -> Habits:
        """Return these and the habits of a record that was not exact; itself if it has none."""
        try:
            value = _decode(record)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self
        return self._with(value, names) if isinstance(value, dict) else self

    def _with(self, record: dict[str, Any], names: Names) -> Habits:
        noted, beside, empty = set(self.noted), set(self.beside), set(self.empty)
        for name, value in record.items():
            if name in PUBLISHED_NAMES or len(name) > _MAX_NAME or name.startswith("("):
                continue  # in brackets stands what a record cannot say: see `ExactRecord`
            if name not in names.asked:
                (beside if name in names.mapped else noted).add(name)
            elif value is None:
                empty.add(name)
        if len(noted | beside | empty) > MAX_LEARNT:
            return self
        return replace(
            self,
            noted=frozenset(noted),
            beside=frozenset(beside),
            empty=frozenset(empty),
            may_stand_in=frozenset(
                field for name, field in names.stand_ins if name in noted or name in beside
            ),
            any_time=self.any_time or not _is_seconds(record.get("timestamp")),
        )


def _names_in(path: str) -> tuple[str, str]:
    return path, path.split(".")[0]  # a name may hold a dot itself


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and EARLIEST <= value <= LATEST


def _means_the_same(table: AliasTable) -> bool:
    """Whether the names and words of exact records mean in this table what they mean in ours."""
    if table is DEFAULT_TABLE:
        return True
    for name, paths in table.fields.items():
        here = [path for path in paths if path.split(".")[0] in PUBLISHED_NAMES]
        if here != [path for path in ALIASES[name] if path.split(".")[0] in PUBLISHED_NAMES]:
            return False
    words = DEFAULT_TABLE.event_words
    return all(table.event_words[kind] == words[kind] for kind in EVENT_TYPES)
