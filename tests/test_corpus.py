"""The figures of the labelled corpus: what the detectors find, and what they must not.

`python tests/corpus/measure.py` prints them for any seed and size.
"""

from __future__ import annotations

import functools

import pytest
from corpus.failures import FAILURES
from corpus.healthy import HEALTHY
from corpus.layouts import LAYOUTS
from corpus.measure import Scores, is_left_out, measure

from lastsignal.edges.rulefiles import load_rules

SEED, RUNS = 20, 3


@functools.cache
def scores(name: str) -> Scores:
    """Return the scores of a layout; the test of all layouts needs them again."""
    return measure(LAYOUTS[name], SEED, RUNS, load_rules())


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_failure_is_found_and_no_healthy_run_is_accused(name: str) -> None:
    found = scores(name)

    assert found.recall == 1.0, found.mistakes
    assert found.on_wrong_traces == 0, found.mistakes
    assert found.precision >= 0.995, found.mistakes


def test_the_cause_is_named_right() -> None:
    total = Scores()
    for name in LAYOUTS:
        total.add(scores(name))

    assert total.causes >= 0.99, total.mistakes
    assert total.precision >= 0.995, total.mistakes
    assert total.recall == 1.0, total.mistakes


def test_the_corpus_covers_what_it_promises() -> None:
    by_layout = {
        name: [one for one in FAILURES if not is_left_out(layout, one)]
        for name, layout in LAYOUTS.items()
    }

    assert len(LAYOUTS) >= 8
    assert all(len(classes) >= 14 for classes in by_layout.values())
    assert len({one.cause for one in FAILURES}) == len(FAILURES)
    assert len(HEALTHY) >= 8


def test_what_a_layout_leaves_out_has_a_reason() -> None:
    needs = {need for one in FAILURES for need in one.uses} | {one.name for one in FAILURES}
    for layout in LAYOUTS.values():
        assert layout.cannot.keys() <= needs
        assert all(len(reason.split()) >= 5 for reason in layout.cannot.values())


def test_the_same_seed_writes_the_same_corpus() -> None:
    assert measure(LAYOUTS["native"], 3, 1, []) == measure(LAYOUTS["native"], 3, 1, [])
