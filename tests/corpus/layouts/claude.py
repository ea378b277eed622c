"""Claude Code's transcript: content blocks, retries as system records, API errors as messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from corpus.story import Step, Story

Line = tuple[float, dict[str, Any]]


def write(story: Story) -> list[Line]:
    """Write a session. One that fails of its tools has no end: its user stops it."""
    lines: list[Line] = []

    def add(at: float, kind: str, **fields: Any) -> None:
        stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        head = {"parentUuid": None, "isSidechain": False, "sessionId": story.trace}
        record = {**head, "version": "2.1.200", "uuid": f"{story.trace}-{len(lines)}"}
        lines.append((at, {**record, "timestamp": stamp, "type": kind, **fields}))

    add(story.began, "user", message={"role": "user", "content": story.prompt})
    for index, step in enumerate(story.steps):
        last = index == len(story.steps) - 1
        if step.kind == "tool":
            _add_tool(add, step, f"toolu_{story.trace}_{index}", story.model)
        elif step.error is not None:
            gives_up = last and story.ending == "failed"
            _add_refusal(add, step, gives_up)
        else:
            ends = last and story.ending == "completed"
            _add_message(add, step, f"msg_{story.trace}_{index}", "end_turn" if ends else None)
    return lines


def _add_message(add: Any, step: Step, name: str, stop: str | None) -> None:
    reasons = {"stop": "tool_use", "length": "max_tokens"}
    usage = {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens}
    message = {
        "id": name,
        "model": step.name,
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "…"}],
        "stop_reason": stop or reasons[step.finish],
        "usage": usage,
    }
    if stop:
        message["content"] = [{"type": "text", "text": "Here it is."}]
    add(step.ended, "assistant", message=message)


def _add_tool(add: Any, step: Step, call: str, model: str) -> None:
    use = {"type": "tool_use", "id": call, "name": step.name, "input": step.arguments}
    message = {
        "id": f"msg_{call}",
        "model": model,
        "role": "assistant",
        "content": [use],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 7},
    }
    add(step.began, "assistant", message=message)
    if step.ended is None:
        return
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": step.output}
    if step.error is not None:
        result |= {"content": f"Error: {step.error.text}", "is_error": True}
    add(step.ended, "user", message={"role": "user", "content": [result]})


def _add_refusal(add: Any, step: Step, gives_up: bool) -> None:
    error = step.error
    assert error is not None
    kind = error.code or "api_error"
    body = {"type": "error", "error": {"type": kind, "message": error.text}}
    if not gives_up:
        said = {"status": error.http_status, "error": body}
        add(
            step.ended,
            "system",
            subtype="api_error",
            error=said,
            retryInMs=1500,
            retryAttempt=step.attempt + 1,
            maxRetries=10,
        )
        return
    code = f"{error.http_status} " if error.http_status else ""
    text = f"API Error: {code}{json.dumps(body)}"
    message = {
        "id": f"api_{step.ended}",
        "model": "<synthetic>",
        "stop_reason": "stop_sequence",
        "content": [{"type": "text", "text": text}],
    }
    add(
        step.ended,
        "assistant",
        isApiErrorMessage=True,
        error=kind,
        apiErrorStatus=error.http_status,
        message=message,
    )
