"""The new_value and baseline windows: never seen before, and unlike its own past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]

NEW = {"kind": "new_value", "field": "error_class", "min_history": 3, "group_by": ["operation"]}
BASE = {
    "kind": "baseline",
    "field": "duration_seconds",
    "min_sample": 5,
    "factor": 3,
    "deviations": 4,
    "group_by": ["operation"],
}
ENDS = {"event_type": "tool_result", "status": "completed"}


def took(work: Any, *seconds: float) -> Any:
    for at, value in enumerate(seconds):
        work.done(at, duration_seconds=value)
    return work


# -- new values --------------------------------------------------------------------------------


def test_a_value_is_new_once_enough_is_known(bench: Make) -> None:
    work = bench(NEW)
    for at in range(3):
        work.fail(at, http_status=404)
    assert work.found() == []
    assert work.fail(3, http_status=401).found() == [(3.0, 1, False, [4])]


def test_a_value_among_the_first_ones_is_learned(bench: Make) -> None:
    work = bench(NEW).fail(0, http_status=404).fail(1, http_status=401).fail(2, http_status=404)
    assert work.fail(3, http_status=401).found() == []


def test_a_value_is_new_only_once(bench: Make) -> None:
    work = bench(NEW)
    for at in range(3):
        work.fail(at, http_status=404)
    assert work.fail(3, http_status=401).fail(4, http_status=401).found()[0][1] == 1


def test_a_forgotten_value_is_new_again(bench: Make) -> None:
    work = bench({**NEW, "forget_after": 60})
    for at in range(3):
        work.fail(at, http_status=404)
    assert work.fail(62, http_status=404).found() == []
    assert work.fail(122.5, http_status=404).found() == [(122.5, 1, False, [5])]


def test_each_group_learns_for_itself(bench: Make) -> None:
    work = bench(NEW)
    for at in range(3):
        work.fail(at, http_status=404)
    assert work.fail(3, http_status=401, operation="other").found() == []


# -- baseline ----------------------------------------------------------------------------------


def test_three_times_the_usual_fires_once_enough_is_known(bench: Make) -> None:
    assert took(bench(BASE, where=ENDS), 2, 2, 2, 2, 7).found() == []
    assert took(bench(BASE, where=ENDS), 2, 2, 2, 2, 2, 6).found() == []
    work = took(bench(BASE, where=ENDS), 2, 2, 2, 2, 2, 6.001)
    assert work.found() == [(5.0, 1, False, [6])]
    assert work.groups()[0].value == 6.001


def test_the_usual_spread_raises_the_bound(bench: Make) -> None:
    assert took(bench({**BASE, "factor": 1}, where=ENDS), 1, 3, 1, 3, 2, 5).found() == []
    work = took(bench({**BASE, "factor": 1}, where=ENDS), 1, 3, 1, 3, 2, 6)
    assert work.found() == [(5.0, 1, False, [6])]  # the mean is 2, the spread 0.894


def test_values_below_the_minimum_never_fire(bench: Make) -> None:
    assert took(bench({**BASE, "minimum": 10}, where=ENDS), 1, 1, 1, 1, 1, 10).found() == []


def test_so_many_in_a_row_are_needed(bench: Make) -> None:
    window = {**BASE, "at_least": 3}
    assert took(bench(window, where=ENDS), 2, 2, 2, 2, 2, 50, 50, 2, 50, 50).found() == []
    work = took(bench(window, where=ENDS), 2, 2, 2, 2, 2, 50, 50, 50)
    assert work.found() == [(7.0, 3, False, [6, 7, 8])]


def test_a_usual_value_heals(bench: Make) -> None:
    assert took(bench(BASE, where=ENDS), 2, 2, 2, 2, 2, 50, 2).found() == [(5.0, 1, True, [6])]


def test_a_sick_time_cannot_teach_that_sick_is_usual(bench: Make) -> None:
    work = took(bench(BASE, where=ENDS), *[2.0] * 20, *[1000.0] * 20)
    assert work.found() == [(20.0, 20, False, list(range(21, 41)))]


def test_texts_are_refused(problems: Callable[..., Any]) -> None:
    assert problems({**BASE, "field": "model"}) == ["window.field: `model` is text"]
    assert problems({**BASE, "factor": 0.5}) == ["window.factor: `factor` is 0.5"]


@pytest.mark.parametrize("value", [True, "long", None])
def test_a_value_that_is_no_number_is_passed_over(bench: Make, value: object) -> None:
    work = bench({**BASE, "field": "metadata.rows"}, where=ENDS)
    for at in range(6):
        work.done(at, metadata={"rows": 2})
    assert work.done(6, metadata={"rows": value}).found() == []
    assert work.done(7, metadata={"rows": 100}).found() == [(7.0, 1, False, [8])]
