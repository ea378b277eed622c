"""What is said to have failed beside the proof that it went well is a warning, and no cause."""

from __future__ import annotations

from typing import Any

import pytest
from kit.criticals import events_of, mutated
from kit.mutations import Path
from kit.strategies import FIXTURES, records_of_file

from lastsignal.app import diagnoses
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.judging import judge
from lastsignal.edges.rulefiles import load_rules

LIMITED = "RateLimitError: 429 Too Many Requests"
TOO_LONG = "context_length_exceeded"
TURNS = "Max turns exceeded"
STRAYED: list[tuple[str, int, Path, Any]] = [
    ("claude_stream/healthy.jsonl", -1, ("subtype",), "error_max_turns"),
    ("claude_stream/healthy.jsonl", -1, ("subtype",), "error_during_execution"),
    *(("codex_rollout/healthy.jsonl", -1, ("payload", "error"), x) for x in (LIMITED, TOO_LONG)),
    *(("flat/healthy.jsonl", -1, ("event",), word) for word in ("crash", "exception", "panic")),
    ("flat/healthy.jsonl", -1, ("type",), "exception"),
    *(("inspect_log/healthy.json", 0, ("error",), x) for x in (LIMITED, TOO_LONG, TURNS)),
    *(("inspect_log/healthy.json", 0, ("samples", 0, "error"), x) for x in (LIMITED, TURNS)),
    *(
        ("langgraph_debug/healthy.jsonl", -1, ("payload", "error"), x)
        for x in (LIMITED, TOO_LONG, TURNS, "GraphRecursionError")
    ),
    *(("langsmith_runs/healthy.jsonl", 0, ("error",), x) for x in (LIMITED, TOO_LONG, TURNS)),
    ("maslab_events/healthy.jsonl", -1, ("status",), "timeout"),
    *(
        (f"mini_swe_agent/{name}.json", 0, ("info", "exit_status"), x)
        for name in ("healthy", "healthy-version-one")
        for x in (TOO_LONG, "TimeoutError", "LimitsExceeded")
    ),
    *(("openai_agents/healthy.jsonl", -1, ("error",), x) for x in (LIMITED, TOO_LONG, TURNS)),
    *(("swe_agent/healthy.json", 0, ("info", "exit_status"), x) for x in (TOO_LONG, "exit_error")),
    *(("weave_calls/healthy.jsonl", -1, ("exception",), x) for x in (LIMITED, TOO_LONG, TURNS)),
]
"""File, record, field and what has strayed there."""


@pytest.mark.parametrize(("file", "index", "path", "value"), STRAYED)
def test_an_error_that_the_rest_of_its_record_contradicts_is_a_warning_that_quotes_it(
    file: str, index: int, path: Path, value: Any
) -> None:
    records = records_of_file(FIXTURES / file)
    at = index % len(records)
    engine = Engine(load_rules())
    engine.feed(events_of(mutated(records, at, path, value)))
    engine.finish()
    found = [one for trace in diagnoses(engine) for one in trace.findings()]

    serious = [one for one in found if one.severity != "info"]
    assert [(one.rule, one.severity) for one in serious] == [("run_failed", "warning")]
    said = value.partition(": ")[2] or value
    assert said in serious[0].summary or file.startswith("flat/")
    if len(records) > 1:
        assert serious[0].evidence[-1].line == at + 1


def test_of_a_contradicted_failure_nothing_is_said_of_its_cause() -> None:
    failed = Event(event_type="agent_end", status="failed", error_message=LIMITED)
    failed.metadata = {"num_turns": 3}
    judge(contradict(failed))

    assert (failed.error_class, failed.error_message) == ("unknown", LIMITED)
    assert failed.metadata == {"num_turns": 3, "contradicted": True}
