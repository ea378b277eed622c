"""The streak window: matches in a row, what ends a row, and rows that end with the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]

DONE = {"event_type": "tool_result", "status": "completed"}
STREAK = {"kind": "streak", "group_by": ["trace_id", "operation"], "at_least": 3, "reset": DONE}
ENDS = {"any": [{"event_type": "process_error"}, {"event_type": "agent_end", "status": "failed"}]}


def test_it_fires_at_the_match_that_completes_the_row(bench: Make) -> None:
    work = bench(STREAK).fail(0).fail(5)
    assert work.found() == []
    assert work.fail(9).found() == [(9.0, 3, False, [1, 2, 3])]


def test_matches_after_it_fired_are_counted_and_the_middle_of_the_evidence_is_given_up(
    bench: Make,
) -> None:
    work = bench(STREAK)
    for at in range(40):
        work.fail(at)
    assert work.found() == [(2.0, 40, False, [*range(1, 11), *range(31, 41)])]


def test_a_reset_before_it_fired_begins_anew(bench: Make) -> None:
    assert bench(STREAK).fail(0).fail(1).done(2).fail(3).fail(4).found() == []


def test_a_reset_after_it_fired_heals_and_a_new_full_row_opens_it_again(bench: Make) -> None:
    work = bench(STREAK).fail(0).fail(1).fail(2).done(3)
    assert work.found() == [(2.0, 3, True, [1, 2, 3])]
    assert work.fail(4).fail(5).found()[0][2] is True
    assert work.fail(6).found() == [(2.0, 6, False, [1, 2, 3, 5, 6, 7])]


def test_groups_and_traces_have_rows_of_their_own(bench: Make) -> None:
    work = bench(STREAK).fail(0).fail(1, operation="b").fail(2, trace_id="u").fail(3)
    work.done(4, operation="b").fail(5)
    assert work.found() == [(5.0, 3, False, [1, 4, 6])]


def test_events_out_of_order_count_by_their_arrival(bench: Make) -> None:
    assert bench(STREAK).fail(5).fail(1).fail(3).found() == [(3.0, 3, False, [1, 2, 3])]


def test_a_gap_longer_than_within_begins_anew_and_one_just_as_long_does_not(bench: Make) -> None:
    assert bench({**STREAK, "within": 10}).fail(0).fail(10).fail(20).found() != []
    assert bench({**STREAK, "within": 10}).fail(0).fail(10).fail(20.001).found() == []


def test_another_value_of_a_field_that_must_stay_the_same_begins_anew(bench: Make) -> None:
    work = bench({**STREAK, "same": ["error_message"]})
    work.fail(0, error_message="a").fail(1, error_message="a").fail(2, error_message="b")
    assert work.found() == []
    work.fail(3, error_message="b").fail(4, error_message="b")
    assert work.found() == [(4.0, 3, False, [3, 4, 5])]


def test_a_run_that_ends_on_the_first_match_is_enough(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).see(3, "agent_end", "failed")
    assert work.found() == [(3.0, 1, False, [1])]


def test_a_run_that_ends_well_is_not(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).see(3, "agent_end", "completed").finish()
    assert work.found() == []


def test_the_end_of_a_run_says_nothing_of_a_row_that_was_reset(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).done(1).see(3, "process_error", "failed")
    assert work.found() == []


def test_the_end_of_a_run_opens_only_what_failed_last(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).fail(1, operation="b")
    work.see(3, "process_error", "failed", operation=None)
    assert [(group.values, group.count) for group in work.groups()] == [(["b"], 1)]


MODELS = {"event_type": "model_call", "status": "failed", "error_class": "timeout"}
MODEL_DONE = {"event_type": "model_call", "status": "completed"}


def of_models(bench: Make) -> Any:
    return bench({**STREAK, "reset": MODEL_DONE, "or_before": ENDS}, where=MODELS)


def test_a_model_that_fails_in_another_way_or_another_model_that_fails_leaves_it_last(
    bench: Make,
) -> None:
    work = of_models(bench).see(0, "model_call", "failed", error_class="timeout")
    work.see(1, "model_call", "failed", error_class="auth")
    work.see(2, "model_call", "failed", operation="b", error_class="auth")
    assert work.see(3, "agent_end", "failed", operation=None).found() == [(3.0, 1, False, [1])]


@pytest.mark.parametrize(
    "between",
    [
        {"event_type": "model_call", "status": "completed", "operation": "b"},
        {"event_type": "tool_result", "status": "failed"},
    ],
)
def test_a_model_that_worked_or_a_tool_that_failed_in_between_does_not(
    bench: Make, between: dict[str, Any]
) -> None:
    work = of_models(bench).see(0, "model_call", "failed", error_class="timeout")
    work.see(1, **between).see(2, "model_call", "failed", operation="b", error_class="auth")
    assert work.see(3, "agent_end", "failed", operation=None).found() == []


def test_a_model_that_fails_after_a_tool_s_match_is_the_last_word(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).see(1, "model_call", "failed")
    assert work.see(2, "agent_end", "failed", operation=None).found() == []


TIMEOUTS = {"event_type": "tool_result", "status": "failed", "error_class": "timeout"}


@pytest.mark.parametrize(
    ("again", "count"),
    [
        ({"arguments_hash": "h"}, 1),
        ({"arguments_hash": "other"}, 0),
        ({}, 0),
        ({"arguments_hash": "h", "operation": "other"}, 0),
    ],
)
def test_the_same_call_that_fails_in_another_way_leaves_the_match_last(
    bench: Make, again: dict[str, Any], count: int
) -> None:
    work = bench({**STREAK, "or_before": ENDS}, where=TIMEOUTS)
    work.fail(0, error_class="timeout", arguments_hash="h").fail(1, error_class="auth", **again)
    found = work.see(3, "agent_end", "failed", operation=None).found()
    assert [row[1] for row in found] == [1] * count


def test_a_tool_that_worked_after_the_match_says_that_the_run_got_on(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).done(1, operation="b")
    assert work.see(3, "agent_end", "failed", operation=None).found() == []


def test_a_model_that_answers_the_match_does_not(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).see(1, "model_call", "completed")
    assert work.see(3, "agent_end", "failed", operation=None).found() == [(3.0, 1, False, [1])]


def test_two_matches_stand_whatever_else_has_worked(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).fail(1).done(2, operation="b")
    assert work.see(3, "agent_end", "failed", operation=None).found() == [(3.0, 2, False, [1, 2])]


def test_a_tool_that_worked_before_the_match_does_not(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0, operation="c").done(1, operation="b")
    work.fail(2)
    assert work.see(3, "agent_end", "failed", operation=None).found() == [(3.0, 1, False, [3])]


def test_the_end_of_a_sub_agent_is_no_end_of_the_run(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).see(0, "agent_start", "started", call_id="root")
    work.see(1, "agent_start", "started", call_id="a").fail(2)
    assert work.see(3, "agent_end", "failed", call_id="a").found() == []
    assert work.see(4, "agent_end", "failed", call_id="root").found() == [(4.0, 1, False, [3])]


def test_a_healed_finding_opens_again_where_the_run_ends_on_a_new_match(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).fail(1).fail(2).done(3).fail(4)
    assert work.see(5, "process_error", "failed").found() == [(2.0, 4, False, [1, 2, 3, 5])]


def test_a_trace_that_stops_on_a_match_without_an_end_ends_by_it(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).see(0, "agent_start", "started").fail(1).finish()
    assert work.found() == [(1.0, 1, False, [2])]
    assert work.groups()[0].note == "the trace ends here"


def test_a_trace_that_goes_on_after_a_match_and_stops_later_does_not_end_by_it(bench: Make) -> None:
    work = bench({**STREAK, "or_before": ENDS}).fail(0).see(1, "model_call", "completed").finish()
    assert work.found() == []


def test_only_the_sources_that_have_ended_are_judged_at_their_end(bench: Make) -> None:
    work = (
        bench({**STREAK, "or_before": ENDS}).fail(0, source="a").fail(1, source="b", trace_id="u")
    )
    assert [group.trace_id for group in work.finish("b").groups()] == ["u"]


def test_a_reset_of_all_restarts_every_row_of_the_trace_and_heals_none(bench: Make) -> None:
    edit = {"event_type": "tool_result", "status": "completed", "operation": "edit"}
    work = bench({**STREAK, "reset_all": edit})
    work.fail(0).fail(1).fail(2, operation="b").fail(3, operation="b").fail(4, operation="b")
    work.done(5, operation="edit").fail(6).fail(7)
    assert [(group.values, group.healed) for group in work.groups()] == [(["b"], False)]
    assert work.fail(8).found()[1] == (8.0, 3, False, [7, 8, 9])


def test_ends_and_resets_of_a_trace_need_groups_within_it(problems: Callable[..., Any]) -> None:
    window = {**STREAK, "group_by": ["operation"], "or_before": ENDS, "reset_all": DONE}
    assert problems(window) == [
        "window.or_before: `or_before` speaks of one trace, the groups span traces",
        "window.reset_all: `reset_all` speaks of one trace, the groups span traces",
    ]


def test_a_row_of_none_is_refused(problems: Callable[..., Any]) -> None:
    assert problems({**STREAK, "at_least": 0}) == ["window.at_least: `at_least` is 0"]
