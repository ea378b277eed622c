"""What is written of traces that changed is all that a restart needs."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from watch.harness import trace_lines

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer
from lastsignal.core.incidents import IncidentBook, IncidentPolicy
from lastsignal.core.rules import Rule
from lastsignal.edges.rulefiles import load_rules
from lastsignal.edges.store import Changes, Saved
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


def judged_at_once(rules: list[Rule], seed: int) -> Analysis:
    """Return what nothing has interrupted."""
    analysis = new_analysis(rules)
    analysis.feed(events_of(4600, seed))
    analysis.finish()
    analysis.conclude(NOW)
    return analysis


class Written:
    """What a store would hold of the rules after some commits."""

    def __init__(self) -> None:
        self.traces: dict[str, bytes] = {}
        self.groups: dict[str, bytes] = {}
        self.engine: bytes | None = None

    def commit(self, changes: Changes) -> None:
        """Write changes down."""
        for written, changed in ((self.traces, changes.traces), (self.groups, changes.groups)):
            written.update({name: state for name, state in changed.items() if state is not None})
            for name in [name for name, state in changed.items() if state is None]:
                written.pop(name, None)
        self.engine = changes.engine

    def saved(self) -> Saved:
        """Return all of it."""
        traces, groups = list(self.traces.values()), list(self.groups.values())
        return Saved({}, traces, groups, self.engine, [], [])


@pytest.mark.parametrize("seed", range(2))
def test_restarts_from_what_changed_lose_no_wait(seed: int) -> None:
    rules, chance = list(load_rules(())), random.Random(seed)
    undisturbed = judged_at_once(rules, seed)

    written = Written()
    analysis, left = new_analysis(rules), events_of(4600, seed)
    while left:
        count = chance.randrange(1, 60)
        analysis.feed(left[:count])
        left = left[count:]
        analysis.conclude(NOW)
        written.commit(analysis.take_changes())
        book = analysis.book
        analysis = Analysis(rules, book, max_traces=1000)
        analysis.restore(written.saved())
    analysis.finish()
    analysis.conclude(NOW)
    assert found_in(analysis) == found_in(undisturbed)


@pytest.mark.parametrize("seed", range(2))
def test_rules_that_come_and_go_leave_the_others_what_they_remember(seed: int) -> None:
    rules, chance = list(load_rules(())), random.Random(seed)
    kept = {rule.id for rule in chance.sample(rules, 40)}
    undisturbed = judged_at_once([rule for rule in rules if rule.id in kept], seed)

    written = Written()
    analysis, left = new_analysis(rules), events_of(4600, seed)
    while left:
        count = chance.randrange(1, 400)
        analysis.feed(left[:count])
        left = left[count:]
        some = [one for one in rules if one.id in kept or chance.random() < 0.5]
        chance.shuffle(some)
        analysis.conclude(NOW)
        analysis.replace_rules(some)
        written.commit(analysis.take_changes())
        if chance.random() < 0.3:  # what is written is what a restart with these rules needs
            again = new_analysis(some)
            again.restore(written.saved())
            again.book = analysis.book
            analysis = again
    state = analysis.engine.state
    kept_groups = [trace.groups.values() for trace in (*state.traces.values(), state.shared)]
    assert +state.tally == Counter(group.rule for groups in kept_groups for group in groups)
    analysis.finish()
    analysis.conclude(NOW)
    found = [one for one in found_in(analysis) if one[0] in kept]
    assert found == found_in(undisturbed)


def test_a_trace_that_is_given_up_and_comes_again_at_once_is_written() -> None:
    analysis = Analysis(list(load_rules(())), IncidentBook(IncidentPolicy()), max_traces=2)
    written = Written()
    for name in ("a", "b", "c", "a", "c", "b"):
        line = b'{"timestamp":1.79e9,"trace_id":"%s","event_type":"agent_start","status":"started"}'
        framer, reader = Framer(), Reader("s", LADDER, 0.0)
        analysis.feed(reader.read(framer.feed(line % name.encode() + b"\n")))
    written.commit(analysis.take_changes())
    assert set(written.traces) == set(analysis.engine.traces)
    assert len(written.traces) == 2
