"""What need not be asked any more: findings at rest, and groups in which nothing counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

DONE = {"event_type": "tool_result", "status": "completed"}
FAILED = {"event_type": "tool_result", "status": "failed"}
CALL = {"event_type": "tool_call"}
GROUPS = ["trace_id", "operation", "arguments_hash"]
STREAK = {"kind": "streak", "group_by": ["trace_id", "operation"], "at_least": 2, "reset": DONE}
SEQUENCE = {
    "kind": "sequence",
    "group_by": GROUPS,
    "within": 10,
    "steps": [{"where": FAILED}, {"where": CALL}],
}
EITHER = {"any": [FAILED, CALL]}


def trace(work: Any) -> Any:
    """Return what the engine remembers of the trace, all events seen."""
    work.groups()
    return work.engine.traces["t"]


def test_a_healed_finding_is_asked_no_more_until_its_next_match(bench: Make) -> None:
    work = bench(STREAK).fail(0).fail(1)
    assert trace(work).active
    assert not trace(work.done(2)).active
    assert work.done(3).found() == [(1.0, 2, True, [1, 2])]

    work.fail(4)
    assert trace(work).active
    assert work.fail(5).found() == [(1.0, 4, False, [1, 2, 5, 6])]
    assert work.done(6).found()[0][2] is True
    assert not trace(work).active


def test_one_at_rest_leaves_the_others_of_its_rule_awake(bench: Make) -> None:
    work = bench(STREAK).fail(0).fail(1).fail(2, operation="b").fail(3, operation="b").done(4)
    assert trace(work).active
    assert work.done(5, operation="b").found() == [
        (1.0, 2, True, [1, 2]),
        (3.0, 2, True, [3, 4]),
    ]
    assert not trace(work).active


def test_a_sequence_that_was_found_rests_and_is_found_again(bench: Make) -> None:
    work = bench(SEQUENCE, where=EITHER).fail(0).call(1).call(2)
    assert not trace(work).active
    assert work.fail(3).call(4).found() == [(1.0, 2, False, [1, 2, 5])]


def test_what_failed_once_and_never_came_again_is_given_up_in_time(bench: Make) -> None:
    work = bench(SEQUENCE, where=EITHER)
    for index in range(500):
        work.fail(index * 60, arguments_hash=f"h{index}").call(index * 60 + 30)
    assert len(trace(work).groups) <= 2
    assert trace(work).evicted == 0


def test_what_is_young_enough_is_kept_while_the_old_goes(bench: Make) -> None:
    work = bench(SEQUENCE, where=EITHER).fail(0, arguments_hash="a").fail(25, arguments_hash="b")
    work.call(34, arguments_hash="b").call(34.5, arguments_hash="a")
    assert work.found() == [(34.0, 1, False, [2, 3])]


def test_a_streak_without_a_limit_of_time_is_never_given_up(bench: Make) -> None:
    work = bench(STREAK).fail(0)
    for index in range(20):
        work.call(1000 + index * 1000)
    assert work.fail(90_000).found() == [(90_000.0, 2, False, [1, 22])]
