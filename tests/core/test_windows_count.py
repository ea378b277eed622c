"""The event and count windows: every match, and so many of them within a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

DONE = {"event_type": "tool_result", "status": "completed"}
COUNT = {"kind": "count", "at_least": 3, "within": 10}


def test_each_match_is_a_firing_and_all_are_one_finding(bench: Make) -> None:
    work = bench({"kind": "event"}).fail(0).done(1).fail(2)
    assert work.found() == [(0.0, 2, False, [1, 3])]


def test_as_many_as_asked_within_the_time_fire(bench: Make) -> None:
    assert bench(COUNT).fail(0).fail(1).fail(2).found() == [(2.0, 3, False, [1, 2, 3])]


def test_a_first_match_exactly_as_old_as_the_window_still_counts(bench: Make) -> None:
    assert bench(COUNT).fail(0).fail(5).fail(10).found() == [(10.0, 3, False, [1, 2, 3])]


def test_a_first_match_older_than_the_window_does_not(bench: Make) -> None:
    assert bench(COUNT).fail(0).fail(5).fail(10.001).found() == []


def test_the_window_slides_and_the_evidence_is_what_it_holds(bench: Make) -> None:
    work = bench(COUNT).fail(0).fail(8).fail(16).fail(17)
    assert work.found() == [(17.0, 3, False, [2, 3, 4])]


def test_a_late_event_counts_at_its_own_time(bench: Make) -> None:
    work = bench(COUNT).fail(20).fail(21).fail(12)
    assert work.found() == [(12.0, 3, False, [1, 2, 3])]


def test_once_open_everything_counts_however_long_the_pause(bench: Make) -> None:
    work = bench(COUNT).fail(0).fail(1).fail(2).fail(500)
    assert work.found() == [(2.0, 4, False, [1, 2, 3, 4])]


def test_a_reset_forgets_and_heals(bench: Make) -> None:
    work = bench({**COUNT, "reset": DONE}).fail(0).fail(1).done(2).fail(3).fail(4)
    assert work.found() == []
    assert work.fail(5).done(6).found() == [(5.0, 3, True, [4, 5, 6])]
    assert work.fail(7).found()[0][2] is False


def test_thresholds_above_the_usual_evidence_are_counted_exactly(bench: Make) -> None:
    work = bench({"kind": "count", "at_least": 30, "within": 100})
    for at in range(29):
        work.fail(at)
    assert work.found() == []
    assert work.fail(29).found()[0][:2] == (29.0, 30)


def test_groups_count_for_themselves(bench: Make) -> None:
    work = bench({**COUNT, "group_by": ["trace_id", "operation"]})
    work.fail(0).fail(1, operation="b").fail(2).fail(3, trace_id="u").fail(4)
    assert work.found() == [(4.0, 3, False, [1, 3, 5])]


def test_a_group_without_the_trace_spans_traces(bench: Make) -> None:
    work = bench({**COUNT, "group_by": ["operation"]})
    work.fail(0, trace_id="a").fail(1, trace_id="b").fail(2, trace_id="c")
    assert work.found() == [(2.0, 3, False, [1, 2, 3])]
    assert work.groups()[0].trace_id == "c"


def test_counts_of_none_and_no_time_are_refused(problems: Callable[..., Any]) -> None:
    assert problems({"kind": "count", "at_least": 0, "within": 0}) == [
        "window.at_least: `at_least` is 0",
        "window.within: `within` is 0",
    ]
