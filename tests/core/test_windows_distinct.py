"""The distinct window: so many different values within a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

DONE = {"event_type": "tool_result", "status": "completed"}
DISTINCT = {"kind": "distinct", "field": "operation", "at_least": 3, "within": 10}


def test_the_third_value_fires_and_repeats_are_no_evidence(bench: Make) -> None:
    work = bench(DISTINCT).fail(0, operation="a").fail(1, operation="b").fail(2, operation="a")
    assert work.found() == []
    assert work.fail(3, operation="c").found() == [(3.0, 3, False, [1, 2, 4])]
    assert work.groups()[0].value == 3.0


def test_a_value_exactly_as_old_as_the_window_still_counts(bench: Make) -> None:
    work = bench(DISTINCT).fail(0, operation="a").fail(5, operation="b").fail(10, operation="c")
    assert work.found() == [(10.0, 3, False, [1, 2, 3])]


def test_a_value_older_than_the_window_has_left_it(bench: Make) -> None:
    work = bench(DISTINCT).fail(0, operation="a").fail(5, operation="b").fail(10.1, operation="c")
    assert work.found() == []


def test_a_value_that_comes_again_stays_in_the_window(bench: Make) -> None:
    work = bench(DISTINCT).fail(0, operation="a").fail(8, operation="a").fail(9, operation="b")
    assert work.fail(15, operation="c").found()[0][0] == 15.0


def test_events_without_the_field_are_passed_over(bench: Make) -> None:
    work = bench(DISTINCT).fail(0, operation="a").fail(1, operation=None).fail(2, operation="b")
    assert work.found() == []


def test_a_reset_forgets_the_values_and_heals(bench: Make) -> None:
    work = bench({**DISTINCT, "reset": DONE}).fail(0, operation="a").fail(1, operation="b")
    work.done(2, operation="x").fail(3, operation="c")
    assert work.found() == []
    work.fail(4, operation="a").fail(5, operation="b").done(6)
    assert work.found() == [(5.0, 3, True, [4, 5, 6])]


def test_traces_can_be_what_is_counted(bench: Make) -> None:
    work = bench({**DISTINCT, "field": "trace_id", "group_by": ["operation"]})
    work.fail(0, trace_id="a").fail(1, trace_id="a").fail(2, trace_id="b").fail(3, trace_id="c")
    assert work.found() == [(3.0, 3, False, [1, 3, 4])]


def test_one_value_is_no_threshold(problems: Callable[..., Any]) -> None:
    assert problems({**DISTINCT, "at_least": 1}) == ["window.at_least: `at_least` is 1"]
