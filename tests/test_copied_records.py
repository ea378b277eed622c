"""Records that a folder holds in several files, be it under several ids, count once.

Sums over all files are the sums.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastsignal import app
from lastsignal.app import diagnose, in_order_of_time, read_ahead
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.engine import Engine, copies
from lastsignal.core.engine.traces import MAX_TOLD
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer
from lastsignal.edges.inputs import FileSource
from lastsignal.edges.rulefiles import load_rules

RULES = load_rules()
_USAGE = {"input_tokens": 40, "output_tokens": 2}


def turn(session: str, number: int) -> list[dict[str, Any]]:
    """A turn of a Claude session: a call of the model, one of a tool that fails, the answer."""

    def line(second: int, kind: str, **message: Any) -> dict[str, Any]:
        return {
            "type": kind, "sessionId": session, "uuid": f"{number}-{second}", "parentUuid": None,
            "timestamp": f"2026-04-02T08:{number:02d}:{second:02d}.000Z", "message": message,
        }  # fmt: skip

    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
    out = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "no", "is_error": True}
    said = {"type": "text", "text": "done"}
    asked = {"model": "opus-x", "usage": _USAGE}
    return [
        line(0, "user", role="user", content="go"),
        line(1, "assistant", id=f"{number}a", content=[call], stop_reason="tool_use", **asked),
        line(2, "user", role="user", content=[out]),
        line(3, "assistant", id=f"{number}b", content=[said], stop_reason="end_turn", **asked),
    ]


def write(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def judged(*paths: Path) -> dict[str, Diagnosis]:
    sources = in_order_of_time([FileSource(path, path.name) for path in paths])
    return {one.trace_id: one for one in diagnose(sources, RULES).traces}


def used(one: Diagnosis) -> tuple[int, int, int, int]:
    return one.calls, one.failures, one.input_tokens, one.output_tokens


def test_a_resumed_claude_session_in_two_files_counts_once(tmp_path: Path) -> None:
    before, after = turn("s-one", 1), turn("s-one", 2)
    first = write(tmp_path / "a.jsonl", before)
    alone = judged(first)["s-one"]
    assert used(alone) == (3, 1, 80, 4)
    second = write(tmp_path / "b.jsonl", [*before, *after])
    for paths in ((first, second), (second, first)):
        assert used(judged(*paths)["s-one"]) == (6, 2, 160, 8)


def test_what_only_the_copy_holds_is_told(tmp_path: Path) -> None:
    records = turn("s-one", 1)
    first = write(tmp_path / "a.jsonl", records[:2])
    second = write(tmp_path / "b.jsonl", records)
    one = judged(first, second)["s-one"]
    assert used(one) == (3, 1, 80, 4)
    assert one.outcome == "recovered"


def test_a_copy_is_known_by_an_engine_that_was_restarted() -> None:
    before, after = Engine([], remembers=True), Engine([], remembers=True)
    before.feed(events("a.jsonl", turn("s-one", 1)))
    after.memory.restore(before.memory.header(), [before.memory.trace("s-one")], [])
    after.feed(events("b.jsonl", turn("s-one", 1)))
    trace = after.traces.get("s-one")
    assert trace is not None
    assert (trace.calls, trace.input_tokens) == (3, 80)


def events(source: str, records: Sequence[dict[str, Any]]) -> list[Event]:
    reader = Reader(source, LADDER, 0.0)
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    return reader.read(Framer().feed(data)) + reader.finish()


def test_what_a_trace_remembers_of_its_events_is_bounded() -> None:
    engine = Engine([])
    told = {"trace_id": "t", "event_type": "model_call", "operation": "m", "status": "completed"}
    for number in range(MAX_TOLD + 5):
        engine.feed([Event(timestamp=float(number), identity=str(number), **told)])
    trace = engine.traces.get("t")
    assert trace is not None
    assert (trace.calls, len(trace.told)) == (MAX_TOLD + 5, MAX_TOLD)


def goes_on_as(session: str, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records with which a session begins that goes on with another one."""
    return [{**record, "sessionId": session} for record in records]


