"""The shelf of traces: the idlest as bytes, and whoever asks never sees a difference."""

from __future__ import annotations

import pytest

from lastsignal.core.engine.shelf import Shelf
from lastsignal.core.engine.traces import OpenCall, TraceState
from lastsignal.core.groups import Group, Mark


def shelf(count: int, max_live: int) -> Shelf:
    """Return a shelf of traces t0, t1, …, each idle for longer than the next."""
    made = Shelf(max_live)
    for number in range(count):
        made.add(TraceState(trace_id=f"t{number}", started_at=0.0, last_at=float(number)))
    made.tidy()
    return made


def agent_trace(trace_id: str, source: str) -> TraceState:
    """Return a trace with a call that is open."""
    trace = TraceState(trace_id=trace_id, started_at=1.0, last_at=2.0, framework="native")
    trace.timeline = [Mark(1.0, source, 1, 0, "agent_start", {"status": "started"})]
    trace.open_agents = {"agent": Mark(1.0, source, 1, 0, "agent_start")}
    trace.open_calls = {
        "search": OpenCall(2.0, source, 2, 99, "tool_call", "search", None, "agent", None, None, 2)
    }
    return trace


def test_the_idlest_are_packed_and_half_of_what_is_allowed_stays() -> None:
    assert list(shelf(10, 6).live) == ["t7", "t8", "t9"]
    assert list(shelf(6, 6).live) == ["t0", "t1", "t2", "t3", "t4", "t5"]


def test_all_are_there_whatever_they_are_kept_as() -> None:
    made = shelf(10, 4)
    assert len(made) == 10
    assert sorted(made) == [f"t{number}" for number in range(10)]
    assert "t0" in made
    assert "t10" not in made
    assert made.get("t10") is None
    with pytest.raises(KeyError):
        made["t10"]


def test_what_is_changed_is_changed_for_good() -> None:
    made = shelf(4, 2)
    made["t0"].calls = 7
    made.tidy()
    made["t1"].calls = 8
    made.tidy()
    assert (made["t0"].calls, made["t1"].calls) == (7, 8)


def test_the_state_is_the_same_bytes_packed_or_not() -> None:
    made = shelf(2, 1)
    packed = made.state("t0")
    assert made["t0"].last_at == 0.0
    assert made.state("t0") == packed
    with pytest.raises(KeyError):
        made.state("t9")


def test_the_idlest_go_first_packed_or_not() -> None:
    made = shelf(10, 6)
    assert made.idlest(3) == ["t0", "t1", "t2"]
    assert made.idlest(8) == [f"t{number}" for number in range(8)]
    assert made.take("t0").last_at == 0.0
    assert made.take("t9").last_at == 9.0
    with pytest.raises(KeyError):
        made.take("t9")
    assert len(made) == 8
    assert made.idlest(1) == ["t1"]


def test_each_is_taken_out_once() -> None:
    made = shelf(10, 4)
    assert sorted(made.take_any().trace_id for _ in range(10)) == sorted(f"t{n}" for n in range(10))
    with pytest.raises(KeyError):
        made.take_any()


def test_a_trace_takes_the_place_of_its_elder_self() -> None:
    made = shelf(4, 2)
    made.add(TraceState(trace_id="t0", started_at=0.0, last_at=9.0, calls=5))
    assert len(made) == 4
    assert made["t0"].calls == 5


def test_a_trace_like_others_takes_few_bytes_and_one_unlike_them_comes_back_too() -> None:
    made = Shelf(2)
    for number in range(50):
        made.add(agent_trace(f"t{number}", "/var/log/agents/a.jsonl"))
    made.add(agent_trace("odd", "\0" + "".join(map(chr, range(200, 5000)))))
    made.tidy()

    assert sum(len(packed) for packed in made._packed.values()) < 50 * 150
    assert made["odd"] == agent_trace("odd", "\0" + "".join(map(chr, range(200, 5000))))
    assert made["t7"] == agent_trace("t7", "/var/log/agents/a.jsonl")


def test_a_shelf_that_takes_over_another_reads_what_that_has_packed() -> None:
    former, made = shelf(10, 4), Shelf(4)

    handed = [trace.trace_id for trace in made.adopt(former, lambda rules: True)]

    assert handed == ["t9", "t8"]  # those that were objects; the caller puts them in
    assert [made[f"t{number}"].last_at for number in range(8)] == [*map(float, range(8))]
    assert len(former) == 0


def test_of_more_kinds_than_are_told_apart_each_trace_is_asked_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lastsignal.core.engine.shelf.MAX_KINDS", 3)
    former, made = Shelf(0), Shelf(0)
    for number in range(6):
        trace = agent_trace(f"t{number}", "a.jsonl")
        trace.groups = {"k": Group(rule=f"rule{number}", values=[], trace_id=trace.trace_id)}
        former.add(trace)
    former.tidy()

    handed = [trace.trace_id for trace in made.adopt(former, lambda rules: "rule1" not in rules)]

    assert handed == ["t1", "t2", "t3", "t4", "t5"]
    assert made["t0"].groups["k"].rule == "rule0"
