"""The repeat window: the same again, cycles, and the same with other things in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

CALLS = {"event_type": "tool_call"}
CYCLE = {"kind": "repeat", "key": ["operation", "arguments_hash"], "at_least": 3, "min_period": 2}
SAME = {**CYCLE, "min_period": 1, "max_period": 1}
AMONG = {**SAME, "among": 5}


def calls(work: Any, names: str, start: float = 0.0) -> Any:
    for index, name in enumerate(names):
        work.call(start + index, operation=name, arguments_hash=name)
    return work


def test_a_cycle_of_two_fires_with_its_third_round(bench: Make) -> None:
    work = calls(bench(CYCLE, where=CALLS), "ABABA")
    assert work.found() == []
    assert calls(work, "B", 5).found() == [(5.0, 6, False, [1, 2, 3, 4, 5, 6])]
    assert work.groups()[0].value == 2.0


def test_a_cycle_of_four_is_found_and_of_five_is_not(bench: Make) -> None:
    assert calls(bench(CYCLE, where=CALLS), "ABCD" * 3).found()[0][:2] == (11.0, 12)
    assert calls(bench(CYCLE, where=CALLS), "ABCDE" * 4).found() == []


def test_what_comes_before_the_cycle_is_no_part_of_it(bench: Make) -> None:
    assert calls(bench(CYCLE, where=CALLS), "XYABABAB").found() == [
        (7.0, 6, False, [3, 4, 5, 6, 7, 8])
    ]


def test_a_broken_cycle_begins_anew(bench: Make) -> None:
    assert calls(bench(CYCLE, where=CALLS), "ABABXABAB").found() == []


def test_one_thing_repeated_is_no_cycle_of_two(bench: Make) -> None:
    assert calls(bench(CYCLE, where=CALLS), "AAAAAAAAAA").found() == []


def test_rounds_after_it_fired_are_counted(bench: Make) -> None:
    assert calls(bench(CYCLE, where=CALLS), "AB" * 5).found()[0][:2] == (5.0, 10)


def test_things_differ_by_any_field_of_the_key(bench: Make) -> None:
    work = bench(SAME, where=CALLS)
    for at, arguments in enumerate("xyx"):
        work.call(at, operation="A", arguments_hash=arguments)
    assert work.found() == []


def test_without_a_field_of_the_key_nothing_is_known_to_be_the_same(bench: Make) -> None:
    work = bench(SAME, where=CALLS)
    for at in range(5):
        work.call(at, operation="A")
    assert work.found() == []


def test_the_same_in_a_row_fires_at_the_third(bench: Make) -> None:
    assert calls(bench(SAME, where=CALLS), "AABAAA").found() == [(5.0, 3, False, [4, 5, 6])]


def test_texts_can_quote_the_first_thing_of_a_cycle(bench: Make) -> None:
    work = calls(bench(CYCLE, where=CALLS, cause="{first.operation} to {last.operation}"), "ABABAB")
    assert work.diagnosis().findings()[0].cause == "A to B"


def test_the_same_among_the_latest_fires_whatever_comes_between(bench: Make) -> None:
    assert calls(bench(AMONG, where=CALLS), "AXAYA").found() == [(4.0, 3, False, [1, 3, 5])]


def test_the_same_too_far_apart_is_quiet(bench: Make) -> None:
    assert calls(bench(AMONG, where=CALLS), "AXAYZA").found() == []


def test_once_is_no_repetition_and_long_cycles_are_refused(problems: Callable[..., Any]) -> None:
    assert problems({**CYCLE, "at_least": 1}) == ["window.at_least: `at_least` is 1"]
    assert problems({**CYCLE, "max_period": 20}) == ["window.max_period: `max_period` is 20"]
    assert problems({**AMONG, "among": 2}) == ["window.among: `among` is 2"]
