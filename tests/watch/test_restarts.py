"""What is written of traces that changed is all that a restart needs."""

from __future__ import annotations

import random

import pytest
from watch.harness import trace_lines

from lastsignal.core.aliases.reader import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer
from lastsignal.core.incidents import IncidentBook, IncidentPolicy
from lastsignal.core.rules import Rule
from lastsignal.edges.rulefiles import load_rules
from lastsignal.edges.store import Saved
from lastsignal.watch.analysis import Analysis

NOW = 1_800_000_000.0


def events_of(lines: int, seed: int) -> list[Event]:
    framer, reader = Framer(), Reader("trace.jsonl", LADDER, ingest_time=0.0)
    records = framer.feed(b"".join(trace_lines(lines, seed, runs=40)))
    return [*reader.read(records), *reader.finish()]


def found_in(analysis: Analysis) -> list[tuple[str, str, int, float, float]]:
    return sorted(
        (one.rule, one.trace_id, one.count, one.first_seen, one.last_seen)
        for one in analysis.book.incidents.values()
    )


def new_analysis(rules: list[Rule]) -> Analysis:
    return Analysis(rules, IncidentBook(IncidentPolicy()), max_traces=1000)


@pytest.mark.parametrize("seed", range(2))
def test_restarts_from_what_changed_lose_no_wait(seed: int) -> None:
    rules, chance = list(load_rules(())), random.Random(seed)
    undisturbed = new_analysis(rules)
    undisturbed.feed(events_of(4600, seed))
    undisturbed.finish()
    undisturbed.conclude(NOW)

    traces: dict[str, bytes] = {}
    groups: dict[str, bytes] = {}
    analysis, left = new_analysis(rules), events_of(4600, seed)
    while left:
        count = chance.randrange(1, 60)
        analysis.feed(left[:count])
        left = left[count:]
        analysis.conclude(NOW)
        changes = analysis.take_changes()
        for written, changed in ((traces, changes.traces), (groups, changes.groups)):
            written.update({name: state for name, state in changed.items() if state is not None})
            for name in [name for name, state in changed.items() if state is None]:
                written.pop(name, None)
        book = analysis.book
        analysis = Analysis(rules, book, max_traces=1000)
        saved = Saved({}, list(traces.values()), list(groups.values()), changes.engine, [], [])
        analysis.restore(saved)
    analysis.finish()
    analysis.conclude(NOW)
    assert found_in(analysis) == found_in(undisturbed)
