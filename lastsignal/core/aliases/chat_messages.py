"""Chat messages of the model providers' own layouts → the calls that they tell of.

OpenAI's have `tool_calls` and the role `tool`; Anthropic's have `tool_use` and `tool_result`
blocks. What people and models say is never read; only the output of tools is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at, count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status

_REFUSED = frozenset({"approval", "cancelled"})
_MAX_BLOCKS = 20


def tell_message(run: Trajectory, message: Mapping[str, Any], model: str | None = None) -> bool:
    """Add the calls that a message tells of; False where it tells of none."""
    role = message.get("role")
    if role in ("assistant", "ai", "model"):
        tell_answer(run, message, model)
        return True
    if role in ("tool", "function"):
        tell_result(run, message)
        return True
    found = False
    for block in blocks_of(message.get("content")):
        if block.get("type") == "tool_result":
            tell_result(run, block)
            found = True
    return found


def tell_answer(run: Trajectory, message: Mapping[str, Any], model: str | None = None) -> Event:
    """Add a model's answer, and the calls that it asks for."""
    event = run.add("model_call", "completed", operation=model or "model", model=model)
    write_usage(event, message.get("usage"))
    for name, call_id, arguments in requested_calls(message):
        run.add(
            "tool_call",
            "started",
            operation=name,
            call_id=call_id,
            arguments_hash=hash_arguments(arguments),
        )
    return event


def requested_calls(message: Mapping[str, Any]) -> Iterator[tuple[str | None, str | None, Any]]:
    """Yield (tool, call id, arguments) of every call that an answer asks for."""
    for call in [*list_of(message.get("tool_calls")), message.get("function_call")]:
        function = mapping_of(at(call, "function")) or mapping_of(call)
        if function:
            arguments = function.get("arguments", function.get("args"))
            yield text_of(function.get("name")), text_of(at(call, "id")), arguments
    for block in blocks_of(message.get("content")):
        if block.get("type") == "tool_use":
            yield text_of(block.get("name")), text_of(block.get("id")), block.get("input")


def tell_result(run: Trajectory, result: Mapping[str, Any]) -> Event:
    """Add a tool's result, judged by its flags and by its output."""
    status, error = judge_result(result)
    return run.add(
        "tool_result",
        status,
        error,
        operation=text_of(result.get("name")) or text_of(result.get("function")),
        call_id=text_of(result.get("tool_call_id")) or text_of(result.get("tool_use_id")),
    )


def judge_result(result: Mapping[str, Any]) -> tuple[Status, ErrorFields]:
    """Return how a tool's result says that the call ended."""
    error = unwrap_error(result.get("error"))
    if error.message:
        return ("aborted" if error.type in _REFUSED else "failed"), error
    output = text_in(result.get("content"))
    is_said_ok = result.get("is_error") is False or result.get("status") == "success"
    failure = failure_in_output(output, is_said_ok=is_said_ok)
    if failure is not None:
        return "failed", failure
    if result.get("is_error") is True or result.get("status") == "error":
        return "failed", unwrap_error(output)
    return "completed", NO_ERROR


def write_usage(event: Event, usage: object) -> None:
    """Put the tokens of a provider's `usage` on a model call's end."""
    counts = mapping_of(usage)
    for name, alias in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        found = count_of(counts.get(name, counts.get(alias)))
        if found is not None:
            setattr(event, name, found)


def blocks_of(content: object) -> list[Mapping[str, Any]]:
    """Return the objects among a message's content blocks."""
    return [block for block in list_of(content)[:_MAX_BLOCKS] if isinstance(block, dict)]


def text_in(content: object) -> str:
    """Return a content's text, or that of its first text blocks."""
    if isinstance(content, str):
        return content
    texts = (text_of(block.get("text")) for block in blocks_of(content))
    return "\n".join(text for text in texts if text)