def two_sessions(folder: Path) -> tuple[Path, Path]:
    """A session, and the one that goes on with it; by name the second comes first."""
    old = [*turn("s-old", 1), *turn("s-old", 2)]
    first = write(folder / "z.jsonl", old)
    second = write(folder / "a.jsonl", [*goes_on_as("s-new", old), *turn("s-new", 3)])
    os.utime(first, (1_775_000_000, 1_775_000_000))
    os.utime(second, (1_775_000_100, 1_775_000_100))
    return first, second


def test_a_session_that_goes_on_under_another_id_counts_what_is_new(tmp_path: Path) -> None:
    first, second = two_sessions(tmp_path)
    for paths in ((first, second), (second, first)):
        found = judged(*paths)
        assert used(found["s-old"]) == (6, 2, 160, 8)
        assert used(found["s-new"]) == (3, 1, 80, 4)
        assert (found["s-new"].events, found["s-new"].outcome) == (6, "recovered")
        assert found["s-new"].started_at == found["s-old"].started_at + 120


@pytest.mark.parametrize("swapped", [False, True])
def test_whichever_of_them_is_read_first_the_sums_are_the_same(
    swapped: bool, tmp_path: Path
) -> None:
    first, second = two_sessions(tmp_path)
    paths = (second, first) if swapped else (first, second)
    report = diagnose([FileSource(path, path.name) for path in paths], RULES)
    sums = zip(*map(used, report.traces), strict=True)
    assert tuple(map(sum, sums)) == (9, 3, 240, 12)
    assert len({finding.id for finding in report.findings()}) == len(report.findings())
    assert [trace.trace_id for trace in report.traces] == (
        ["s-new"] if swapped else ["s-old", "s-new"]
    )


@given(seed=st.integers(0, 10_000))
@settings(max_examples=200, deadline=None)
def test_sessions_that_fork_add_up_however_their_files_are_read_side_by_side(seed: int) -> None:
    chance = random.Random(seed)
    sessions = [turn("s0", 0)]
    for number in range(1, chance.randint(2, 6)):
        copied = chance.choice(sessions)
        until = chance.randint(1, len(copied))
        prompts = [at for at in range(until) if copied[at]["uuid"].endswith("-0")]
        kept = copied[chance.choice(prompts) : until]
        begun = goes_on_as(f"s{number}", kept) if chance.random() < 0.8 else []
        sessions.append([*begun, *turn(f"s{number}", number)])
    engine = Engine([])
    waiting = [
        (Reader(f"{number}.jsonl", LADDER, 0.0), Framer(), [*session])
        for number, session in enumerate(sessions)
    ]
    while waiting:
        reader, framer, records = one = chance.choice(waiting)
        piece = [records.pop(0) for _ in range(min(len(records), chance.randint(1, 5)))]
        data = b"".join(json.dumps(record).encode() + b"\n" for record in piece)
        engine.feed(reader.read(framer.feed(data)))
        if not records:
            waiting.remove(one)
    traces = [engine.traces[name] for name in engine.traces]
    asked = sum(trace.input_tokens for trace in traces)
    counts = [sum(getattr(trace, name) for trace in traces) for name in ("calls", "failures")]
    assert (*counts, asked) == (3 * len(sessions), len(sessions), 80 * len(sessions))


def test_a_trace_of_nothing_but_copies_is_none(tmp_path: Path) -> None:
    old = turn("s-old", 1)
    first = write(tmp_path / "a.jsonl", old)
    second = write(tmp_path / "b.jsonl", goes_on_as("s-new", old))
    report = diagnose([FileSource(path, path.name) for path in (first, second)], RULES)
    assert [trace.trace_id for trace in report.traces] == ["s-old"]
    assert [one.skipped for one in report.inputs] == [
        {"prompt": 1}, {"copied_record": 3, "prompt": 1}
    ]  # fmt: skip


def test_a_session_may_begin_with_the_middle_of_a_run(tmp_path: Path) -> None:
    old = turn("s-old", 1)
    first = write(tmp_path / "a.jsonl", old)
    kept = goes_on_as("s-new", old[3:])
    assert judged(first, write(tmp_path / "b.jsonl", kept)).keys() == {"s-old"}
    found = judged(first, write(tmp_path / "b.jsonl", [*kept, *turn("s-new", 2)]))
    assert (used(found["s-new"]), found["s-new"].events) == ((3, 1, 80, 4), 6)
    assert found["s-new"].started_at == found["s-old"].started_at + 60


