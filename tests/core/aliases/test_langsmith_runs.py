"""LangSmith runs: whole, as create and patch, in batches and trees, parents first or last."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
ROOT, STEP, MODEL, TOOL = (f"aaaa0000-0000-4000-8000-00000000000{n}" for n in range(4))
DAY = "2026-03-04T05:06:"
EPOCH = 1772600760.0  # 2026-03-04T05:06:00Z


def run(
    run_id: str, run_type: str, name: str, seconds: tuple[float, float | None], **fields: Any
) -> dict[str, Any]:
    parents = fields.pop("parents", [ROOT] if run_id != ROOT else [])
    order = ".".join(f"20260304T0506{0:02d}000000Z{i}" for i in [*parents, run_id])
    start, end = seconds
    return {
        "id": run_id, "name": name, "run_type": run_type, "trace_id": ROOT, "dotted_order": order,
        "start_time": f"{DAY}{start:09.6f}+00:00", "error": None, "tags": [], "inputs": {},
        "end_time": f"{DAY}{end:09.6f}+00:00" if end is not None else None, "outputs": {}, **fields,
    }  # fmt: skip


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def glued(kind: str, message: str, frame: str) -> str:
    """How LangChain writes an error: the repr, and the traceback without a space between."""
    return (
        f"{kind}('{message}')Traceback (most recent call last):\n\n\n"
        f'  File "/app/{frame}", line 1, in f\n    f()\n\n\n{kind}: {message}'
    )


def generations(**info: Any) -> dict[str, Any]:
    usage = {"input_tokens": 40, "output_tokens": 8}
    message = {"lc": 1, "type": "constructor", "kwargs": {"type": "ai", "usage_metadata": usage}}
    return {"generations": [[{"message": message, "generation_info": info}]], "llm_output": None}


NAMED = {"metadata": {"ls_model_name": "model-y", "langgraph_node": "plan", "langgraph_step": 2}}


def test_a_healthy_trace_counts_tokens_once_and_pairs_calls(read: Read) -> None:
    total = {"prompt_tokens": 40, "completion_tokens": 8, "total_cost": "0.02"}
    events, reader = read(
        run(ROOT, "chain", "Agent", (0, 9), **total),
        run(STEP, "chain", "plan", (1, 4), **total),
        run(
            MODEL, "llm", "ChatAcme", (2, 3), parents=[ROOT, STEP], extra=NAMED,
            outputs=generations(finish_reason="stop"), **total,
        ),
        run(TOOL, "retriever", "Store", (5, 6), inputs={"query": "error 429?"}),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "Agent", "started"),
        ("model_call", "model-y", "started"),
        ("model_call", "model-y", "completed"),
        ("tool_call", "Store", "started"),
        ("tool_result", "Store", "completed"),
        ("agent_end", "Agent", "completed"),
    ]
    answer = events[2]
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (40, 8, 0.02)
    assert (answer.finish_reason, answer.duration_seconds) == ("stop", 1.0)
    assert sum(event.input_tokens or 0 for event in events) == 40
    assert events[1].metadata == {"node": "plan", "step": 2}
    assert {event.agent for event in events} == {"Agent"}
    assert [event.timestamp - EPOCH for event in events] == [0, 2, 3, 5, 6, 9]
    assert {event.parent_id for event in events[1:5]} == {ROOT}
    assert reader.skipped == {"structural_span": 1}


def test_a_failure_passed_on_by_parents_that_come_first_is_told_once(read: Read) -> None:
    error = glued("RateLimitError", "Error code: 429 - slow", "langchain_core/tools/base.py")
    events, _ = read(
        run(ROOT, "chain", "Agent", (0, 9), error=error),
        run(STEP, "chain", "plan", (1, 8), error=error),
        run(TOOL, "tool", "fetch", (2, 3), parents=[ROOT, STEP], error=error),
    )
    assert shape(events) == [
        ("agent_start", "Agent", "started"),
        ("tool_call", "fetch", "started"),
        ("tool_result", "fetch", "failed"),
        ("agent_end", "Agent", "failed"),
    ]
    failed = events[2]
    assert (failed.error_type, failed.error_message) == ("RateLimitError", "Error code: 429 - slow")
    assert (failed.http_status, failed.error_class) == (429, "rate_limit")


def test_a_failure_passed_on_by_parents_that_come_last_is_told_once(read: Read) -> None:
    events, _ = read(
        run(TOOL, "tool", "fetch", (2, 3), parents=[ROOT, STEP], error="ValueError('no city')"),
        run(STEP, "chain", "plan", (1, 8), error="ValueError('no city')"),
        run(ROOT, "chain", "Agent", (0, 9), error="Exception('plan failed: no city')"),
    )
    assert [(event.event_type, event.status) for event in events if event.status == "failed"] == [
        ("tool_result", "failed"),
        ("agent_end", "failed"),
    ]


def test_a_handled_tool_error_leaves_the_run_well(read: Read) -> None:
    events, _ = read(
        run(TOOL, "tool", "fetch", (2, 3), error="TimeoutError('slow')"),
        run(ROOT, "chain", "Agent", (0, 9)),
    )
    assert shape(events)[-2:] == [
        ("tool_result", "fetch", "failed"),
        ("agent_end", "Agent", "completed"),
    ]


def test_a_root_that_fails_by_itself_has_a_failure_of_its_own(read: Read) -> None:
    error = glued("RuntimeError", "agent crashed", "langchain_core/runnables/base.py")
    events, _ = read(run(ROOT, "chain", "Agent", (0, 9), error=error))
    assert shape(events) == [
        ("agent_start", "Agent", "started"),
        ("process_error", "Agent", "failed"),
        ("agent_end", "Agent", "failed"),
    ]
    assert events[1].parent_id == ROOT
    assert events[1].error_message == "agent crashed"


@pytest.mark.parametrize(
    ("error", "beside", "crashed"),
    [
        ("boom", {}, True),
        ("ValueError: x", {"outputs": {"output": ["half", "of it"]}}, True),
        ("boom", {"outputs": {"output": ["half", "of it"]}}, False),
        ("ValueError: x", {"outputs": {"output": "all of it"}}, False),
        ("ValueError: x", {"outputs": {"output": [], "messages": ["all"]}}, False),
        ({"message": "ValueError: x"}, {}, False),
        ("ValueError: x", {"status": "error", "outputs": None}, True),
        ("boom", {"events": [{"name": "start"}, {"name": "error"}]}, True),
        ("boom", {"outputs": {"output": "all of it"}}, False),
        ("ValueError: x", {"status": "success"}, False),
        ("ValueError: x", {"events": [{"name": "start"}, {"name": "end"}]}, False),
        ("ValueError: x", {"end_time": None}, False),
        ("boom", {"end_time": None}, False),
        (True, {}, False),
        (-1, {}, False),
        ([{"type": "text", "text": "x"}], {}, False),
        ("-", {}, False),
    ],
)
def test_a_root_has_crashed_if_its_error_says_what_and_nothing_of_the_run_speaks_against_it(
    read: Read, error: Any, beside: dict[str, Any], crashed: bool
) -> None:
    events, _ = read(run(ROOT, "chain", "Agent", (0, 9), error=error, **beside))
    crash = [("process_error", "Agent", "failed")] if crashed else []
    assert shape(events)[1:] == [*crash, ("agent_end", "Agent", "failed")]


@pytest.mark.parametrize(
    ("kind", "beside", "is_contradicted"),
    [
        ("llm", {}, False),
        ("llm", {"outputs": generations()}, False),  # what came before the connection broke
        ("llm", {"outputs": generations(finish_reason="stop")}, True),
        ("llm", {"status": "success"}, True),
        ("llm", {"end_time": None}, True),
        ("tool", {}, False),
        ("tool", {"outputs": {"output": "found"}}, True),
    ],
)
def test_of_a_call_that_has_all_that_was_asked_of_it_an_error_names_no_cause(
    read: Read, kind: str, beside: dict[str, Any], is_contradicted: bool
) -> None:
    error = "RateLimitError('Error code: 429 - slow down')"
    events, _ = read(run(ROOT, kind, "call", (0, 9), error=error, **beside))
    assert (events[-1].status, events[-1].http_status) == ("failed", 429)
    assert events[-1].error_class == ("unknown" if is_contradicted else "rate_limit")


def test_a_step_that_fails_by_itself_is_a_failed_action_told_once(read: Read) -> None:
    error = "OutputParserException('no JSON in the answer')"
    for records in (
        [
            run(STEP, "parser", "JsonParser", (1, 2), error=error),
            run(ROOT, "chain", "Agent", (0, 9), error=error),
        ],
        [
            run(ROOT, "chain", "Agent", (0, 9), error=error),
            run(STEP, "parser", "JsonParser", (1, 2), error=error),
        ],
    ):
        events, _ = read(*records)
        failed = [event for event in events if event.status == "failed"]
        assert len(failed) == 2
        assert failed[-1].event_type == "agent_end"
        assert failed[0].error_message == "no JSON in the answer"


def test_the_recursion_limit_is_an_audit(read: Read) -> None:
    text = "GraphRecursionError('Recursion limit of 25 reached without hitting a stop condition')"
    events, _ = read(run(ROOT, "chain", "LangGraph", (0, 9), error=text))
    audit = events[1]
    assert (audit.event_type, audit.operation, audit.status) == (
        "audit",
        "recursion_limit",
        "failed",
    )
    assert audit.metadata == {"limit": 25}
    assert shape(events)[2] == ("agent_end", "LangGraph", "failed")


def test_create_and_patch_lines_make_one_start_and_one_end(read: Read) -> None:
    create = run(TOOL, "tool", "fetch", (1, None), inputs={"u": 1})
    create["start_time"] = "2026-03-04T05:06:01"  # naive times are UTC
    del create["end_time"]
    patch = {"id": TOOL, "end_time": "2026-03-04T05:06:03.5", "error": None, "name": "fetch"}
    patch["outputs"] = {"output": "fine"}
    events, reader = read(create, patch, patch)
    assert shape(events) == [
        ("tool_call", "fetch", "started"),
        ("tool_result", "fetch", "completed"),
    ]
    assert [event.timestamp - EPOCH for event in events] == [1.0, 3.5]
    assert events[1].duration_seconds == 2.5
    assert {event.trace_id for event in events} == {ROOT}
    assert reader.skipped == {"repeated_run": 1}


def test_a_create_line_without_its_patch_stays_open(read: Read) -> None:
    events, _ = read(run(ROOT, "chain", "Agent", (0, None)), run(MODEL, "llm", "Acme", (1, None)))
    assert shape(events) == [("agent_start", "Agent", "started"), ("model_call", "Acme", "started")]
    assert [event.call_id for event in events] == [ROOT, MODEL]


def test_a_patch_whose_run_is_unknown_still_closes_its_call(read: Read) -> None:
    patch = {
        "id": MODEL,
        "end_time": "2026-03-04T05:06:03",
        "error": None,
        "outputs": generations(),
    }
    events, _ = read(patch)
    assert [(event.event_type, event.call_id, event.status) for event in events] == [
        ("model_call", MODEL, "completed")
    ]


def test_a_batch_tells_where_each_run_stands(read: Read) -> None:
    post = run(MODEL, "llm", "wrapped", (1, None), parents=[])
    del post["end_time"], post["outputs"]
    post["start_time"] = 1772600761000  # JavaScript writes milliseconds
    patch = {  # and no id: it is the last of the dotted order
        "end_time": 1772600762500, "dotted_order": post["dotted_order"], "trace_id": ROOT,
        "outputs": {
            "model": "model-z", "choices": [{"finish_reason": "length"}],
            "usage_metadata": {"input_tokens": 9, "output_tokens": 4},
        },
    }  # fmt: skip
    data = json.dumps({"post": [post], "patch": [patch]}, indent=1).encode()
    events, _ = read(data)
    assert shape(events) == [
        ("model_call", "wrapped", "started"),
        ("model_call", "wrapped", "completed"),
    ]
    assert (events[1].model, events[1].finish_reason) == ("model-z", "length")
    assert (events[1].input_tokens, events[1].duration_seconds) == (9, 1.5)
    starts = [data.index(b'{\n   "id"'), data.index(b'{\n   "end_time"')]
    assert [event.offset - 100_000 for event in events] == starts
    assert [event.line for event in events] == [1 + data.count(b"\n", 0, start) for start in starts]


def test_a_tree_of_runs_tells_the_failure_that_is_innermost(read: Read) -> None:
    leaf = run(TOOL, "tool", "fetch", (2, 3), parents=[ROOT, STEP], error="OSError('disk full')")
    step = run(STEP, "chain", "plan", (1, 4), error="OSError('disk full')", child_runs=[leaf])
    root = run(ROOT, "chain", "Agent", (0, 5), error="OSError('disk full')", child_runs=[step])
    for record in (root, step, leaf):
        record.pop("dotted_order")
    step["parent_run_id"], leaf["parent_run_id"] = ROOT, STEP
    events, _ = read(root)
    assert shape(events) == [
        ("agent_start", "Agent", "started"),
        ("tool_call", "fetch", "started"),
        ("tool_result", "fetch", "failed"),
        ("agent_end", "Agent", "failed"),
    ]


def test_retries_are_in_tags_and_the_platforms_in_metadata(read: Read) -> None:
    retried = {"metadata": {"run_attempt": 3, "graph_id": "chat"}}
    events, _ = read(
        run(TOOL, "tool", "fetch", (1, 2), tags=["retry:attempt:2"], extra=retried),
        run(MODEL, "llm", "Acme", (3, 4), extra=retried),
    )
    assert [
        (event.operation, event.attempt) for event in events if event.event_type == "retry"
    ] == [("chat", 2), ("fetch", 1)]


def test_a_tool_that_hands_over_to_a_failing_agent_is_cut_short(read: Read) -> None:
    events, _ = read(
        run(MODEL, "llm", "Acme", (2, 3), parents=[ROOT, TOOL], error="ValueError('bad key')"),
        run(TOOL, "tool", "ask_expert", (1, 4), error="ValueError('bad key')"),
        run(ROOT, "chain", "Agent", (0, 5)),
    )
    assert [(event.event_type, event.status) for event in events][3:] == [
        ("model_call", "failed"),
        ("tool_result", "aborted"),
        ("agent_end", "completed"),
    ]


def test_a_cancelled_run_is_aborted(read: Read) -> None:
    events, _ = read(run(ROOT, "chain", "Agent", (0, 5), error="CancelledError()"))
    assert shape(events)[1:] == [("agent_end", "Agent", "aborted")]


@pytest.mark.parametrize("has_order", [True, False])
def test_a_patch_before_its_create_line_ends_the_call_when_that_comes(
    read: Read, has_order: bool
) -> None:
    whole = run(MODEL, "llm", "ChatAcme", (2, 3), extra=NAMED)
    create = {**whole, "end_time": None, "outputs": None}
    usage = {"token_usage": {"prompt_tokens": 40, "completion_tokens": 8}}
    patch = {
        "id": MODEL, "trace_id": ROOT, "end_time": whole["end_time"], "error": None,
        "outputs": {"llm_output": usage},
    }  # fmt: skip
    if has_order:
        patch["dotted_order"] = whole["dotted_order"]
    events, reader = read(run(ROOT, "chain", "Agent", (0, 9)), patch, create, patch)
    assert shape(events)[1:-1] == [
        ("model_call", "model-y", "started"),
        ("model_call", "model-y", "completed"),
    ]
    assert (events[2].input_tokens, events[2].output_tokens) == (40, 8)
    assert events[2].duration_seconds == 1.0
    assert reader.skipped == {"patch_before_its_run": 1, "repeated_run": 1}


def test_what_a_patch_said_before_its_create_line_survives_a_restart() -> None:
    whole = run(TOOL, "tool", "Store", (2, 3))
    patch = {"id": TOOL, "end_time": whole["end_time"], "error": None, "outputs": {"output": "x"}}
    before, after = (Reader("t", LADDER, 0.0) for _ in range(2))
    assert before.read([(json.dumps(patch).encode(), 0, 1)]) == []
    after.restore(before.save())
    create = json.dumps({**whole, "end_time": None, "outputs": None}).encode()
    events = after.read([(create, 9, 2)]) + after.finish()
    assert shape(events) == [
        ("tool_call", "Store", "started"),
        ("tool_result", "Store", "completed"),
    ]


def test_patches_of_runs_that_never_come_do_not_pile_up() -> None:
    reader = Reader("t", LADDER, 0.0)
    for number in range(200):
        patch = {"id": f"r{number}", "end_time": f"{DAY}03+00:00", "error": None, "outputs": {}}
        reader.read([(json.dumps(patch).encode(), number, number)])
    assert len(reader.save()) < 10_000
