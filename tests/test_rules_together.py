"""All built-in rules over whole runs: the one cause is named, and what is healthy stays quiet."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis, diagnose_trace
from lastsignal.core.engine import Engine
from lastsignal.edges.rulefiles import load_rules

RULES = load_rules()
Record = dict[str, Any]


def diagnose(records: Iterable[Record]) -> dict[str, Diagnosis]:
    """Read records as a file of lines would be read; return the diagnoses by trace."""
    reader, engine = Reader("run.jsonl", LADDER, 1_700_000_000.0), Engine(RULES)
    offset, lines = 0, []
    for number, record in enumerate(records, 1):
        data = json.dumps(record).encode()
        lines.append((data, offset, number))
        offset += len(data) + 1
    engine.feed(reader.read(lines) + reader.finish())
    engine.finish()
    return {
        trace.trace_id: diagnose_trace(engine, trace, engine.shared_groups(trace.trace_id))
        for trace in engine.traces.values()
    }


class Run:
    """Writes the records of one run, each some time after the one before."""

    def __init__(self, name: str = "run") -> None:
        self.records: list[Record] = []
        self.name = name
        self._time = 1_730_000_000.0
        self.see("agent_start")

    def see(self, event_type: str, after: float = 1.0, **fields: Any) -> Run:
        self._time += after
        record = {"timestamp": self._time, "trace_id": self.name, "event_type": event_type}
        self.records.append({**record, **fields})
        return self

    def back(self, seconds: float) -> Run:
        """Let the clock of the machine be set back."""
        self._time -= seconds
        return self

    def call(self, tool: str, arguments: Any, error: str | None = None, took: float = 1) -> Run:
        self.see("tool_call", operation=tool, status="started", metadata={"arguments": arguments})
        return self.end(tool, error, took)

    def end(self, tool: str, error: str | None = None, took: float = 1, **fields: Any) -> Run:
        if error is None:
            return self.see("tool_result", took, operation=tool, status="completed", **fields)
        fields |= {"status": "failed", "error_message": error}
        return self.see("tool_result", took, operation=tool, **fields)

    def think(self, error: str | None = None, took: float = 2, **fields: Any) -> Run:
        self.see("model_call", operation="sonnet", status="started")
        if error is not None:
            fields |= {"status": "failed", "error_message": error}
        usage = {"input_tokens": 5000, "output_tokens": 200, "cost_usd": 0.02}
        fields = {"status": "completed", "metadata": usage, **fields}
        return self.see("model_call", took, operation="sonnet", **fields)

    def stop(self, status: str = "completed", **fields: Any) -> Run:
        return self.see("agent_end", status=status, **fields)

    def crash(self, message: str) -> Run:
        return self.see("process_error", error_message=message)


# -- the published samples -----------------------------------------------------------------------


def test_the_six_lines_of_the_published_sample() -> None:
    start, trace = 1730412300.0, {"trace_id": "ls_demo_881"}
    refused = {"status": "failed", "error_message": "HTTP 429 Too Many Requests"}
    search = {"operation": "web_search"}
    died = "RateLimitExhaustionError: Exceeded provider quota"
    found = diagnose(
        [
            {"timestamp": start + 0.1, **trace, "event_type": "agent_start"},
            {"timestamp": start + 1.2, **trace, "event_type": "tool_call", **search, "attempt": 1},
            {"timestamp": start + 1.9, **trace, "event_type": "tool_result", **search, **refused},
            {"timestamp": start + 2.5, **trace, "event_type": "retry", **search, "attempt": 1},
            {"timestamp": start + 3, **trace, "event_type": "tool_result", **search, **refused},
            {"timestamp": start + 3.8, **trace, "event_type": "process_error", "error": died},
        ]
    )["ls_demo_881"]

    assert found.outcome == "failed"
    assert found.cause is not None
    assert (found.cause.rule, found.cause.group["operation"]) == (
        "rate_limit_exhausted",
        "web_search",
    )
    assert [one.line for one in found.cause.evidence] == [3, 5]
    assert [(one.rule, one.evidence[-1].line) for one in found.symptoms] == [
        ("retry_without_backoff", 4),
        ("run_crashed", 6),
    ]
    assert found.other == []
    assert "quota" in found.cause.remedy
    assert "backoff" in found.cause.remedy


def test_the_budget_gate_of_the_published_audit_record() -> None:
    payload = {"event": "budget_gate_triggered", "total_cost_usd": 1450.0, "budget_limit": 1200.0}
    record = {
        "kind": "audit",
        "agent_id": "moderator",
        "timestamp": 1771889113.62,
        "run_id": "f52df92b",
        "payload": payload,
    }
    (found,) = diagnose([record]).values()

    assert found.cause is not None
    assert (found.cause.rule, found.cause.severity) == ("budget_gate", "critical")
    assert "used 1450.0 against a limit of 1200.0" in found.cause.cause


# -- one cause a run -----------------------------------------------------------------------------


def _loop(run: Run, rounds: int) -> Run:
    for _ in range(rounds):
        run.think().call("read_file", {"path": "a"}).think().call("search", {"q": "b"})
    return run


def _again(run: Run, times: int, error: str) -> Run:
    for _ in range(times):
        run.think().call("book", {"id": 7}, error)
    return run


FAILING = {
    "quota_exhausted": Run().think("You exceeded your current quota").crash("no credit"),
    "rate_limit_exhausted": Run().think("429 rate limit").think("429 rate limit").stop("failed"),
    "model_auth_failed": Run().think("401 invalid api key").crash("AuthenticationError"),
    "model_unavailable": Run().think("the model `x` does not exist").stop("failed"),
    "model_timeout": Run().think("Request timed out", took=600).crash("gave up"),
    "model_request_invalid": Run().think("400 bad request").think("400 bad request").crash("x"),
    "model_output_unparseable": Run().think("invalid json").think("invalid json").stop("failed"),
    "model_keeps_failing": Run().think("weird").think("weird").think("weird").stop("failed"),
    "provider_overloaded": Run().think().think("Overloaded").stop("failed"),
    "context_overflow": Run().think("prompt is too long").think("prompt is too long").crash("x"),
    "content_filter_blocked": Run().think("blocked by content filter").stop("failed"),
    "tool_timeout": Run().think().call("query", 1, "timed out", 30).think().stop("failed"),
    "service_errors": _again(Run(), 3, "connection refused").stop("failed"),
    "tool_auth_failed": _again(Run(), 2, "401 Unauthorized").stop("failed"),
    "permission_denied": _again(Run(), 3, "permission denied").stop("failed"),
    "tool_arguments_invalid": _again(Run(), 3, "validation error: seats").stop("failed"),
    "unknown_tool": _again(Run(), 2, "Unknown tool: book").stop("failed"),
    "resource_exhausted": Run().think().call("save", 1, "No space left on device").stop("failed"),
    "tool_keeps_failing": Run().think().call("load", 1, "corrupt weights").crash("cannot go on"),
    "repeated_failing_call": _again(Run(), 3, "no seats left")
    .see("audit", operation="turn_limit", status="failed", error_message="max turns (9) exceeded")
    .stop("failed"),
    "call_cycle": _loop(Run(), 3)
    .see("audit", operation="budget", status="failed", error_message="budget exceeded")
    .stop("failed"),
    "error_cascade": Run().call("a", 1, "gone").call("b", 1, "gone").call("c", 1, "gone").think()
    .stop("failed"),
    "guardrail_tripped": Run().think()
    .see("audit", operation="guardrail", status="failed", error_message="prices").stop("failed"),
    "run_time_limit": Run().think()
    .see("audit", operation="time_limit", status="failed", error_message="1500 s").stop("failed"),
    "call_never_returned": Run().think().see("tool_call", operation="query", status="started"),
    "run_vanished": Run().think(),
    "stopped_before_step": Run().think()
    .see("audit", operation="checkpoint", status="completed", metadata={"next": "publish"}),
    "run_crashed": Run().think().crash("KeyError: 'answer'"),
    "run_failed": Run().think().stop("failed", error_message="nothing found"),
}  # fmt: skip


@pytest.mark.parametrize("rule", FAILING)
def test_the_cause_of_a_failed_run_is_named(rule: str) -> None:
    (found,) = diagnose(FAILING[rule].records).values()

    assert found.cause is not None
    assert found.cause.rule == rule
    assert found.outcome in ("failed", "unfinished")
    assert found.cause.severity != "info"


# What killed the run, where something else was amiss too: the cause, what it led to, what else.
TOGETHER = {
    "what several tools share, not the last of them": (
        Run().think().call("a", 1, "connection refused").call("b", 1, "connection refused")
        .call("c", 1, "no route to host").call("d", 1, "connection refused").stop("failed"),
        ("error_cascade", {"service_errors", "run_failed"}, set()),
    ),
    "the service that all of it began with": (
        Run().call("a", 1, "HTTP 502").call("a", 2, "HTTP 502").call("a", 3, "HTTP 502")
        .call("b", 1, "bad").call("c", 1, "bad").stop("failed"),
        ("service_errors", {"error_cascade", "tool_keeps_failing", "run_failed"}, set()),
    ),
    "the critical one of two that have nothing to do with one another": (
        Run().call("book", 1, "401 Unauthorized").think().call("book", 2, "401 Unauthorized")
        .think().call("read", 1).think().call("read", 2)
        .think("prompt is too long").stop("failed", error_message="prompt is too long"),
        ("context_overflow", {"run_failed"}, {"tool_auth_failed"}),
    ),
    "a loop, though nothing says how it ended": (
        _loop(Run(), 4), ("call_cycle", {"run_vanished"}, set()),
    ),
    "spending, though nothing says how it ended": (
        Run().think(metadata={"cost_usd": 30.0}).think(),
        ("spend_velocity", set(), {"run_vanished"}),
    ),
    "the limit, not the one call that had failed before it": (
        Run().think().call("a", 1).think().call("b", 1, "x")
        .see("audit", operation="turn_limit", status="failed").stop("failed"),
        ("turn_limit", {"run_failed"}, set()),
    ),
    "the tool that failed until the limit": (
        Run().call("a", 1, "bad").think().call("a", 2, "bad").think().call("a", 3, "bad").think()
        .call("a", 4, "bad").see("audit", operation="turn_limit", status="failed").stop("failed"),
        ("repeated_failing_operation", {"turn_limit", "run_failed"}, set()),
    ),
    "a limit that only the last words of the run tell of": (
        Run().think().call("a", 1).stop("failed", error_message="Stopped due to max iterations."),
        ("turn_limit", {"run_failed"}, set()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_of_several_troubles_the_one_is_named_that_killed_the_run(name: str) -> None:
    run, (cause, symptoms, others) = TOGETHER[name]
    (found,) = diagnose(run.records).values()

    assert found.cause is not None
    assert found.cause.rule == cause
    assert {one.rule for one in found.symptoms} == symptoms
    assert {one.rule for one in found.other if not one.healed} == others


def test_a_circle_tells_where_it_began() -> None:
    (found,) = diagnose(_loop(Run(), 4).records).values()

    assert found.cause is not None
    assert "beginning with `read_file` at line 4." in found.cause.cause


@pytest.mark.parametrize("rule", FAILING)
def test_the_crash_or_the_failed_end_is_the_cause_s_symptom(rule: str) -> None:
    (found,) = diagnose(FAILING[rule].records).values()

    assert [one.rule for one in found.other if one.rule.startswith("run_")] == []


# -- healthy runs --------------------------------------------------------------------------------


def _changing_code() -> Run:
    run = Run("changing")
    for change in range(15):
        run.think().call("Bash", {"command": "pytest"}, "Exit code 1" if change < 14 else None, 20)
        run.think().call("Edit", {"file": "a.py", "change": change}).call("Read", {"file": "a.py"})
    return run.stop()


def _parallel() -> Run:
    run = Run("parallel").think()
    for page in range(12):
        run.see("tool_call", 0.1, operation="fetch", status="started", call_id=f"c{page}")
    for page in reversed(range(12)):
        run.end("fetch", took=3, call_id=f"c{page}")
    return run.think().stop()


def _polling() -> Run:
    run = Run("polling").think()
    for _ in range(60):
        run.call("get_job_status", {"job": 7}, took=10).think()
    return run.stop()


def _retries_that_succeed() -> Run:
    run, errors = Run("retries"), ("HTTP 429", "timed out", "HTTP 503", "connection reset")
    for step in range(12):
        error = errors[step % 4]
        run.think().call("search", {"q": step}, error)
        run.see("retry", 2, operation="search", attempt=2, error_message=error)
        run.call("search", {"q": step})
    return run.stop()


def _handled_sub_agent() -> Run:
    run = Run("handled")
    run.see("agent_start", call_id="s", parent_id="r", agent="helper")
    run.think().call("grep", {"x": 1}, "exit code 1")
    run.see("agent_end", call_id="s", parent_id="r", agent="helper", status="failed")
    return run.think().stop()


def _talk_of_failures() -> Run:
    run, words = (
        Run("talk"),
        "HTTP 429 rate limit, insufficient_quota, timeout, 401, context length",
    )
    for file in range(5):
        run.see("tool_call", operation="read_file", metadata={"arguments": {"file": file}})
        run.end("read_file", metadata={"output": words}).think(metadata={"output": words})
    return run.stop()


def _research() -> Run:
    run, chance = Run("research"), random.Random(4)
    errors = ("404 Not Found", "HTTP 403", "401 Unauthorized", "timed out", "HTTP 500", "SSL: bad")
    for page in range(60):
        run.think().call("web_fetch", page, chance.choice(errors) if page % 3 == 0 else None)
    return run.stop()


def _long_work() -> Run:
    run, chance = Run("long"), random.Random(5)
    errors = ("Exit code 2", "File does not exist", "String to replace not found")
    for step in range(300):
        failed = chance.random() < 0.07
        run.think().call(
            chance.choice(["Read", "Bash", "Edit", "Grep"]),
            step,
            chance.choice(errors) if failed else None,
        )
    return run.stop()


HEALTHY = [
    _changing_code(),
    _parallel(),
    _polling(),
    _retries_that_succeed(),
    _handled_sub_agent(),
    _talk_of_failures(),
    _research(),
    _long_work(),
    Run("slow").think().call("query", 1, took=1800).think().stop(),
    Run("skewed").think().call("a", 1).back(5).call("b", 1).think().back(3).call("c", 1).stop(),
    Run("stopped").think().stop("aborted", error_message="interrupted"),
]


@pytest.mark.parametrize("run", HEALTHY, ids=[run.name for run in HEALTHY])
def test_a_healthy_run_raises_nothing_that_calls_for_a_human(run: Run) -> None:
    (found,) = diagnose(run.records).values()

    assert [(one.rule, one.severity) for one in found.findings() if one.severity != "info"] == []


def test_healthy_runs_stay_healthy_between_failing_ones() -> None:
    failing = [Run(f"f{n}").think("429 rate limit").think("429").stop("failed") for n in range(3)]
    records = [record for run in [*HEALTHY, *failing] for record in run.records]
    found = diagnose(sorted(records, key=lambda record: record["timestamp"]))

    for run in HEALTHY:
        assert [one.rule for one in found[run.name].findings() if one.severity != "info"] == []
    for run in failing:
        cause = found[run.name].cause
        assert cause is not None
        assert cause.rule == "rate_limit_exhausted"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("content_filter_blocked", "once: "),
        ("model_timeout", 'in time, once ("Request timed out")'),
        ("resource_exhausted", "once"),
        ("service_errors", "failed 3 times in 10 s, with no success in between (connection"),
        ("tool_auth_failed", "twice in 5 s, with no success in between"),
    ],
)
def test_one_failure_is_told_as_one_and_several_with_their_time(rule: str, words: str) -> None:
    (found,) = diagnose(FAILING[rule].records).values()

    assert found.cause is not None
    assert words in found.cause.cause
    assert ("in between" in found.cause.cause) == (found.cause.count > 1)


def test_a_run_of_very_many_tools_is_not_swept_at_each_of_its_events() -> None:
    run = Run("many")
    for number in range(400):
        run.call(f"tool_{number}", number, f"HTTP 500 of {number}")
    reader, engine = Reader("run.jsonl", LADDER, 1_700_000_000.0), Engine(RULES)
    lines = [json.dumps(record).encode() for record in run.records]
    pauses = []
    for number, line in enumerate(lines, 1):
        engine.feed(reader.read([(line, number, number)]))
        seen = engine.traces["many"]
        if seen.swept_until not in pauses:
            pauses.append(seen.swept_until)

    assert len(engine.traces["many"].groups) > 200
    assert 10 < len(pauses) < len(lines) / 4