def test_a_failed_run_that_was_copied_is_told_once(tmp_path: Path) -> None:
    gave_up = turn("s-old", 1)
    said = {"role": "assistant", "content": [{"type": "text", "text": "API Error: 529 overloaded"}]}
    gave_up[3] |= {"isApiErrorMessage": True, "message": {"id": "1b", "model": "opus-x", **said}}
    first = write(tmp_path / "a.jsonl", gave_up)
    rules = [finding.rule for finding in judged(first)["s-old"].findings()]
    assert "run_failed" in rules
    second = write(tmp_path / "b.jsonl", [*goes_on_as("s-new", gave_up), *turn("s-new", 2)])
    found = judged(first, second)
    assert [finding.rule for finding in found["s-old"].findings()] == rules
    assert found["s-new"].findings() == []
    assert used(found["s-new"]) == (3, 1, 80, 4)


def test_a_call_that_was_copied_ends_in_the_session_that_goes_on(tmp_path: Path) -> None:
    records = turn("s-old", 1)
    first = write(tmp_path / "a.jsonl", records[:2])
    second = write(tmp_path / "b.jsonl", goes_on_as("s-new", records))
    found = judged(first, second)
    assert used(found["s-old"]) == (2, 0, 40, 2)
    assert used(found["s-new"]) == (1, 1, 40, 2)  # the answer; the call counts where it began
    assert found["s-new"].outcome == "recovered"


def test_a_call_that_was_copied_and_never_ends_is_told_of_once(tmp_path: Path) -> None:
    records = turn("s-old", 1)
    first = write(tmp_path / "a.jsonl", records[:2])
    alone = judged(first)["s-old"]
    later = turn("s-new", 59)[3:]
    second = write(tmp_path / "b.jsonl", [*goes_on_as("s-new", records[:2]), *later])
    found = judged(first, second)
    assert [one.rule for one in found["s-old"].findings()] == [one.rule for one in alone.findings()]
    assert found["s-new"].findings() == []
    assert used(found["s-new"]) == (1, 0, 40, 2)


