"""One failure that ends a run, in every layout that can tell of it: the same cause."""

from __future__ import annotations

import functools
import json

import pytest
from kit.criticals import events_of
from kit.run_killers import KILLERS, LAYOUTS, NO_CODE_OF_ITS_OWN, STEPS

from lastsignal.app import diagnoses
from lastsignal.core.engine import Engine
from lastsignal.core.rules import Rule
from lastsignal.edges.rulefiles import load_rules


@functools.cache
def rules() -> list[Rule]:
    """Return the built-in rules, which no test changes."""
    return load_rules()


RUNS = [
    (layout, failure)
    for layout in LAYOUTS
    for failure, killer in KILLERS.items()
    if killer.client or layout not in NO_CODE_OF_ITS_OWN
]


@pytest.mark.parametrize(("layout", "failure"), RUNS)
def test_what_ended_the_run_is_the_cause_whatever_layout_tells_of_it(
    layout: str, failure: str
) -> None:
    killer = KILLERS[failure]
    records = [json.dumps(record) for record in LAYOUTS[layout](killer)]
    engine = Engine(rules())
    engine.feed(events_of([record.encode() for record in records]))
    engine.finish()
    (trace,) = diagnoses(engine)

    crashed_in_step = layout in STEPS and killer.rule == "run_crashed"
    assert trace.cause is not None
    assert trace.cause.rule == ("tool_keeps_failing" if crashed_in_step else killer.rule)
    assert {finding.rule for finding in trace.findings()} <= {
        trace.cause.rule, "run_failed", "first_step_failed", "run_vanished",
    }  # fmt: skip
    told_first = next(n for n, record in enumerate(records, 1) if killer.mark in record)
    assert [mark.line for mark in trace.cause.evidence] == [told_first]
