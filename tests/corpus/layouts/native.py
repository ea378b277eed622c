"""The published schema, and a custom loop's flat records with names of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from corpus.story import Step, Story

Line = tuple[float, dict[str, Any]]


def write(story: Story) -> list[Line]:
    """Write the published schema."""
    lines: list[Line] = []

    def add(at: float, event_type: str, **fields: Any) -> None:
        record = {"timestamp": at, "trace_id": story.trace, "event_type": event_type, **fields}
        lines.append((at, record))

    add(story.began, "agent_start", operation=story.agent, status="started")
    for step in story.steps:
        if step.kind == "model" and step.attempt:
            add(step.began, "retry", operation=step.name, status="started", attempt=step.attempt)
        facts: dict[str, Any] = {"prompt": story.prompt}
        if step.kind == "tool":
            facts = {"arguments": step.arguments}
        start = "tool_call" if step.kind == "tool" else "model_call"
        add(step.began, start, operation=step.name, status="started", metadata=facts)
        if step.ended is not None:
            end = "tool_result" if step.kind == "tool" else "model_call"
            add(step.ended, end, operation=step.name, **_outcome(step))
    error = story.error
    if story.ending == "crashed" and error is not None:
        message = f"{error.kind}: {error.text}"
        add(story.ended, "process_error", status="failed", error_message=message)
    elif story.ending == "failed" and error is not None:
        if error.code == "recursion_limit":
            said = {"operation": error.code, "status": "failed", "error_message": error.text}
            add(story.ended, "audit", **said)
        add(story.ended, "agent_end", status="failed", error_message=error.text)
    elif story.ending == "completed":
        add(story.ended, "agent_end", status="completed")
    return lines


def _outcome(step: Step) -> dict[str, Any]:
    if step.error is not None:
        facts = {"http_status": step.error.http_status, "error_type": step.error.kind}
        known = {name: value for name, value in facts.items() if value is not None}
        return {"status": "failed", "error_message": step.error.text, "metadata": known}
    if step.kind == "tool":
        return {"status": "completed", "metadata": {"output": step.output}}
    used = {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens}
    return {"status": "completed", "metadata": {**used, "finish_reason": step.finish}}


def write_flat(story: Story) -> list[Line]:
    """Write the flat records of somebody's own loop."""
    lines: list[Line] = []

    def add(at: float, event: str, **fields: Any) -> None:
        stamp = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
        lines.append((at, {"ts": stamp, "run_id": story.trace, "event": event, **fields}))

    add(story.began, "run_start", agent=story.agent, task=story.prompt)
    for index, step in enumerate(story.steps):
        call = {"call_id": f"{story.trace}-{index}"}
        if step.kind == "model":
            _flat_model(add, step, call, story.prompt)
            continue
        add(step.began, "tool_start", tool=step.name, args=step.arguments, **call)
        if step.ended is None:
            continue
        if step.error is None:
            add(step.ended, "tool_end", tool=step.name, output=step.output, **call)
        else:
            error = {"type": step.error.kind, "message": step.error.text}
            add(step.ended, "tool_end", tool=step.name, err=error, **call)
    if story.ending == "completed":
        add(story.ended, "run_completed", agent=story.agent)
    elif story.ending == "crashed" and story.error is not None:
        error = {"type": story.error.kind, "message": story.error.text}
        add(story.ended, "process_error", err=error)
    elif story.error is not None:
        if story.error.code == "recursion_limit":
            said = {"op": story.error.code, "status": "failed", "err": story.error.text}
            add(story.ended, "audit", **said)
        add(story.ended, "run_failed", agent=story.agent, err=story.error.text)
    return lines


def _flat_model(add: Any, step: Step, call: dict[str, str], prompt: str) -> None:
    if step.attempt:
        add(step.began, "retry", op=step.name, attempt=step.attempt)
    latency = {"latency_ms": round(((step.ended or step.began) - step.began) * 1000)}
    if step.error is not None:
        code = {"status_code": step.error.http_status} if step.error.http_status else {}
        add(step.ended, "llm_call", model=step.name, err=step.error.text, **code, **latency)
        return
    usage = {"prompt_tokens": step.input_tokens, "completion_tokens": step.output_tokens}
    said = {"usage": usage, "finish_reason": step.finish, "prompt": prompt}
    add(step.ended, "llm_call", model=step.name, **said, **latency)
