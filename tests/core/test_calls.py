"""The call table: what counts as a call, and which end belongs to which start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

Make = Callable[..., Any]

WINDOW = {
    "kind": "streak",
    "group_by": ["trace_id", "operation"],
    "at_least": 2,
    "reset": {"event_type": "tool_result", "status": "completed"},
}


def counted(work: Any) -> tuple[str, int, int]:
    """Return the outcome, the calls and the failures of the trace."""
    diagnosis = work.diagnosis()
    return diagnosis.outcome, diagnosis.calls, diagnosis.failures


def test_a_start_and_its_end_are_one_call(bench: Make) -> None:
    assert counted(bench(WINDOW).call(0).done(1)) == ("succeeded", 1, 0)


def test_an_end_without_a_start_is_a_call(bench: Make) -> None:
    assert counted(bench(WINDOW).done(1).done(2)) == ("succeeded", 2, 0)


def test_an_attempt_that_only_a_retry_announces_is_a_call(bench: Make) -> None:
    work = bench(WINDOW).call(0).fail(1).see(2, "retry", "started").done(3)
    assert counted(work) == ("recovered", 2, 1)


def test_a_retry_and_the_start_that_follows_it_are_one_call(bench: Make) -> None:
    work = bench(WINDOW).call(0).fail(1).see(2, "retry", "started").call(2).done(3)
    assert counted(work) == ("recovered", 2, 1)


def test_a_retry_within_a_call_that_goes_on_is_no_other_call(bench: Make) -> None:
    work = bench(WINDOW).call(0).see(1, "retry", "started").see(2, "retry", "started").done(3)
    assert counted(work) == ("succeeded", 1, 0)


def test_a_retry_whose_attempt_has_an_id_of_its_own_leaves_nothing_open(bench: Make) -> None:
    work = bench(WINDOW).call(0, call_id="a").fail(1, call_id="a").see(2, "retry", "started")
    assert counted(work.call(2, call_id="b").done(3, call_id="b")) == ("recovered", 2, 1)


def test_the_cost_of_a_run_counts_once_whether_calls_or_the_end_tell_it(bench: Make) -> None:
    def cost(*told: float | None, at_end: float) -> float:
        work = bench(WINDOW).see(0, "agent_start", "started", call_id="r")
        for second, one in enumerate(told, 1):
            work = work.see(second, "model_call", "completed", cost_usd=one)
        work = work.see(9, "agent_end", "completed", call_id="r", cost_usd=at_end)
        return float(work.diagnosis().cost_usd)

    assert cost(0.25, 0.5, at_end=0.75) == 0.75
    assert cost(None, None, at_end=0.75) == 0.75


def test_only_the_outermost_end_tells_the_cost_of_the_run(bench: Make) -> None:
    work = bench(WINDOW).see(0, "agent_start", "started", call_id="r")
    work = work.see(1, "agent_start", "started", call_id="s", parent_id="r")
    work = work.see(2, "agent_end", "completed", call_id="s", parent_id="r", cost_usd=0.5)
    work = work.see(3, "agent_end", "completed", call_id="r", cost_usd=0.75)

    assert work.diagnosis().cost_usd == 0.75


def test_a_sum_that_no_call_tells_is_counted(bench: Make) -> None:
    work = bench(WINDOW).see(0, "model_call", "completed")
    work = work.see(1, "audit", "completed", operation="usage", input_tokens=7, cost_usd=0.5)

    diagnosis = work.diagnosis()
    assert (diagnosis.input_tokens, diagnosis.cost_usd, diagnosis.calls) == (7, 0.5, 1)


@pytest.mark.parametrize("metadata", [{"goes_on": True}, msgspec.Raw(b'{"goes_on":true}')])
def test_an_agent_that_goes_on_has_not_ended_before(bench: Make, metadata: Any) -> None:
    work = bench(WINDOW).see(0, "agent_start", "started", agent="a").call(1).done(2)
    work = work.see(3, "agent_end", "completed", agent="a")
    assert counted(work)[0] == "succeeded"

    work = work.see(4, "agent_start", "started", agent="a", metadata=metadata)

    assert counted(work)[0] == "unfinished"
