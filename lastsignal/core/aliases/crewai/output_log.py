"""CrewAI's `output_log_file="….json"`: an array of tasks that were started and completed.

A failure is never written, and no entry has an id: a task that failed, was killed or still runs is
a start without its end.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import status_of, text_of
from lastsignal.core.aliases.session_runs import replace
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_KEYS = frozenset({"timestamp", "task_name", "task", "agent", "status"})


class _Entry(msgspec.Struct, gc=False):
    timestamp: Any
    task_name: Any
    task: Any
    agent: Any
    status: Any


class LogState(msgspec.Struct):
    """Tasks that have started and not ended, each with the ids of its runs."""

    open: dict[str, list[str]] = {}
    tasks: int = 0


_decode = msgspec.json.Decoder(_Entry).decode


def recognise(value: Any) -> bool:
    """An entry of the log: its five keys, and none that names an event."""
    return (
        isinstance(value, dict)
        and value.keys() >= _KEYS
        and isinstance(value["status"], str)
        and "event_type" not in value
        and "type" not in value
    )


class OutputLogDecoder:
    """Decodes the entries of one log."""

    def __init__(self, source: str) -> None:
        self.state = LogState()

    def decode(self, record: bytes) -> Decoded:
        """Return a task's start or end as its agent's; see `contract.Decoder`."""
        try:
            entry = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        status = status_of(entry.status)
        if status is None:
            return Drop("unknown_status")
        agent, task = text_of(entry.agent), text_of(entry.task_name)
        timestamp = time_of(entry.timestamp)
        event = Event(
            timestamp=timestamp,
            event_type="agent_start" if status == "started" else "agent_end",
            operation=agent or task or "task",
            agent=agent,
            status=status,
            metadata={"task": task} if task else None,
        )
        key = f"{agent}\n{text_of(entry.task)}"
        event.call_id = self._opened(key) if status == "started" else self._closed(key)
        return [event]

    def _opened(self, key: str) -> str:
        state = self.state
        state.tasks += 1
        call_id = f"task-{state.tasks}"
        replace(state.open, key, [*state.open.get(key, []), call_id][-100:])
        return call_id

    def _closed(self, key: str) -> str | None:
        waiting = self.state.open.get(key)
        if not waiting:
            return None
        call_id = waiting.pop(0)
        if not waiting:
            del self.state.open[key]
        return call_id


DIALECT = Dialect(
    name="crewai_output_log",
    framework="crewai",
    recognise=recognise,
    decoder=OutputLogDecoder,
    is_unique=True,
    description="CrewAI output_log_file as JSON: timestamp, task_name, task, agent, status",
    written_by='`Crew(output_log_file="FILE.json")`',
)
