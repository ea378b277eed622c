"""The sequence window: steps in order, negated steps between them, or steps in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

FAIL = {"where": {"event_type": "tool_result", "status": "failed"}}
RETRY = {"where": {"event_type": "retry"}}
DONE = {"where": {"event_type": "tool_result", "status": "completed"}, "absent": True}
CRASH = {"where": {"event_type": "process_error"}}


def steps(*all_steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"kind": "sequence", "within": 10, "steps": list(all_steps), **changes}


def test_two_steps_in_order_fire_at_the_second(bench: Make) -> None:
    work = bench(steps(FAIL, RETRY), where={}).fail(0).see(4, "retry", "started")
    assert work.found() == [(4.0, 1, False, [1, 2])]
    assert work.groups()[0].value == 4.0


def test_the_wrong_order_is_quiet(bench: Make) -> None:
    assert bench(steps(FAIL, RETRY), where={}).see(0, "retry", "started").fail(1).found() == []


def test_exactly_the_time_is_within_it_and_more_is_not(bench: Make) -> None:
    assert bench(steps(FAIL, RETRY), where={}).fail(0).see(10, "retry", "started").found() != []
    assert bench(steps(FAIL, RETRY), where={}).fail(0).see(10.01, "retry", "started").found() == []


def test_the_latest_first_step_counts(bench: Make) -> None:
    work = bench(steps(FAIL, RETRY), where={}).fail(0).fail(8).see(12, "retry", "started")
    assert work.found() == [(12.0, 1, False, [2, 3])]


def test_one_first_step_carries_one_sequence(bench: Make) -> None:
    work = bench(steps(FAIL, RETRY), where={}).fail(0).see(1, "retry", "started")
    work.see(2, "retry", "started")
    assert work.found() == [(1.0, 1, False, [1, 2])]
    work.fail(3).see(4, "retry", "started")
    assert work.found()[0][:2] == (1.0, 2)


def test_one_event_is_never_two_steps(bench: Make) -> None:
    work = bench(steps(FAIL, FAIL, FAIL), where={}).fail(0).fail(1)
    assert work.found() == []
    assert work.fail(2).found() == [(2.0, 1, False, [1, 2, 3])]


def test_a_negated_step_breaks_the_sequence_at_its_place(bench: Make) -> None:
    work = bench(steps(FAIL, DONE, CRASH), where={}).fail(0).done(1)
    assert work.see(2, "process_error", "failed").found() == []


def test_a_negated_step_before_and_after_its_place_changes_nothing(bench: Make) -> None:
    work = bench(steps(FAIL, DONE, RETRY, CRASH), where={}).done(0).fail(1)
    work.see(2, "retry", "started").done(3)
    assert work.see(4, "process_error", "failed").found() == [(4.0, 1, False, [2, 3, 5])]


def test_a_sequence_begins_anew_after_it_was_broken(bench: Make) -> None:
    work = bench(steps(FAIL, DONE, CRASH), where={}).fail(0).done(1).fail(2)
    assert work.see(3, "process_error", "failed").found() == [(3.0, 1, False, [3, 4])]


def test_the_condition_of_the_rule_holds_for_every_step(bench: Make) -> None:
    work = bench(steps(FAIL, RETRY), where={"operation": "a"}).fail(0, operation="a")
    assert work.see(1, "retry", "started", operation="b").found() == []


def test_groups_have_sequences_of_their_own(bench: Make) -> None:
    work = bench(steps(FAIL, RETRY, group_by=["trace_id", "operation"]), where={})
    work.fail(0, operation="a").see(1, "retry", "started", operation="b")
    assert work.found() == []


def test_texts_can_quote_the_first_step(bench: Make) -> None:
    work = bench(steps(FAIL, CRASH), where={}, cause="{first.error_message} at {first.line}")
    work.fail(0, error_message="boom").see(1, "process_error", "failed", operation=None)
    assert work.diagnosis().findings()[0].cause.startswith("boom at ")


def test_in_any_order_all_steps_within_the_time_fire(bench: Make) -> None:
    window = steps(FAIL, RETRY, CRASH, ordered=False)
    work = bench(window, where={}).see(0, "process_error", "failed").see(5, "retry", "started")
    assert work.found() == []
    assert work.fail(9).found() == [(9.0, 1, False, [1, 2, 3])]


def test_in_any_order_a_step_that_is_too_old_has_left(bench: Make) -> None:
    window = steps(FAIL, RETRY, ordered=False)
    assert bench(window, where={}).see(0, "retry", "started").fail(10.5).found() == []


def test_negated_steps_at_the_edge_and_single_steps_are_refused(
    problems: Callable[..., Any],
) -> None:
    assert problems(steps(DONE, FAIL, RETRY)) == ["window.steps: a negated step at the edge"]
    assert problems(steps(FAIL)) == ["window.steps: 1 step(s) to be seen"]


def test_a_first_step_that_comes_long_after_later_events_begins_nothing(bench: Make) -> None:
    """What would have broken the sequence, or stood between its steps, has passed already."""
    work = bench(steps(FAIL, CRASH), where={}).done(60).fail(20).see(61, "process_error", "failed")
    assert work.found() == []


def test_clocks_that_differ_by_seconds_lose_no_first_step(bench: Make) -> None:
    work = bench(steps(FAIL, CRASH), where={}).done(60).fail(57).see(61, "process_error", "failed")
    assert work.found() == [(61.0, 1, False, [2, 3])]


SAME = {
    "kind": "sequence",
    "group_by": ["trace_id", "operation"],
    "same": ["arguments_hash"],
    "within": 10,
    "steps": [
        {"where": {"event_type": "tool_result", "status": "failed"}},
        {"where": {"event_type": "tool_result", "status": "completed"}, "absent": True},
        {"where": {"event_type": "tool_call"}},
    ],
}
ANY = {"event_type": ["tool_call", "tool_result"]}


def test_steps_that_must_share_a_value_do_not_mix_and_are_one_finding(bench: Make) -> None:
    work = bench(SAME, where=ANY)
    work.fail(0, arguments_hash="a").fail(1, arguments_hash="b").call(2, arguments_hash="c")
    assert work.found() == []
    work.call(3, arguments_hash="b").call(4, arguments_hash="a")
    assert work.found() == [(3.0, 2, False, [2, 4, 5])]


def test_a_negated_step_breaks_only_what_shares_its_value(bench: Make) -> None:
    work = bench(SAME, where=ANY)
    work.fail(0, arguments_hash="a").fail(1, arguments_hash="b").done(2, arguments_hash="a")
    work.call(3, arguments_hash="a")
    assert work.found() == []
    assert work.call(4, arguments_hash="b").found() == [(4.0, 1, False, [2, 5])]


def test_no_value_at_all_is_shared_too_and_time_counts_for_each(bench: Make) -> None:
    work = bench(SAME, where=ANY).fail(0).fail(8, arguments_hash="b").call(11).found()
    assert work == []
    assert bench(SAME, where=ANY).fail(0).fail(8, arguments_hash="b").call(9).found() == [
        (9.0, 1, False, [1, 3])
    ]


def test_many_values_under_way_are_bounded(bench: Make) -> None:
    work = bench(SAME, where=ANY)
    for number in range(150):
        work.fail(number / 100, arguments_hash=f"h{number}")
    assert work.call(2, arguments_hash="h0").found() == []
    assert work.call(2.5, arguments_hash="h149").found() == [(2.5, 1, False, [150, 152])]


def test_shared_values_need_an_order(problems: Make) -> None:
    found = problems({**SAME, "ordered": False, "steps": SAME["steps"][::2]})
    assert found == ["window.same: `same` needs steps in order"]
