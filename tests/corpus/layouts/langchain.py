"""LangChain's `astream_events`: ids of version 7 tell the time, errors are exceptions' reprs."""

from __future__ import annotations

from typing import Any

from corpus.layouts.spans import identifier
from corpus.story import Failure, Step, Story

Line = tuple[float, dict[str, Any]]


def _run_id(at: float, text: str) -> str:
    digits, tail = f"{round(at * 1000):012x}", identifier(text, 8)
    return f"{digits[:8]}-{digits[8:]}-7{tail[:3]}-8{tail[3:6]}-{tail}"[:36].ljust(36, "0")


def trace_of(story: Story) -> str:
    """Return the outermost run's id."""
    return _run_id(story.began, f"{story.trace}/root")


def write(story: Story) -> list[Line]:
    """Write the events of one stream."""
    root = trace_of(story)
    lines: list[Line] = []

    def add(at: float, event: str, run: str, name: str, **said: Any) -> None:
        record = {"event": event, "run_id": run, "name": name, "tags": [], "metadata": {}}
        parents = [] if run == root else [root]
        lines.append((at, {**record, "data": {}, "parent_ids": parents, **said}))

    add(story.began, "on_chain_start", root, "Agent", data={"input": story.prompt})
    for index, step in enumerate(story.steps):
        run = _run_id(step.began, f"{story.trace}/{index}")
        _add_step(add, step, run)
    if story.ending in ("failed", "crashed"):
        add(story.ended, "on_chain_error", root, "Agent", data={"error": _repr(story.error)})
    elif story.ending == "completed":
        add(story.ended, "on_chain_end", root, "Agent", data={"output": "done"})
    return lines


def _add_step(add: Any, step: Step, run: str) -> None:
    if step.kind == "tool":
        said = {"input": step.arguments}
        add(step.began, "on_tool_start", run, step.name, data=said)
        if step.ended is not None and step.error is not None:
            add(step.ended, "on_tool_error", run, step.name, data={"error": _repr(step.error)})
        elif step.ended is not None:
            add(step.ended, "on_tool_end", run, step.name, data={**said, "output": step.output})
        return
    facts = {"ls_model_name": step.name, "ls_provider": "openai"}
    tags = [f"retry:attempt:{step.attempt + 1}"] if step.attempt else []
    add(step.began, "on_chat_model_start", run, "ChatOpenAI", metadata=facts, tags=tags)
    if step.error is not None:
        data = {"error": _repr(step.error)}
        add(step.ended, "on_chat_model_error", run, "ChatOpenAI", metadata=facts, data=data)
        return
    used = {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens}
    message = {
        "type": "ai",
        "content": "text",
        "usage_metadata": used,
        "response_metadata": {"finish_reason": step.finish, "model_name": step.name},
    }
    add(
        step.ended, "on_chat_model_end", run, "ChatOpenAI", metadata=facts, data={"output": message}
    )


def _repr(error: Failure | None) -> str:
    if error is None:
        return "RuntimeError('unknown')"
    code = f"Error code: {error.http_status} - " if error.http_status else ""
    return f"{error.kind}({code + error.text!r})"
