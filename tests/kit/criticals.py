"""What alarms records raise, asked so quickly that it can be asked of thousands of mutations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
from kit.mutations import Path, changed, encode

from lastsignal.app import diagnoses
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.rules import Rule
from lastsignal.edges.rulefiles import load_rules


@cache
def critical_rules() -> tuple[Rule, ...]:
    """Return the rules that may be critical: a severity is only ever lowered."""
    return tuple(rule for rule in load_rules() if rule.text.severity == "critical")


def events_of(records: Sequence[bytes]) -> list[Event]:
    """Return what the alias layer makes of the records of one source."""
    reader = Reader("mutated.jsonl", LADDER, 0.0)
    told = reader.read((record, 0, line) for line, record in enumerate(records, 1))
    return [*told, *reader.finish()]


def critical_findings(events: Iterable[Event]) -> list[str]:
    """Return the rules of all critical findings."""
    engine = Engine(critical_rules())
    engine.feed(events)
    engine.finish()
    found = [finding for trace in diagnoses(engine) for finding in trace.findings()]
    return [one.rule for one in found if one.severity == "critical"]


def mutated(records: Sequence[bytes], index: int, path: Path, new: Any) -> list[bytes]:
    """Return the records with one value of one of them changed, or added."""
    value = msgspec.json.decode(records[index])
    return [*records[:index], encode(changed(value, path, new)), *records[index + 1 :]]


def alarms_of(
    records: Sequence[bytes], mutations: Iterable[tuple[int, Path, Any]]
) -> Iterator[tuple[int, Path, Any, list[str]]]:
    """Yield each mutation (record, path, value) that makes healthy records give a critical."""
    judged: dict[str, list[str]] = {repr(events_of(records)): []}
    for index, path, new in mutations:
        events = events_of(mutated(records, index, path, new))
        told = repr(events)
        if told not in judged:  # most of what changes in a record tells of nothing
            judged[told] = critical_findings(events)
        if judged[told]:
            yield index, path, new, judged[told]
