"""Which names and words of flat records mean what: those in use, and what users add to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from lastsignal.core.aliases.fields import amount_of, at, number_of, text_of
from lastsignal.core.aliases.flat_verdict import status_in
from lastsignal.core.aliases.flat_words import (
    ALIASES,
    EVENT_WORDS,
    LIMIT_WORDS,
    RUNNING_TOTALS,
)
from lastsignal.core.events import EventType, Status
from lastsignal.core.timestamps import EARLIEST, LATEST, parse_timestamp

Value = TypeVar("Value")

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = ("prompt_cost", "completion_cost", "input_cost", "output_cost")
"""Who tells the parts of a cost beside it tells what one call has cost."""

Happened = tuple[EventType, Status | None]
"""What happened, and the status that its word itself means."""


@dataclass(frozen=True)
class AliasTable:
    """One set of names and words."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: ALIASES)
    """Field → names, the first that is there wins; dotted ones walk into objects."""
    event_words: Mapping[str, Happened] = field(default_factory=lambda: EVENT_WORDS)
    status_words: Mapping[str, Status] = field(default_factory=dict)
    """Before those that are known anyhow."""
    ticks_per_second: float | None = None
    """Of times that are numbers; None where their size tells."""

    def find(self, record: Mapping[str, Any], name: str) -> Any:
        """Return the first non-empty value among the names of a field."""
        for alias in self.fields[name]:
            value = _value_at(record, alias)
            if value is not None and value != "":
                return value
        return None

    def read(
        self, record: Mapping[str, Any], name: str, convert: Callable[[object], Value | None]
    ) -> Value | None:
        """Return the first value among the names of a field that converts to what it holds."""
        for alias in self.fields[name]:
            value = _value_at(record, alias)
            if value is not None and (converted := convert(value)) is not None:
                return converted
        return None

    def event_type(self, record: Mapping[str, Any]) -> Happened | None:
        """Return what happened, None where no alias names a known event type."""
        words = self.event_words
        for alias in self.fields["event_type"]:
            value = _value_at(record, alias)
            if isinstance(value, str):
                known = words.get(value) or words.get(plain_word(value))
                known = known or words.get(_without_humps(value))
                if known is not None:
                    return known
        return None

    def limit(self, record: Mapping[str, Any]) -> str | None:
        """Return the limit that a record's own word says was met, None where it says none."""
        for alias in self.fields["event_type"]:
            value = _value_at(record, alias)
            limit = LIMIT_WORDS.get(_without_humps(value)) if isinstance(value, str) else None
            if limit is not None:
                return limit
        return None

    def total(self, record: Mapping[str, Any]) -> float | None:
        """Return a cost that may be that of all calls so far, None where it is that of one."""
        for alias in self.fields["cost_usd"]:
            value = amount_of(_value_at(record, alias))
            if value is not None:
                is_split = any(name in record for name in _PARTS)
                return value if alias in RUNNING_TOTALS and not is_split else None
        return None

    def names_something(self, record: Mapping[str, Any]) -> bool:
        """Whether there is a word for what happened, known or not."""
        return any(isinstance(_value_at(record, alias), str) for alias in self.fields["event_type"])

    def status(self, record: Mapping[str, Any]) -> Status | None:
        """Return the status that the record's own word means."""
        value = self.find(record, "status")
        if self.status_words:
            word = str(value).lower() if isinstance(value, bool) else text_of(value)
            if word is not None and word in self.status_words:
                return self.status_words[word]
        return status_in(value)

    def timestamp(self, record: Mapping[str, Any]) -> float | None:
        """Return the record's time in epoch seconds."""
        return self.read(record, "timestamp", self._seconds)

    def _seconds(self, value: object) -> float | None:
        ticks = number_of(value) if self.ticks_per_second else None
        if ticks is None or not self.ticks_per_second:
            return parse_timestamp(value)
        seconds = ticks / self.ticks_per_second
        return seconds if EARLIEST <= seconds <= LATEST else None

    @cached_property
    def mapped(self) -> frozenset[str]:
        """Every name at a record's top level that has a field of its own; one for all files."""
        return frozenset(name for names in self.fields.values() for name in names)


def plain_word(word: str) -> str:
    """Return a word for what happened as the built-in table writes it."""
    return word.strip().lower().replace(".", "_").replace("-", "_").replace(" ", "_")


def _without_humps(word: str) -> str:
    return plain_word(_HUMP.sub("_", word))


def _value_at(record: Mapping[str, Any], alias: str) -> Any:
    value = record.get(alias)
    if value is None and "." in alias:
        steps = _steps(alias)
        return at(record, *steps) if steps[0] in record else None
    return value


@lru_cache(maxsize=1024)
def _steps(alias: str) -> tuple[str, ...]:
    return tuple(alias.split("."))


DEFAULT_TABLE = AliasTable()
