"""The sum window: an amount reached, over a group's life or within a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., Any]

MODEL = {"event_type": "model_call", "status": "completed"}
SUM = {"kind": "sum", "field": "cost_usd", "at_least": 10}


def spend(work: Any, at: float, amount: float | None, **fields: Any) -> Any:
    return work.see(at, "model_call", "completed", cost_usd=amount, **fields)


def test_the_amount_is_reached_exactly(bench: Make) -> None:
    work = bench(SUM, where=MODEL)
    spend(spend(work, 0, 4.0), 100, 5.99)
    assert work.found() == []
    assert spend(work, 200, 0.01).found() == [(200.0, 1, False, [3])]
    assert work.groups()[0].value == 10.0


def test_amounts_beyond_it_go_on_being_added(bench: Make) -> None:
    work = bench(SUM, where=MODEL)
    spend(spend(work, 0, 12.0), 1, 3.0)
    assert work.found() == [(0.0, 2, False, [1, 2])]
    assert work.groups()[0].value == 15.0


def test_events_without_an_amount_change_nothing(bench: Make) -> None:
    work = bench(SUM, where=MODEL)
    spend(spend(spend(work, 0, 9.0), 1, None), 2, 0.0)
    assert work.found() == []


def test_within_a_time_old_amounts_leave(bench: Make) -> None:
    work = bench({**SUM, "within": 60}, where=MODEL)
    spend(spend(work, 0, 6.0), 60.1, 6.0)
    assert work.found() == []
    assert spend(work, 61, 4.0).found() == [(61.0, 1, False, [3])]


def test_an_amount_exactly_as_old_as_the_window_still_counts(bench: Make) -> None:
    work = bench({**SUM, "within": 60}, where=MODEL)
    assert spend(spend(work, 0, 6.0), 60, 4.0).found() == [(60.0, 1, False, [2])]


def test_many_small_amounts_add_up_without_drift(bench: Make) -> None:
    work = bench({**SUM, "within": 1000, "at_least": 1.0}, where=MODEL)
    for at in range(9):
        spend(work, at, 0.1)
    assert work.found() == []
    assert spend(work, 9, 0.1).found()[0][0] == 9.0


def test_several_fields_are_added_up_and_one_may_be_missing(bench: Make) -> None:
    window = {"kind": "sum", "field": ["input_tokens", "output_tokens"], "at_least": 100}
    work = bench(window, where=MODEL)
    work.see(0, "model_call", "completed", input_tokens=60, output_tokens=10)
    work.see(1, "model_call", "completed", output_tokens=29)
    assert work.found() == []
    assert work.see(2, "model_call", "completed", input_tokens=1).found() == [(2.0, 1, False, [3])]


def test_metadata_can_be_summed_and_text_in_it_is_no_amount(bench: Make) -> None:
    work = bench({"kind": "sum", "field": "metadata.rows", "at_least": 5}, where=MODEL)
    work.see(0, "model_call", "completed", metadata={"rows": 4})
    work.see(1, "model_call", "completed", metadata={"rows": "9"})
    assert work.found() == []
    assert work.see(2, "model_call", "completed", metadata={"rows": 1}).found() != []


def test_text_fields_and_no_fields_are_refused(problems: Callable[..., Any]) -> None:
    assert problems({**SUM, "field": ["cost_usd", "model"]}) == ["window.field[1]: `model` is text"]
    assert problems({**SUM, "field": []}) == ["window.field: there is nothing to sum up"]


# -- the total of a trace ------------------------------------------------------------------------

TOTAL = {**SUM, "of": "trace"}


def test_the_total_of_a_trace_is_that_of_all_its_model_calls(bench: Make) -> None:
    work = bench(TOTAL, where={**MODEL, "operation": "big"})
    spend(spend(work, 0, 6.0, operation="small"), 1, 3.9, operation="big")
    assert work.found() == []
    assert spend(work, 2, 0.1, operation="big").found() == [(2.0, 1, False, [3])]
    assert work.groups()[0].value == 10.0


def test_totals_of_several_fields_are_added_up(bench: Make) -> None:
    window = {
        "kind": "sum",
        "of": "trace",
        "field": ["input_tokens", "output_tokens"],
        "at_least": 9,
    }
    work = bench(window, where=MODEL).see(0, "model_call", "completed", input_tokens=4)
    assert work.found() == []
    work.see(1, "model_call", "completed", output_tokens=5)
    assert work.found() == [(1.0, 1, False, [2])]


def test_each_trace_has_a_total_of_its_own(bench: Make) -> None:
    work = bench(TOTAL, where=MODEL)
    spend(spend(work, 0, 6.0, trace_id="a"), 1, 6.0, trace_id="b")
    assert work.found() == []


def test_only_totals_that_a_trace_has_can_be_asked_for(problems: Callable[..., Any]) -> None:
    assert problems({**TOTAL, "field": "duration_seconds", "within": 60}) == [
        "window.of: `of: trace` is the total of one trace from its beginning",
        "window.field: a trace has no total of `duration_seconds`",
    ]
