"""The laws: cutting, batching and restarting never change a finding."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lastsignal.app import diagnoses
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer
from lastsignal.edges.rulefiles import load_rules

RULES = load_rules()
ERRORS = ("HTTP 429 Too Many Requests", "TimeoutError: timed out", "HTTP 401 Unauthorized", "boom")

records = st.fixed_dictionaries(
    {
        "trace_id": st.sampled_from(["t1", "t2"]),
        "event_type": st.sampled_from(
            "agent_start tool_call tool_result tool_result retry model_call agent_end"
            " process_error audit".split()
        ),
        "gap": st.sampled_from([-2.0, 0.0, 0.3, 1.0, 20.0, 400.0]),
    },
    optional={
        "operation": st.sampled_from(["search", "fetch", "budget"]),
        "status": st.sampled_from(["started", "completed", "failed", "failed", "aborted"]),
        "error_message": st.sampled_from(ERRORS),
        "attempt": st.integers(1, 4),
        "call_id": st.sampled_from(["c1", "c2"]),
        "metadata": st.sampled_from(
            [
                {"arguments": {"q": 1}},
                {"arguments": {"q": 2}},
                {"input_tokens": 900, "output_tokens": 90, "cost_usd": 7.5},
                {"total_cost_usd": 1450.0, "budget_limit": 1200.0},
            ]
        ),
    },
)


def lines_of(made: Sequence[dict[str, Any]]) -> bytes:
    """Write made records as a file would hold them, a line of noise among them."""
    now, lines = 1_730_000_000.0, []
    for index, record in enumerate(made):
        now += record["gap"]
        written = {"timestamp": round(now, 3), **{k: v for k, v in record.items() if k != "gap"}}
        lines.append(json.dumps(written))
        if index % 7 == 3:
            lines.append("INFO the agent is thinking")
    return "\n".join(lines).encode()


def read(data: bytes, cuts: Iterable[int] = ()) -> list[Event]:
    """Read a file that arrives in the pieces that the cuts make."""
    framer, reader, events, start = Framer(), Reader("trace.jsonl", LADDER, 0.0), [], 0
    for cut in sorted({min(cut, len(data)) for cut in cuts}):
        events += reader.read(framer.feed(data[start:cut]))
        start = cut
    events += reader.read(framer.feed(data[start:]))
    events += reader.read(framer.finish())
    return events + reader.finish()


def judged(engine: Engine) -> list[Diagnosis]:
    """End the input and return what it says."""
    engine.finish()
    return diagnoses(engine)


@given(made=st.lists(records, max_size=40), cuts=st.lists(st.integers(0, 6000), max_size=12))
@settings(deadline=None, max_examples=60)
def test_cutting_a_file_into_other_pieces_never_changes_a_finding(
    made: list[dict[str, Any]], cuts: list[int]
) -> None:
    data = lines_of(made)
    whole, pieces = Engine(RULES), Engine(RULES)

    whole.feed(read(data))
    pieces.feed(read(data, cuts))

    assert judged(pieces) == judged(whole)


@given(
    made=st.lists(records, max_size=40), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=40)
)
@settings(deadline=None, max_examples=60)
def test_batching_events_otherwise_never_changes_a_finding(
    made: list[dict[str, Any]], sizes: list[int]
) -> None:
    data = lines_of(made)
    whole, batched = Engine(RULES), Engine(RULES)

    whole.feed(read(data))
    rest = read(data)
    for size in sizes:
        batched.feed(rest[:size])
        rest = rest[size:]
    batched.feed(rest)

    assert judged(batched) == judged(whole)


@given(made=st.lists(records, max_size=40))
@settings(deadline=None, max_examples=60)
def test_keeping_traces_as_bytes_never_changes_a_finding(made: list[dict[str, Any]]) -> None:
    data = lines_of(made)
    objects, packed = Engine(RULES), Engine(RULES, max_live=0)

    objects.feed(read(data))
    for event in read(data):
        packed.feed([event])
        assert not packed.traces.live
    traces = [*packed.traces.values(), packed.state.shared]
    counted = Counter(group.rule for trace in traces for group in trace.groups.values())

    assert +packed.state.tally == counted
    assert judged(packed) == judged(objects)


@given(made=st.lists(records, min_size=1, max_size=40), at=st.integers(0, 40))
@settings(deadline=None, max_examples=60)
def test_a_restart_at_any_event_never_changes_a_finding(
    made: list[dict[str, Any]], at: int
) -> None:
    data = lines_of(made)
    undisturbed, before, after = Engine(RULES), Engine(RULES), Engine(RULES)

    undisturbed.feed(read(data))
    events = read(data)
    before.feed(events[:at])
    traces = [before.memory.trace(trace_id) for trace_id in before.traces]
    groups = [before.memory.group(key) for key in before.state.shared.groups]
    after.memory.restore(before.memory.header(), traces, groups)
    after.feed(events[at:])

    assert judged(after) == judged(undisturbed)
