"""OpenAI Agents SDK: a trace when it starts, spans when they end, children first."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from corpus.story import Failure, Step, Story

Line = tuple[float, dict[str, Any]]


def trace_of(story: Story) -> str:
    """Return the trace's id."""
    return f"trace_{story.trace}"


def write(story: Story) -> list[Line]:
    """Write what the SDK's processor hands to an exporter."""
    trace, agent = trace_of(story), f"span_{story.trace}_agent"
    announced = {"object": "trace", "id": trace, "workflow_name": "Agent workflow"}
    lines: list[Line] = [(story.began, announced)]

    def add(span: str, parent: str | None, began: float, ended: float, **said: Any) -> None:
        record = {
            "object": "trace.span",
            "id": span,
            "trace_id": trace,
            "parent_id": parent,
            "started_at": _iso(began),
            "ended_at": _iso(ended),
            **said,
        }
        lines.append((ended, record))

    for index, step in enumerate(story.steps):
        if step.ended is not None:
            said = _said(step, story.prompt)
            add(f"span_{story.trace}_{index}", agent, step.began, step.ended, **said)
    error = None
    if story.error is not None and story.error.code == "recursion_limit":
        error = {"message": "Max turns exceeded", "data": {"max_turns": 25}}
    elif story.error is not None:
        error = {"message": "Error in agent run", "data": {"error": _text(story.error)}}
    data = {"type": "agent", "name": story.agent, "tools": []}
    add(agent, None, story.began, story.ended, span_data=data, error=error)
    return lines


def _said(step: Step, prompt: str) -> dict[str, Any]:
    if step.kind == "tool":
        data = {"type": "function", "name": step.name, "input": json.dumps(step.arguments)}
        if step.error is None:
            return {"span_data": {**data, "output": step.output}, "error": None}
        detail = {"tool_name": step.name, "error": _text(step.error)}
        error = {"message": "Error running tool (non-fatal)", "data": detail}
        return {"span_data": {**data, "output": None}, "error": error}
    used = {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens}
    data = {"type": "generation", "model": step.name, "input": [{"content": prompt}]}
    if step.error is None:
        return {"span_data": {**data, "usage": used}, "error": None}
    error = {"message": "Error getting response", "data": {"error": _text(step.error)}}
    return {"span_data": {**data, "usage": None}, "error": error}


def _text(error: Failure) -> str:
    if error.http_status is not None:
        return f"Error code: {error.http_status} - {{'error': {{'message': {error.text!r}}}}}"
    return f"{error.kind}: {error.text}"


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
