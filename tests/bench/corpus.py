"""A realistic native trace for benchmarks: many interleaved runs, seeded, of any length.

Each run starts, plans with its model, calls tools, retries what failed (2 % of the ends) and ends
after some hundred events; then the next run takes its place, so 200 are open at any time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

OPEN_RUNS = 200
EVENTS_A_RUN = 400
OPERATIONS = ("web_search", "read_file", "run_tests", "sql_query", "http_get", "write_file")
ERRORS = (
    "HTTP 429 Too Many Requests",
    "TimeoutError: request timed out after 30s",
    "HTTP 500 Internal Server Error",
    "ValueError: invalid literal for int()",
)

_encode = msgspec.json.Encoder().encode
Record = dict[str, Any]


class Run:
    """One simulated run."""

    def __init__(self, name: str, chance: random.Random, payload: str) -> None:
        self.name = name
        self.chance = chance
        self.payload = payload
        self.events = 0
        self.open: str | None = None
        self.retry: str | None = None

    def next(self) -> Record:
        """Return what happens next, without its time and trace."""
        self.events += 1
        if self.events == 1:
            task = {"version": "1.4.2", "task": "triage the ticket and answer it", "queue": "prio"}
            return _record("agent_start", "support-agent", "started", task)
        if self.open is not None:
            return self._end()
        if self.retry is not None:
            operation, self.retry, self.open = self.retry, None, self.retry
            waited = {"delay_seconds": 2.0, "policy": "exponential backoff", "reason": "it failed"}
            return {**_record("retry", operation, "started", waited), "attempt": 1}
        if self.events > EVENTS_A_RUN:
            return _record("agent_end", "support-agent", "completed", {"answer": "done"})
        if self.chance.random() < 0.5:
            self.open = "gpt-4o"
            asked = {"model": "gpt-4o", "temperature": 0.2, "messages": 12, "stream": False}
            return _record("model_call", "gpt-4o", "started", {**asked, "purpose": "next step"})
        self.open = self.chance.choice(OPERATIONS)
        arguments = {"query": f"order {self.chance.randrange(100_000)}", "limit": 10, "page": 1}
        call = _record("tool_call", self.open, "started", {"arguments": arguments})
        return {**call, "attempt": 1}

    def _end(self) -> Record:
        operation, self.open = self.open or "", None
        failed = self.chance.random() < 0.02
        if operation == "gpt-4o":
            used = {"input_tokens": self.chance.randrange(4000), "output_tokens": 250}
            said = {"model": "gpt-4o", **used, "finish_reason": "stop", "text": self.payload}
            record = _record("model_call", operation, "completed", said)
        else:
            got = {"duration_ms": self.chance.randrange(900), "cache": "miss"}
            record = _record("tool_result", operation, "completed", {**got, "out": self.payload})
        if failed:
            record.update(status="failed", error_message=self.chance.choice(ERRORS))
            self.retry = operation
        return record


def _record(event_type: str, operation: str, status: str, metadata: Record) -> Record:
    return {
        "event_type": event_type,
        "operation": operation,
        "status": status,
        "metadata": metadata,
    }


def lines(
    count: int, payload_bytes: int = 40, seed: int = 7, *, fresh: bool = False
) -> Iterator[bytes]:
    """Yield that many JSON lines, about 230 bytes each with the default payload.

    They are of 200 traces, each of many runs; with `fresh` each run is a trace of its own, so that
    there are ever more of them.
    """
    chance = random.Random(seed)
    payload = ("lorem ipsum dolor sit amet " * (payload_bytes // 27 + 1))[:payload_bytes]
    runs = [Run(f"run_{index:07d}", chance, payload) for index in range(OPEN_RUNS)]
    started, now = OPEN_RUNS, 1_760_000_000.0
    for _ in range(count):
        place = chance.randrange(OPEN_RUNS)
        now += chance.random() * 0.05
        run = runs[place]
        record = run.next()
        yield _encode({"timestamp": round(now, 3), "trace_id": run.name, **record}) + b"\n"
        if record["event_type"] == "agent_end":
            name = f"run_{started:07d}" if fresh else run.name
            runs[place] = Run(name, chance, payload)
            started += 1


def write(path: Path, count: int, payload_bytes: int = 40, *, fresh: bool = False) -> None:
    """Write a trace file."""
    with path.open("wb") as file:
        file.writelines(lines(count, payload_bytes, fresh=fresh))
