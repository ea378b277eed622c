"""CrewAI's event bus: a crew with one task and one agent; failures climb up through all three."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from corpus.story import Step, Story

Line = tuple[float, dict[str, Any]]


class _Bus:
    """Writes the events of one crew."""

    def __init__(self, story: Story) -> None:
        self.lines: list[Line] = []
        self.trace = story.trace

    def add(self, at: float, kind: str, parent: str | None, began: str | None, **said: Any) -> str:
        number = len(self.lines) + 1
        event = f"{self.trace}-{number}"
        record = {
            "type": kind,
            "timestamp": datetime.fromtimestamp(at, UTC).isoformat(),
            "event_id": event,
            "parent_event_id": parent,
            "started_event_id": began,
            "emission_sequence": number,
            "source_fingerprint": None,
            **said,
        }
        self.lines.append((at, record))
        return event


def trace_of(story: Story) -> str:
    """Return the crew's first event's id."""
    return f"{story.trace}-1"


def write(story: Story) -> list[Line]:
    """Write the bus of one crew."""
    bus, role = _Bus(story), {"role": "Scout", "goal": story.prompt}
    crew = bus.add(story.began, "crew_kickoff_started", None, None, crew_name="Trip crew")
    task = bus.add(story.began, "task_started", crew, None, task_name="find fares")
    agent = bus.add(story.began, "agent_execution_started", task, None, agent=role)
    for index, step in enumerate(story.steps):
        _add_step(bus, step, agent, f"{story.trace}-call-{index}")
    at = story.ended
    if story.ending == "completed":
        bus.add(at, "agent_execution_completed", task, agent, agent=role)
        bus.add(at, "task_completed", crew, task)
        bus.add(at, "crew_kickoff_completed", None, crew, total_tokens=70)
    elif story.error is not None:
        text = story.error.text
        bus.add(at, "agent_execution_error", task, agent, agent=role, error=text)
        bus.add(at, "task_failed", crew, task, error=text)
        bus.add(at, "crew_kickoff_failed", None, crew, error=text)
    return bus.lines


def _add_step(bus: _Bus, step: Step, agent: str, call: str) -> None:
    if step.kind == "tool":
        said: dict[str, Any] = {"tool_name": step.name, "tool_args": step.arguments}
        start = bus.add(step.began, "tool_usage_started", agent, None, **said, run_attempts=1)
        if step.ended is not None and step.error is not None:
            bus.add(step.ended, "tool_usage_error", agent, start, **said, error=step.error.text)
        elif step.ended is not None:
            said |= {"output": step.output, "failure": None}
            bus.add(step.ended, "tool_usage_finished", agent, start, **said)
        return
    said = {"call_id": call, "model": step.name}
    start = bus.add(step.began, "llm_call_started", agent, None, **said)
    assert step.ended is not None
    if step.error is not None:
        code = f"Error code: {step.error.http_status} - " if step.error.http_status else ""
        bus.add(step.ended, "llm_call_failed", agent, start, **said, error=code + step.error.text)
        return
    used = {"prompt_tokens": step.input_tokens, "completion_tokens": step.output_tokens}
    said |= {"finish_reason": step.finish, "usage": used}
    bus.add(step.ended, "llm_call_completed", agent, start, **said)
