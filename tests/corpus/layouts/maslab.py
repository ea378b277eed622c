"""mas-lab's ObsEvents, second version of the schema: with call ids."""

from __future__ import annotations

from typing import Any

from corpus.story import Step, Story

Line = tuple[float, dict[str, Any]]


def write(story: Story) -> list[Line]:
    """Write the runtime's stream."""
    lines: list[Line] = []

    def add(at: float, kind: str, **fields: Any) -> None:
        head = {"kind": kind, "agent_id": story.agent, "run_id": story.trace, "timestamp": at}
        lines.append((at, {**head, **fields}))

    run = {"call_id": f"{story.trace}-run"}
    add(story.began, "execution_start", input=story.prompt, **run)
    for index, step in enumerate(story.steps):
        call = {"call_id": f"{story.trace}-{index}", "parent_call_id": run["call_id"]}
        if step.kind == "tool":
            _add_tool(add, step, call)
        else:
            _add_model(add, step, call, story.prompt)
    if story.ending == "completed":
        add(story.ended, "execution_end", status="success", output="done", **run)
    elif story.ending == "failed" and story.error is not None:
        error = {"message": story.error.text}
        if story.error.code == "recursion_limit":
            add(story.ended, "audit", payload={"event": "recursion_limit_reached", "limit": 25})
        add(story.ended, "execution_end", status="error", error=error, **run)
    elif story.ending == "crashed" and story.error is not None:
        said = {"code": story.error.kind, "message": story.error.text, "recoverable": False}
        add(story.ended, "boundary_error", **said)
    return lines


def _add_tool(add: Any, step: Step, call: dict[str, str]) -> None:
    named = {"tool_name": step.name, "arguments": step.arguments}
    add(step.began, "tool_call_start", **named, **call)
    if step.ended is None:
        return
    if step.error is not None:
        error = {"message": step.error.text, "type": step.error.kind}
        add(step.ended, "tool_call_end", tool_name=step.name, status="error", error=error, **call)
        return
    result = {"result": {"status": "ok", "result": step.output}}
    add(step.ended, "tool_call_end", tool_name=step.name, status="success", result=result, **call)


def _add_model(add: Any, step: Step, call: dict[str, str], prompt: str) -> None:
    messages = [{"role": "user", "content": prompt}]
    add(step.began, "llm_call_start", model=step.name, messages=messages, **call)
    if step.error is not None:
        error = {"message": step.error.text, "status_code": step.error.http_status}
        add(step.ended, "llm_call_end", model=step.name, status="error", error=error, **call)
        return
    used = {"prompt_tokens": step.input_tokens, "completion_tokens": step.output_tokens}
    said = {"response": {"content": "text", "usage": used}, "finish_reason": step.finish}
    add(step.ended, "llm_call_end", model=step.name, **said, **call)
