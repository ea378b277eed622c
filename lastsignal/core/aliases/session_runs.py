"""Runs inside session logs, which record what was said but not when the agent began or ended.

A session log has no record for the end of a session, so one run is one turn: it opens with the
first thing that the agent does and closes with the record that ends the turn. A session that is
merely idle then has no open run, and one that stops in the middle of its work has.
"""

from __future__ import annotations

from typing import TypeVar

from lastsignal.core.events import Event

MAX_REMEMBERED = 10_000
"""Ids kept of one source; the oldest go first. Repeats of a record come soon after it."""

Value = TypeVar("Value")


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
