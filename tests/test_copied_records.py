"""Records that a folder holds in several files count once, and sums over all files are the sums."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lastsignal.app import diagnose, in_order_of_time
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.engine import Engine
from lastsignal.core.engine.traces import MAX_TOLD
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer
from lastsignal.edges.inputs import FileSource
from lastsignal.edges.rulefiles import load_rules

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
    return {one.trace_id: one for one in diagnose(sources, load_rules()).traces}


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
        (one,) = diagnose(order, load_rules()).traces
        assert (one.trace_id, one.calls) == ("c-7", 5)
        assert (one.calls, one.input_tokens, one.output_tokens, one.cost_usd) == (
            whole.calls,
            whole.input_tokens,
            whole.output_tokens,
            whole.cost_usd,
        )
        assert (one.input_tokens, one.output_tokens, one.cost_usd) == (190, 16, 0.75)
