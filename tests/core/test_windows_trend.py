"""The spike and growth windows: more often than before, and ever more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

SPIKE = {"kind": "spike", "within": 10, "factor": 3, "at_least": 6}
GROWTH = {"kind": "growth", "field": "input_tokens", "at_least": 3, "factor": 2, "minimum": 100}
MODEL = {"event_type": "model_call"}


def fails(work: Any, *times: float) -> Any:
    for at in times:
        work.fail(at)
    return work


def tokens(work: Any, *values: int | None) -> Any:
    for at, value in enumerate(values):
        work.see(at, "model_call", "completed", input_tokens=value)
    return work


# -- spike -------------------------------------------------------------------------------------


def test_three_times_as_many_as_in_the_time_before_fire(bench: Make) -> None:
    work = fails(bench(SPIKE), 0, 5, 11, 12, 13, 14, 15)
    assert work.found() == []  # five in the current window
    assert work.fail(20).found() == [(20.0, 6, False, [3, 4, 5, 6, 7, 8])]
    assert work.groups()[0].value == 6.0


def test_less_than_three_times_as_many_is_quiet(bench: Make) -> None:
    assert fails(bench(SPIKE), 1, 2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20).found() == []


def test_a_steady_rate_is_no_spike_however_young_the_group_is(bench: Make) -> None:
    assert fails(bench(SPIKE), *range(60)).found() == []


def test_with_nothing_before_there_is_nothing_to_compare_with(bench: Make) -> None:
    assert fails(bench(SPIKE), 0, 1, 2, 3, 4, 5, 6, 7).found() == []


def test_a_burst_after_a_long_pause_has_nothing_before_it(bench: Make) -> None:
    assert fails(bench(SPIKE), 0, *range(100, 110)).found() == []


def test_a_spike_of_less_than_before_is_refused(problems: Callable[..., Any]) -> None:
    assert problems({**SPIKE, "factor": 1}) == ["window.factor: `factor` is 1"]


# -- growth ------------------------------------------------------------------------------------


def test_so_many_steps_to_twice_the_first_value_fire(bench: Make) -> None:
    work = tokens(bench(GROWTH, where=MODEL), 60, 80, 100, 120)
    assert [row[0] for row in work.found()] == [3.0]
    assert work.groups()[0].value == 120.0


def test_enough_steps_but_too_little_growth_is_quiet(bench: Make) -> None:
    assert tokens(bench(GROWTH, where=MODEL), 60, 80, 100, 119).found() == []


def test_growth_of_small_numbers_is_quiet(bench: Make) -> None:
    assert tokens(bench(GROWTH, where=MODEL), 1, 2, 50, 99).found() == []


def test_a_value_that_does_not_grow_begins_anew(bench: Make) -> None:
    assert tokens(bench(GROWTH, where=MODEL), 60, 80, 100, 100, 150, 200).found() == []
    work = tokens(bench(GROWTH, where=MODEL), 60, 80, 100, 100, 150, 200, 201)
    assert [row[0] for row in work.found()] == [6.0]


def test_events_without_the_value_are_passed_over(bench: Make) -> None:
    work = tokens(bench(GROWTH, where=MODEL), 60, None, 80, None, 100, 120)
    assert [row[0] for row in work.found()] == [5.0]


def test_growth_of_text_is_refused(problems: Callable[..., Any]) -> None:
    assert problems({**GROWTH, "field": "model"}) == ["window.field: `model` is text"]
