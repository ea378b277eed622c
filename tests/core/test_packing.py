"""What is kept can always be written, whatever numbers a record has held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from kit.strategies import json_values

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import diagnose_trace
from lastsignal.core.diagnosis.findings import finding_id
from lastsignal.core.engine import Engine
from lastsignal.core.engine.traces import OpenCall, TraceState
from lastsignal.core.events import Event, metadata_value
from lastsignal.core.packing import pack
from lastsignal.edges.rulefiles import load_rules

HUGE = 10**30
MOST = 2**64 - 1


@given(value=json_values())
def test_any_json_value_is_packed(value: object) -> None:
    again = msgspec.msgpack.decode(pack(value))

    assert json.loads(json.dumps(again)) == json.loads(
        json.dumps(value), parse_int=lambda text: min(max(int(text), -(2**63)), MOST)
    )


def test_a_number_that_does_not_fit_becomes_the_nearest_that_does() -> None:
    value = {"a": [HUGE, -HUGE, True, 1.5, None, "x", b"raw"], "b": {"c": HUGE}}

    assert msgspec.msgpack.decode(pack(value)) == {
        "a": [MOST, -(2**63), True, 1.5, None, "x", b"raw"],
        "b": {"c": MOST},
    }


def test_a_trace_comes_back_with_all_else_as_it_was() -> None:
    trace = TraceState(trace_id="t", started_at=1.0, last_at=2.0, events=HUGE)
    trace.open_calls = {"x": OpenCall(2.0, "a", 2, 99, "tool_call", "x", None, None, None, HUGE, 2)}

    again = msgspec.msgpack.decode(pack(trace), type=TraceState)

    trace.events = trace.open_calls["x"].attempt = MOST
    assert again == trace


@pytest.mark.parametrize("number", [HUGE, -HUGE, 2**64, -(2**63) - 1])
def test_a_reader_that_holds_an_event_with_such_a_number_survives_a_restart(number: int) -> None:
    record = {"type": "tool_call", "tool": "x", "trace_id": "t", "size": number}
    reader, again = Reader("a.jsonl", LADDER, 5.0), Reader("a.jsonl", LADDER, 5.0)
    assert reader.read([(json.dumps(record).encode(), 0, 1)]) == []  # it waits for a time

    again.restore(reader.save())

    (event,) = again.finish()
    assert event.operation == "x"


RULE = """
id: job_fails
title: A job fails
status: experimental
severity: warning
category: none
description: Detects a job that fails twice.
summary: "job {metadata.job} failed"
cause: "job {metadata.job} failed"
remedy: Look at it.
false_positives: [A job that may fail.]
where: {event_type: tool_result, status: failed}
window: {kind: count, group_by: ["metadata.job"], at_least: 2, within: 10m}
tests:
  - name: twice
    events:
      - {event_type: tool_result, status: failed, metadata: {job: 7}, repeat: 2}
    expect: [{count: 2}]
  - name: once
    events:
      - {event_type: tool_result, status: failed, metadata: {job: 7}}
    expect: []
"""


def _read(reader: Reader, number: int, **record: Any) -> list[Event]:
    common = {"timestamp": 1760000000 + number, "trace_id": "t", "operation": "x"}
    return reader.read([(json.dumps({**common, **record}).encode(), number, number)])


def _restarted(engine: Engine) -> Engine:
    again = Engine(engine.rules, remembers=True)
    traces = [engine.memory.trace(one) for one in list(engine.traces)]
    groups = [engine.memory.group(key) for key in engine.state.shared.groups]
    again.memory.restore(engine.memory.header(), traces, groups)
    return again


@pytest.mark.parametrize("restarts", [False, True])
def test_what_numbers_beyond_64_bits_tell_apart_stays_apart(restarts: bool, tmp_path: Path) -> None:
    (tmp_path / "job_fails.yaml").write_text(RULE)
    engine = Engine(load_rules([tmp_path], builtin=False), remembers=True)
    reader = Reader("a.jsonl", LADDER, 0.0)
    for number, job in enumerate((1, 2, 1, 2)):
        failed = {"event_type": "tool_result", "status": "failed", "metadata": {"job": HUGE + job}}
        engine.feed(_read(reader, number, **failed))
        engine = _restarted(engine) if restarts else engine
    found = diagnose_trace(engine, engine.traces["t"], engine.shared_groups()).findings()
    assert {one.id: one.summary for one in found} == {
        finding_id("job_fails", {"metadata.job": HUGE + job}): f"job {HUGE + job} failed"
        for job in (1, 2)
    }


@pytest.mark.parametrize("restarts", [False, True])
def test_calls_pair_by_ids_beyond_64_bits(restarts: bool) -> None:
    engine, reader = Engine([], remembers=True), Reader("a.jsonl", LADDER, 0.0)
    steps = ("tool_call", "started", 1), ("tool_call", "started", 2), ("tool_result", "failed", 1)
    for number, (kind, status, call) in enumerate(steps):
        engine.feed(_read(reader, number, event_type=kind, status=status, call_id=HUGE + call))
        engine = _restarted(engine) if restarts else engine
    assert list(engine.traces["t"].open_calls) == [str(HUGE + 2)]


def test_an_event_that_was_held_says_the_same_of_such_a_number() -> None:
    record = {"type": "tool_call", "tool": "x", "trace_id": "t", "job": HUGE}
    reader, again = Reader("a.jsonl", LADDER, 5.0), Reader("a.jsonl", LADDER, 5.0)
    reader.read([(json.dumps(record).encode(), 0, 1)])
    again.restore(reader.save())
    (before,), (after,) = reader.finish(), again.finish()
    assert metadata_value(before, "job") == metadata_value(after, "job") == str(HUGE)
