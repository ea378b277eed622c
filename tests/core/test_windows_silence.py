"""The silence window: ends that do not come, heartbeats that stop, calls and runs that hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

PULSE = {"event_type": "audit", "operation": "heartbeat"}
HEARTBEAT = {"kind": "silence", "after": 30}
DEADLINE = {
    "kind": "silence",
    "group_by": ["trace_id", "call_id"],
    "after": 60,
    "until": {"event_type": "agent_end"},
}
CALL = {"kind": "silence", "group_by": ["trace_id", "operation"], "after": 60, "pair": "call"}
CALLS = {"any": [{"event_type": "tool_call"}, {"event_type": "model_call", "status": "started"}]}
RUN = {"kind": "silence", "after": 60, "pair": "run"}
START = {"event_type": "agent_start"}


def beat(work: Any, at: float, **fields: Any) -> Any:
    return work.see(at, "audit", "completed", operation="heartbeat", **fields)


# -- heartbeats --------------------------------------------------------------------------------


def test_a_heartbeat_that_stops_is_told_when_the_time_is_over(bench: Make) -> None:
    work = bench(HEARTBEAT, where=PULSE)
    beat(beat(work, 0), 30)
    assert work.done(60).found() == []
    assert work.done(60.5).found() == [(60.0, 1, False, [2])]
    assert work.groups()[0].value == 30.0


def test_a_heartbeat_that_comes_in_time_for_ever_keeps_one_deadline(bench: Make) -> None:
    work = bench(HEARTBEAT, where=PULSE)
    for at in range(0, 300, 3):
        beat(work, at)
    assert work.found() == []
    assert len(work.engine.state.deadlines.take("s")) == 1


def test_the_next_beat_heals_and_a_second_stop_opens_it_again(bench: Make) -> None:
    work = bench(HEARTBEAT, where=PULSE)
    beat(work, 0)
    beat(work.done(31), 40)
    assert work.found() == [(30.0, 1, True, [1])]
    beat(work, 50)
    assert work.advance(81).found()[0][:3] == (30.0, 2, False)


def test_the_end_of_the_run_ends_the_wait_for_a_beat_at_the_end_of_the_file(bench: Make) -> None:
    work = bench(HEARTBEAT, where=PULSE)
    beat(work, 0)
    assert work.see(5, "agent_end", "completed").finish().found() == []


def test_a_file_that_ends_between_two_beats_is_told_at_its_end(bench: Make) -> None:
    work = bench(HEARTBEAT, where=PULSE)
    beat(work, 0)
    assert work.done(5).finish().found() == [(5.0, 1, False, [1])]
    assert work.groups()[0].note == "the trace ends here"


def test_no_end_of_a_file_is_judged_where_the_rule_says_so(bench: Make) -> None:
    work = bench({**HEARTBEAT, "at_end": False}, where=PULSE)
    beat(work, 0)
    assert work.done(5).finish().found() == []


# -- a start and its end -----------------------------------------------------------------------


def test_an_end_at_the_very_deadline_is_in_time(bench: Make) -> None:
    work = bench(DEADLINE, where=START).see(0, "agent_start", "started", call_id="a")
    assert work.see(60, "agent_end", "completed", call_id="a").advance(200).found() == []


def test_a_late_end_heals(bench: Make) -> None:
    work = bench(DEADLINE, where=START).see(0, "agent_start", "started", call_id="a")
    work.see(61, "agent_end", "completed", call_id="a")
    assert work.found() == [(60.0, 1, True, [1])]


def test_a_second_start_does_not_put_the_deadline_off(bench: Make) -> None:
    work = bench(DEADLINE, where=START).see(0, "agent_start", "started", call_id="a")
    work.see(50, "agent_start", "started", call_id="a")
    assert work.advance(61).found() == [(60.0, 1, False, [1])]


def test_after_healing_the_next_start_is_waited_for_again(bench: Make) -> None:
    work = bench(DEADLINE, where=START).see(0, "agent_start", "started", call_id="a")
    work.see(70, "agent_end", "completed", call_id="a")
    work.see(80, "agent_start", "started", call_id="a")
    assert work.advance(140).found()[0][2] is True
    assert work.advance(140.5).found() == [(60.0, 2, False, [1, 3])]


def test_the_clock_of_another_source_judges_nothing(bench: Make) -> None:
    work = bench(DEADLINE, where=START).see(0, "agent_start", "started", call_id="a")
    work.done(1000, source="other", trace_id="u")
    assert work.found() == []


def test_an_event_that_ends_the_whole_makes_the_wait_too_long_at_once(bench: Make) -> None:
    window = {**DEADLINE, "overdue_at": {"event_type": "agent_end", "parent_id": None}}
    work = bench(window, where={**START, "parent_id|exists": True})
    work.see(0, "agent_start", "started", call_id="root")
    work.see(1, "agent_start", "started", call_id="a", parent_id="root")
    work.see(2, "agent_start", "started", call_id="b", parent_id="root")
    work.see(3, "agent_end", "completed", call_id="b", parent_id="root")
    work.see(4, "agent_end", "completed", call_id="root")
    assert work.found() == [(4.0, 1, False, [2])]
    assert work.groups()[0].value == 3.0


# -- calls -------------------------------------------------------------------------------------


def test_a_call_is_told_after_its_time_and_healed_by_its_late_end(bench: Make) -> None:
    work = bench(CALL, where=CALLS).call(0, call_id="a").advance(60)
    assert work.found() == []
    assert work.advance(60.5).found() == [(60.0, 1, False, [1])]
    assert work.done(90, call_id="a").found() == [(60.0, 1, True, [1])]


def test_the_end_of_another_call_of_the_tool_does_not_heal(bench: Make) -> None:
    work = bench(CALL, where=CALLS).call(0, call_id="a").advance(61)
    work.call(62, call_id="b").done(63, call_id="b")
    assert work.found() == [(60.0, 1, False, [1])]


def test_two_calls_that_hang_are_one_finding_and_heal_with_the_last(bench: Make) -> None:
    work = bench(CALL, where=CALLS).call(0, call_id="a").call(5, call_id="b").advance(100)
    assert work.found() == [(60.0, 2, False, [1, 2])]
    assert work.done(101, call_id="a").found()[0][2] is False
    assert work.done(102, call_id="b").found()[0][2] is True


def test_a_call_is_told_once_by_each_rule_that_watches_it(bench: Make) -> None:
    work = bench(CALL, where=CALLS).call(0, call_id="a").advance(61).advance(500).finish()
    assert work.found() == [(60.0, 1, False, [1])]


def test_calls_without_an_id_pair_by_operation_first_come_first_served(bench: Make) -> None:
    work = bench(CALL, where=CALLS).call(0).call(30).done(59).advance(89)
    assert work.found() == []
    assert work.advance(97).found() == [(90.0, 1, False, [2])]


def test_the_end_of_the_run_forgets_its_calls(bench: Make) -> None:
    work = bench(CALL, where=CALLS).call(0).see(1, "agent_end", "completed")
    assert work.advance(500).finish().found() == []


def test_a_call_open_where_the_file_ends_is_told_there(bench: Make) -> None:
    work = bench(CALL, where=CALLS).call(0).done(3, operation="other").finish()
    assert work.found() == [(3.0, 1, False, [1])]
    assert work.groups()[0].note == "the trace ends here"


def test_each_of_many_calls_is_told_at_its_own_time(bench: Make) -> None:
    work = bench({**CALL, "group_by": ["trace_id", "call_id"]}, where=CALLS)
    for second in range(40):
        work.call(second, call_id=f"c{second:02d}")
    assert work.advance(80).found() == [(60.0 + n, 1, False, [n + 1]) for n in range(20)]
    assert work.advance(300).found() == [(60.0 + n, 1, False, [n + 1]) for n in range(40)]


def test_an_end_that_comes_late_by_a_moment_is_told_and_healed(bench: Make) -> None:
    work = bench({**CALL, "group_by": ["trace_id", "call_id"]}, where=CALLS)
    for second in range(5):
        work.call(second, call_id=f"c{second}")
    for second in range(5):
        work.done(second + 60.1, call_id=f"c{second}")
    assert work.found() == [(60.0 + n, 1, True, [n + 1]) for n in range(5)]


# -- runs --------------------------------------------------------------------------------------


def test_a_run_without_a_sign_of_life_is_told_from_its_last_one(bench: Make) -> None:
    work = bench(RUN, where=START).see(0, "agent_start", "started").done(50)
    assert work.advance(110).found() == []
    assert work.advance(110.5).found() == [(110.0, 1, False, [1])]
    assert work.groups()[0].value == 60.0


def test_any_sign_of_life_heals_it_and_a_second_silence_opens_it_again(bench: Make) -> None:
    work = bench(RUN, where=START).see(0, "agent_start", "started").advance(70).done(80)
    assert work.found() == [(60.0, 1, True, [1])]
    assert work.advance(140).found()[0][2] is True
    assert work.advance(140.5).found() == [(60.0, 2, False, [1, 1])]


def test_a_run_that_has_ended_may_be_silent(bench: Make) -> None:
    work = bench(RUN, where=START).see(0, "agent_start", "started").see(1, "agent_end", "completed")
    assert work.advance(900).finish().found() == []


def test_a_run_whose_sub_agent_has_ended_is_still_a_run(bench: Make) -> None:
    work = bench(RUN, where=START).see(0, "agent_start", "started", call_id="root")
    work.see(1, "agent_start", "started", call_id="a").see(2, "agent_end", "completed", call_id="a")
    assert work.advance(70).found() == [(62.0, 1, False, [1])]


def test_a_sub_agent_without_an_end_is_none_of_the_runs_silence(bench: Make) -> None:
    work = bench(RUN, where=START).see(0, "agent_start", "started", call_id="root")
    work.see(1, "agent_start", "started", call_id="a")
    work.see(2, "agent_end", "completed", call_id="root")
    assert work.advance(900).finish().found() == []


def test_a_file_that_ends_within_a_run_tells_so(bench: Make) -> None:
    work = bench(RUN, where=START).see(0, "agent_start", "started").done(5).finish()
    assert work.found() == [(5.0, 1, False, [1])]


def test_records_without_a_run_are_no_run(bench: Make) -> None:
    assert bench(RUN, where=START).done(0).advance(900).finish().found() == []


# -- mistakes ----------------------------------------------------------------------------------


def test_two_ways_to_end_a_wait_are_refused(problems: Callable[..., Any]) -> None:
    assert problems({**CALL, "until": PULSE, "overdue_at": PULSE}) == [
        "window.until: `until` and `pair` both say what ends the wait",
        "window.overdue_at: `overdue_at` and `pair` both say what ends the wait",
    ]


def test_the_end_of_a_trace_needs_groups_within_it(problems: Callable[..., Any]) -> None:
    window = {**DEADLINE, "group_by": ["agent"], "overdue_at": PULSE}
    assert problems(window, where=START) == [
        "window.overdue_at: `overdue_at` speaks of one trace, the groups span traces"
    ]
