"""What is kept can always be written, whatever numbers a record has held."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from kit.strategies import json_values

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.engine.traces import OpenCall, TraceState
from lastsignal.core.packing import pack

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
