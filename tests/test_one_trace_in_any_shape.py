"""The same spans as one document and one a line: the same findings, and as much checked."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from kit.criticals import events_of

from lastsignal.app import diagnoses
from lastsignal.core.engine import Engine
from lastsignal.core.rules import Rule
from lastsignal.edges.rulefiles import load_rules

BASE = 1_760_000_000 * 10**9
Node = tuple[str, int | None]

CALLS: dict[str, dict[str, str]] = {
    "http": {"http.request.method": "POST"},
    "agent": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "triage"},
    "helper": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
    "step": {"gen_ai.operation.name": "execute_task"},
    "model": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-x"},
    "tool": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup"},
}
TREES: dict[str, list[Node]] = {
    "an agent": [("agent", None), ("model", 0), ("tool", 0)],
    "an agent under a server's request": [("http", None), ("agent", 0), ("model", 1), ("tool", 1)],
    "under two requests": [("http", None), ("http", 0), ("agent", 1), ("tool", 2), ("tool", 2)],
    "whose request is told elsewhere": [("agent", 9), ("model", 0)],
    "an agent in an agent": [("agent", None), ("tool", 0), ("helper", 1), ("model", 2)],
    "a step between": [("http", None), ("agent", 0), ("step", 1), ("model", 2), ("tool", 2)],
    "calls without an agent": [("http", None), ("model", 0), ("tool", 0)],
}  # fmt: skip
RAISED = {
    "exception.type": "openai.AuthenticationError",
    "exception.message": "Error code: 401 - Incorrect API key provided",
}


def attributes(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def spans_of(tree: Sequence[Node], failing: int | None) -> list[dict[str, Any]]:
    """Return a tree's spans as they end; from the one that fails up to the top, all have failed."""
    failed = set()
    while failing is not None and failing < len(tree):
        failed.add(failing)
        failing = tree[failing][1]
    spans = []
    for number, (kind, parent) in enumerate(tree):
        error = {"name": "exception", "attributes": attributes(RAISED)}
        status = {"code": 2, "message": RAISED["exception.message"]}
        spans.append({
            "traceId": "5be1f0c3a4d2978611e0bb3c7d49a602",
            "spanId": f"{number + 1:016x}",
            "parentSpanId": "" if parent is None else f"{parent + 1:016x}",
            "name": kind,
            "kind": 2 if kind == "http" else 1,
            "startTimeUnixNano": str(BASE + number * 10**9),
            "endTimeUnixNano": str(BASE + (40 - number) * 10**9),
            "attributes": attributes(CALLS[kind]),
            "status": status if number in failed else {},
            "events": [error] if number in failed else [],
        })  # fmt: skip
    return spans[::-1]


@functools.cache
def rules() -> list[Rule]:
    """Return the built-in rules, which no test changes."""
    return load_rules()


def told(*exports: list[dict[str, Any]]) -> list[tuple[str | None, list[Any], list[str]]]:
    """Return (cause, findings, what was not checked) of each trace."""
    records = [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]} for spans in exports]
    engine = Engine(rules())
    engine.feed(events_of([json.dumps(record).encode() for record in records]))
    engine.finish()
    return [
        (
            trace.cause.rule if trace.cause else None,
            sorted((one.rule, one.severity, one.count) for one in trace.findings()),
            trace.not_checked,
        )
        for trace in diagnoses(engine)
    ]


@pytest.mark.parametrize("failing", [None, -1, -2])
@pytest.mark.parametrize("tree", TREES)
def test_spans_in_one_document_and_one_a_line_tell_the_same(tree: str, failing: int | None) -> None:
    nodes = TREES[tree]
    spans = spans_of(nodes, None if failing is None else len(nodes) + failing)

    in_one, by_line = told(spans), told(*([span] for span in spans))

    assert len(in_one) == 1
    assert in_one == by_line


def test_a_run_that_names_its_parents_is_checked_for_sub_agents_though_it_has_none() -> None:
    ((_, _, not_checked),) = told(spans_of(TREES["an agent"], None))
    assert "orphaned_subagent" not in not_checked


def one_after_the_other(spans: list[dict[str, Any]], nodes: Sequence[Node]) -> None:
    """Let the calls follow one another: quick ones, and a slow last one that the run ends with."""
    inner = [number for number, (kind, _) in enumerate(nodes) if kind in ("model", "tool")]
    for place, number in enumerate(inner):
        span = spans[len(nodes) - 1 - number]
        start = BASE + (10 + 2 * place) * 10**8
        end = start + (30 * 10**9 if number == inner[-1] else 10**8)
        span["startTimeUnixNano"], span["endTimeUnixNano"] = str(start), str(end)
    for number, (kind, _) in enumerate(nodes):
        if kind not in ("model", "tool"):
            span = spans[len(nodes) - 1 - number]
            span["startTimeUnixNano"] = str(BASE + number * 10**8)
            span["endTimeUnixNano"] = str(BASE + 40 * 10**9 - number * 10**8)
    spans.sort(key=lambda span: int(span["endTimeUnixNano"]))


@pytest.mark.parametrize("tree", [name for name in TREES if name != "an agent in an agent"])
def test_a_quick_call_before_a_slow_one_that_fails_is_told_the_same_in_both(tree: str) -> None:
    nodes = TREES[tree]
    spans = spans_of(nodes, len(nodes) - 1)
    one_after_the_other(spans, nodes)

    in_one, by_line = told(spans), told(*([span] for span in spans))

    assert in_one == by_line
    has_worked = sum(kind in ("model", "tool") for kind, _ in nodes) > 1
    found = {rule for _, findings, _ in in_one for rule, _, _ in findings}
    assert ("first_step_failed" in found) <= (not has_worked)
