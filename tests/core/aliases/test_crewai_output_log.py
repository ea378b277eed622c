"""CrewAI's output log: tasks that start and complete, and those that never do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def entry(status: str, second: int, task: str = "find fares", **fields: Any) -> dict[str, Any]:
    return {
        "timestamp": f"2026-03-04 05:06:{second:02d}", "task_name": None, "task": task,
        "agent": "Scout", "status": status, **fields,
    }  # fmt: skip


def test_a_task_is_its_agents_run(read: Read) -> None:
    events, _ = read(
        entry("started", 1), entry("completed", 3, output="Error: 429 is all that I found")
    )
    assert [(event.event_type, event.status, event.call_id) for event in events] == [
        ("agent_start", "started", "task-1"),
        ("agent_end", "completed", "task-1"),
    ]
    assert [event.timestamp for event in events] == [1772600761.0, 1772600763.0]
    assert {event.agent for event in events} == {"Scout"}


def test_a_task_that_failed_is_a_start_without_its_end(read: Read) -> None:
    events, _ = read(entry("started", 1), entry("completed", 2), entry("started", 3, "book"))
    assert [(event.event_type, event.call_id) for event in events] == [
        ("agent_start", "task-1"),
        ("agent_end", "task-1"),
        ("agent_start", "task-2"),
    ]


def test_the_same_task_twice_at_once_ends_in_the_order_of_its_starts(read: Read) -> None:
    events, _ = read(
        entry("started", 1), entry("started", 2), entry("completed", 3), entry("completed", 4)
    )
    assert [event.call_id for event in events] == ["task-1", "task-2", "task-1", "task-2"]


def test_a_status_that_nobody_knows_is_counted(read: Read) -> None:
    events, reader = read(entry("levitating", 1))
    assert (events, reader.skipped) == ([], {"unknown_status": 1})