def test_sessions_that_have_only_their_times_in_common_are_two(tmp_path: Path) -> None:
    def other(record: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps({**record, "sessionId": "s-two", "uuid": f"x{record['uuid']}"})
        for name in ("t1", "1a", "1b"):
            text = text.replace(f'"{name}"', f'"x{name}"')
        renamed: dict[str, Any] = json.loads(text)
        return renamed

    records = turn("s-one", 1)
    first = write(tmp_path / "a.jsonl", records)
    second = write(tmp_path / "b.jsonl", [other(record) for record in records])
    found = judged(first, second)
    assert used(found["s-one"]) == used(found["s-two"]) == (3, 1, 80, 4)


_FIXTURES = Path(__file__).parent / "core" / "aliases" / "fixtures"
_TIMELESS = {"codex_rollout/failing-legacy.jsonl", "codex_rollout/healthy-legacy.jsonl"}
"""Of versions whose items have no time: nothing tells a copy from the same once more."""
_SESSIONS = [
    pytest.param(path, id=f"{name}/{path.name}")
    for name in [dialect.name for dialect in LADDER if dialect.is_copied]
    for path in sorted((_FIXTURES / name).glob("*.jsonl"))
    if f"{name}/{path.name}" not in _TIMELESS
]


@pytest.mark.parametrize("path", _SESSIONS)
def test_a_session_that_was_copied_under_another_id_counts_once(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    named = re.search(r'"(?:sessionId|session_id)": ?"([^"]+)"', text)
    named = named or re.search(r'"id": ?"([^"]+)"', text)
    assert named is not None
    (tmp_path / "a.jsonl").write_text(text)
    (tmp_path / "b.jsonl").write_text(text.replace(f'"{named[1]}"', '"another"'))
    alone, both = judged(tmp_path / "a.jsonl"), judged(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert list(map(used, both.values())) == list(map(used, alone.values()))
    assert [one.findings() for one in both.values()] == [one.findings() for one in alone.values()]


def test_a_copy_under_another_id_is_known_by_an_engine_that_was_restarted() -> None:
    before, after = Engine([], remembers=True), Engine([], remembers=True)
    old = turn("s-old", 1)
    before.feed(events("a.jsonl", old))
    after.memory.restore(before.memory.header(), [before.memory.trace("s-old")], [])
    after.feed(events("b.jsonl", goes_on_as("s-new", old)))
    trace = after.traces.get("s-new")
    assert trace is not None
    assert (trace.events, trace.calls, trace.open_calls, trace.runs) == (0, 0, {}, False)


def test_a_copy_under_another_id_is_known_by_an_engine_with_other_rules() -> None:
    before, after = Engine([], remembers=True), Engine([], remembers=True)
    old = turn("s-old", 1)
    before.feed(events("a.jsonl", old))
    after.memory.take_over(before.memory)
    after.feed(events("b.jsonl", goes_on_as("s-new", old)))
    assert len(after.copies) == 6


def test_what_is_known_of_all_traces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MAX_OWNED", 10)
    engine = Engine([])
    told = {"event_type": "model_call", "operation": "m", "status": "completed"}
    for number in range(20):
        engine.feed([Event(timestamp=1.0, identity=str(number), trace_id=f"t{number}", **told)])
    for number, is_known in ((19, True), (0, False)):
        engine.feed([Event(timestamp=1.0, identity=str(number), trace_id="other", **told)])
        assert bool(engine.copies) is is_known


def test_what_is_told_in_the_process_that_reads_ahead_is_a_copy_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "WORTH_BYTES", 0)
    two_sessions(tmp_path)
    reports = []
    for jobs in (1, 2):
        sources = in_order_of_time([FileSource(path, path.name) for path in tmp_path.iterdir()])
        with read_ahead(sources, LADDER, jobs) as ahead:
            reports.append(msgspec.json.encode(diagnose(sources, RULES, ahead=ahead)))
    assert reports[0] == reports[1]
    assert b'"copied_record":6' in reports[0]


def conversation(place: Path) -> list[dict[str, Any]]:
    """An OpenHands conversation, one event a file; two calls of tools for one answer."""

    def event(second: int, kind: str, source: str = "agent", **fields: Any) -> dict[str, Any]:
        return {
            "id": f"e{second}", "timestamp": f"2026-04-02T08:00:{second:02d}.000000",
            "kind": kind, "source": source, **fields,
        }  # fmt: skip

    def action(second: int, answer: str) -> dict[str, Any]:
        call_id = f"c{second}"
        return event(
            second, "ActionEvent", tool_name="terminal", tool_call_id=call_id,
            llm_response_id=answer, action={"kind": "TerminalAction", "command": "ls"},
        )  # fmt: skip

    def stats(second: int, cost: float, asked: int, answered: int) -> dict[str, Any]:
        usage = {"prompt_tokens": asked, "completion_tokens": answered}
        sums = {
            "accumulated_cost": cost, "max_budget_per_task": 0.2, "accumulated_token_usage": usage
        }  # fmt: skip
        value = {"usage_to_metrics": {"agent": sums}}
        return event(
            second, "ConversationStateUpdateEvent", "environment", key="stats", value=value
        )

    written = [
        event(0, "MessageEvent", "user", llm_message={"role": "user", "content": []}),
        action(1, "r1"),
        action(2, "r1"),
        stats(3, 0.25, 70, 6),
        action(4, "r2"),
        stats(5, 0.75, 190, 16),
    ]
    place.mkdir(parents=True)
    for number, record in enumerate(written):
        write(place / f"event-{number:05d}-{record['id']}.json", [record])
    return written


def test_sums_over_a_conversation_are_those_of_its_latest_file(tmp_path: Path) -> None:
    place = tmp_path / "conversations" / "c-7" / "events"
    written = conversation(place)
    paths = sorted(place.iterdir())
    sources = [FileSource(path, str(path)) for path in paths]
    whole = judged(write(tmp_path / "all.jsonl", written))["all.jsonl"]
    for order in (sources, sources[::-1]):
        (one,) = diagnose(order, RULES).traces
        assert (one.trace_id, one.calls) == ("c-7", 5)
        assert (one.calls, one.input_tokens, one.output_tokens, one.cost_usd) == (
            whole.calls,
            whole.input_tokens,
            whole.output_tokens,
            whole.cost_usd,
        )
        assert (one.input_tokens, one.output_tokens, one.cost_usd) == (190, 16, 0.75)
