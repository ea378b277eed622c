"""Parameters that an agent or an operation has for itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lastsignal.commands.configured_rules import rules_of
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import diagnose_trace
from lastsignal.core.engine import Engine
from lastsignal.edges.config import load_config

CONFIG = """
[rules.params.tool_timeout]
at_least = 3

[rules.agents.slow.tool_timeout]
at_least = 5

[rules.operations.crawl.tool_timeout]
at_least = 4
"""


def timeouts(agent: str, operation: str, count: int) -> list[dict[str, Any]]:
    """Return the records of an agent whose tool times out so often, and of its end."""
    run = {"trace_id": f"{agent}/{operation}/{count}", "agent": agent}
    failed = {**run, "event_type": "tool_result", "operation": operation, "status": "failed"}
    failed["error_message"] = "TimeoutError: timed out"
    records = [{**failed, "timestamp": 1_760_000_000.0 + n * 60} for n in range(count)]
    done = {**run, "event_type": "tool_call", "operation": "other", "status": "started"}
    return [*records, {**done, "timestamp": 1_760_000_000.0 + count * 60}]


def test_the_most_special_parameter_that_is_given_holds(tmp_path: Path) -> None:
    path = tmp_path / "lastsignal.toml"
    path.write_text(CONFIG, encoding="utf-8")
    engine = Engine(rules_of(load_config(path, environment={"HOME": str(tmp_path)})))
    cases = [
        ("quick", "fetch", 2),
        ("quick", "fetch", 3),
        ("slow", "fetch", 4),
        ("slow", "fetch", 5),
    ]
    cases += [
        ("quick", "crawl", 3),
        ("quick", "crawl", 4),
        ("slow", "crawl", 3),
        ("slow", "crawl", 4),
    ]
    reader = Reader("trace.jsonl", LADDER, 0.0)
    for case in cases:
        lines = [json.dumps(record).encode() for record in timeouts(*case)]
        engine.feed(reader.read([(line, 0, 1) for line in lines]))

    found = {
        trace_id
        for trace_id, trace in engine.traces.items()
        for finding in diagnose_trace(engine, trace).findings()
        if finding.rule == "tool_timeout"
    }
    assert found == {"quick/fetch/3", "slow/fetch/5", "quick/crawl/4", "slow/crawl/4"}
