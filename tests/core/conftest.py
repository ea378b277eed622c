"""A workbench for window kinds: one rule, events by relative time, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.diagnosis import Diagnosis, diagnose_trace
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.groups import Group
from lastsignal.core.judging import judge
from lastsignal.core.rules import Rule, parse_rule

T0 = 1_700_000_000.0

Window = dict[str, Any]
Row = tuple[float, int, bool, list[int]]


class Bench:
    """An engine that runs one rule over failed tool results, unless the rule says otherwise.

    Args:
        rule: what it runs.
        mode: `one by one`; `restarting`: a new process, restored from a snapshot, meets each next
            event; `at once`: events wait until something is asked; `packing`: no trace stays an
            object between two events.
    """

    def __init__(self, rule: Rule, mode: str) -> None:
        self.rule = rule
        self.engine = Engine([rule], max_live=0 if mode == "packing" else 4096)
        self.mode = mode
        self._waiting: list[Event] = []
        self._seen = 0

    def see(self, at: float, event_type: str, status: str, **fields: Any) -> Bench:
        """Feed one event, `at` seconds after the start; lines count from 1."""
        self._seen += 1
        event = Event(
            timestamp=T0 + at,
            event_type=event_type,  # type: ignore[arg-type]  # the tests name real ones
            status=status,  # type: ignore[arg-type]  # as above
            **{
                "trace_id": "t",
                "operation": "op",
                "source": "s",
                "line": self._seen,
                "offset": self._seen * 100,
                **fields,
            },
        )
        judge(event)
        self._waiting.append(event)
        return self if self.mode == "at once" else self._flush()

    def _flush(self) -> Bench:
        self.engine.feed(self._waiting)
        self._waiting = []
        return self.restart() if self.mode == "restarting" else self

    def fail(self, at: float, **fields: Any) -> Bench:
        """Feed a failed tool result."""
        return self.see(at, "tool_result", "failed", **fields)

    def done(self, at: float, **fields: Any) -> Bench:
        """Feed a tool result that completed."""
        return self.see(at, "tool_result", "completed", **fields)

    def call(self, at: float, **fields: Any) -> Bench:
        """Feed the start of a tool call."""
        return self.see(at, "tool_call", "started", **fields)

    def restart(self) -> Bench:
        """Go on in a new process."""
        before, self.engine = self.engine, Engine([self.rule])
        traces = [before.memory.trace(trace_id) for trace_id in before.traces]
        groups = [before.memory.group(key) for key in before.state.shared.groups]
        self.engine.memory.restore(before.memory.header(), traces, groups)
        return self

    def advance(self, to: float, source: str = "s") -> Bench:
        """Let the clock of a source that stands still go on."""
        self._flush().engine.advance(source, T0 + to)
        return self._flush()

    def finish(self, *sources: str) -> Bench:
        """Say that nothing more will come, at all or from these sources."""
        self._flush().engine.finish(sources or None)
        return self

    def groups(self) -> list[Group]:
        """Return what has fired, the earliest first."""
        self._flush()
        states = [*self.engine.traces.values(), self.engine.state.shared]
        fired = [group for state in states for group in state.groups.values() if group.is_open]
        return sorted(fired, key=lambda group: (group.opened_at or 0.0, str(group.values)))

    def found(self) -> list[Row]:
        """Return (opened at, count, healed, evidence lines) of each finding."""
        return [
            (
                round((group.opened_at or 0.0) - T0, 6),
                group.count,
                group.healed,
                [mark.line for mark in group.marks],
            )
            for group in self.groups()
        ]

    def diagnosis(self, trace_id: str = "t") -> Diagnosis:
        """Return the diagnosis of one trace."""
        self._flush()
        trace, shared = self.engine.traces[trace_id], self.engine.shared_groups(trace_id)
        return diagnose_trace(self.engine, trace, shared)


def _parse(window: Window, changes: dict[str, Any]) -> tuple[Rule | None, list[str]]:
    problems: list[str] = []
    raw = {
        "id": "under_test",
        "title": "Under test",
        "status": "experimental",
        "severity": "warning",
        "category": "other",
        "description": "Detects what the test is about.",
        "cause": "{count} of {operation}",
        "remedy": "none",
        "false_positives": ["none"],
        "where": {"event_type": "tool_result", "status": "failed"},
        "window": window,
        "tests": [
            {"name": "fires", "events": [{"event_type": "tool_result"}], "expect": [{}]},
            {"name": "stays quiet", "events": [{"event_type": "tool_result"}], "expect": []},
        ],
        **changes,
    }
    rule = parse_rule(raw, lambda place, message, fix: problems.append(f"{place}: {message}"))
    return rule, problems


@pytest.fixture(params=["one by one", "restarting", "at once", "packing"])
def bench(request: pytest.FixtureRequest) -> Callable[..., Bench]:
    """Make a workbench from a window; each test runs in each mode, with the same result."""

    def make(window: Window, **changes: Any) -> Bench:
        rule, problems = _parse(window, changes)
        assert rule is not None, problems
        return Bench(rule, request.param)

    return make


@pytest.fixture
def problems() -> Callable[..., list[str]]:
    """Return what is wrong with a window, as `place: message`."""

    def parse(window: Window, **changes: Any) -> list[str]:
        return _parse(window, changes)[1]

    return parse
