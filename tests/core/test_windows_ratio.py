"""The ratio window: a share among the matches within a time, with a least sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

ENDS = {"event_type": "tool_result"}
RATIO = {
    "kind": "ratio",
    "of": {"status": "failed"},
    "at_least": 0.5,
    "within": 100,
    "min_sample": 4,
}


def test_the_share_is_reached_with_the_least_sample(bench: Make) -> None:
    work = bench(RATIO, where=ENDS).done(0).done(1).fail(2)
    assert work.found() == []
    assert work.fail(3).found() == [(3.0, 2, False, [3, 4])]
    assert work.groups()[0].value == 0.5


def test_a_sample_that_is_too_small_proves_nothing(bench: Make) -> None:
    assert bench(RATIO, where=ENDS).fail(0).fail(1).fail(2).found() == []


def test_a_share_just_below_is_quiet(bench: Make) -> None:
    work = bench(RATIO, where=ENDS).done(0).done(1).done(2).fail(3).fail(4)
    assert work.found() == []


def test_old_matches_leave_the_window(bench: Make) -> None:
    work = bench(RATIO, where=ENDS).done(0).done(1).done(2).done(3).fail(101).fail(102)
    assert work.found() == [(102.0, 2, False, [5, 6])]  # done at 2 and 3 are left


def test_matches_exactly_as_old_as_the_window_still_count(bench: Make) -> None:
    work = bench({**RATIO, "min_sample": 2}, where=ENDS).fail(0).fail(100)
    assert work.found() == [(100.0, 2, False, [1, 2])]


def test_a_share_that_falls_below_heals_and_may_rise_again(bench: Make) -> None:
    work = bench(RATIO, where=ENDS).fail(0).fail(1).fail(2).fail(3)
    for at in range(4, 8):
        work.done(at)
    assert work.found()[0][2] is False  # four of eight
    assert work.done(8).found()[0][2] is True
    assert work.fail(9).found()[0][2] is False


def test_matches_that_neither_belong_nor_count_are_passed_over(bench: Make) -> None:
    work = bench(RATIO, where=ENDS).fail(0).fail(1).fail(2)
    assert work.see(3, "model_call", "failed").found() == []


def test_beyond_what_it_can_hold_the_share_is_that_of_the_latest(bench: Make) -> None:
    work = bench({**RATIO, "within": 1_000_000}, where=ENDS)
    if work.mode == "restarting":
        return  # the same, but very slowly
    for at in range(4000):
        work.fail(at)
    for at in range(4000, 9000):
        work.done(at)
    assert work.groups()[0].healed is True


def test_a_share_is_above_zero_and_up_to_one(problems: Callable[..., Any]) -> None:
    assert problems({**RATIO, "at_least": 1.2}) == ["window.at_least: `at_least` is 1.2"]
    assert problems({**RATIO, "min_sample": 0}) == ["window.min_sample: `min_sample` is 0"]
