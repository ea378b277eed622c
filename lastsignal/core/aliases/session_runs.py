"""Runs inside session logs, which record what was said but not when the agent began or ended.

A session log has no record for the end of a session, so one run is one turn: it opens with the
first thing that the agent does and closes with the record that ends the turn. A session that is
merely idle then has no open run, and one that stops in the middle of its work has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeVar

from lastsignal.core.aliases.contract import Decoded
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.events import Event, Status

MAX_REMEMBERED = 10_000
"""Ids kept of one source; the oldest go first. Repeats of a record come soon after it."""

CALLS = frozenset({"model_call", "tool_call", "tool_result"})
"""Types of events that are named by a call, where anything names them."""

Value = TypeVar("Value")
NO_ERROR = ErrorFields()


@dataclass(frozen=True, slots=True)
class Run:
    """The run that a record belongs to, at the record's time: a session's turn, or a sub-agent."""

    trace_id: str
    run_id: str
    parent_id: str | None
    agent: str
    at: float

    def event(self, **fields: Any) -> Event:
        """Make an event of a call inside this run."""
        return Event(
            timestamp=self.at,
            trace_id=self.trace_id,
            agent=self.agent,
            parent_id=self.run_id,
            **fields,
        )

    def boundary(self, **fields: Any) -> Event:
        """Make this run's agent_start or agent_end."""
        return Event(
            timestamp=self.at,
            trace_id=self.trace_id,
            agent=self.agent,
            operation=self.agent,
            call_id=self.run_id,
            parent_id=self.parent_id,
            **fields,
        )

    def open(self, open_runs: dict[str, float], **fields: Any) -> list[Event]:
        """Open the run where it is not open."""
        return open_run(
            open_runs, self.boundary(event_type="agent_start", status="started", **fields)
        )

    def close(
        self,
        open_runs: dict[str, float],
        status: Status = "completed",
        error: ErrorFields = NO_ERROR,
        **fields: Any,
    ) -> list[Event]:
        """Close the run where it is open."""
        end = self.boundary(event_type="agent_end", **fields)
        error.write(end, status)
        return close_run(open_runs, end)


def name_by(record_id: str | None, decoded: Decoded) -> Decoded:
    """Give a record's events the id of the record where no call names them; see
    `Dialect.is_copied`."""
    counts: Counter[tuple[object, ...]] = Counter()
    for event in decoded if record_id and isinstance(decoded, list) else ():
        if event.event_type not in CALLS or event.call_id is None:
            kind = event.event_type, event.status
            event.identity = f"{record_id}#{counts[kind]}"
            counts[kind] += 1
    return decoded


def remember(known: dict[str, Value], key: str, value: Value) -> bool:
    """Note a key, dropping the oldest beyond the bound; False where it was known already."""
    if key in known:
        return False
    known[key] = value
    if len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]
    return True


def replace(known: dict[str, Value], key: str, value: Value) -> None:
    """Set a key's value within the same bound."""
    known.pop(key, None)
    remember(known, key, value)


def open_run(open_runs: dict[str, float], start: Event) -> list[Event]:
    """Return the agent_start, or nothing where this run (its `call_id`) is open already."""
    return [start] if remember(open_runs, start.call_id or "", start.timestamp) else []


def close_run(open_runs: dict[str, float], end: Event) -> list[Event]:
    """Return the agent_end with its duration, or nothing where this run is not open."""
    opened = open_runs.pop(end.call_id or "", None)
    if opened is None:
        return []
    if end.duration_seconds is None and end.timestamp >= opened:  # False for times not known
        end.duration_seconds = end.timestamp - opened
    return [end]
