"""What LangChain's own values say of a call: tokens, model, a tool's failure, an error's meaning.

Messages appear plain, as `{"lc": 1, "kwargs": {…}}`, in generations, and as a provider's response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields, first_line, unwrap_error
from lastsignal.core.aliases.fields import at, count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.error_classes import classify
from lastsignal.core.events import Event, Status

RETRY_TAG = re.compile(r"retry:attempt:(\d{1,6})")
RECURSION_LIMIT = re.compile(r"Recursion limit of (\d{1,9}) reached")

# Exceptions that LangGraph raises to steer, not because something failed.
_STEERING = frozenset({"ParentCommand", "GraphBubbleUp"})
_ABORTING = frozenset(
    {"GraphInterrupt", "NodeInterrupt", "CancelledError", "KeyboardInterrupt", "GeneratorExit"}
)
_LEADING_NAME = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)\(")
# How LangGraph's tool node words a failure for the model.
_TOOL_NODE_ERROR = re.compile(r"(?:Error invoking tool .*? with error:\s*|Error:\s*)", re.DOTALL)
_REJECTED = "User rejected the tool call"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model's output says of the call."""

    input_tokens: int | None
    output_tokens: int | None
    model: str | None
    finish_reason: str | None

    def write(self, event: Event) -> None:
        """Put the facts on a model call's end."""
        event.input_tokens, event.output_tokens = self.input_tokens, self.output_tokens
        event.model = self.model or event.model
        event.finish_reason = self.finish_reason


def plain(message: object) -> Mapping[str, Any]:
    """Return a message's fields, whichever way it was serialised."""
    fields = mapping_of(message)
    kwargs = fields.get("kwargs")
    return kwargs if isinstance(kwargs, dict) and "lc" in fields else fields


def model_facts(output: object) -> ModelFacts:
    """Read tokens, model and finish reason of a message, an LLMResult or a provider's response."""
    result = plain(output)
    generation = _first_generation(result)
    message = plain(generation.get("message")) if generation else result
    response = mapping_of(message.get("response_metadata"))
    info = mapping_of(generation.get("generation_info"))
    usage = next(_usages(message, response, result), {})
    return ModelFacts(
        input_tokens=count_of(usage.get("input_tokens", usage.get("prompt_tokens"))),
        output_tokens=count_of(usage.get("output_tokens", usage.get("completion_tokens"))),
        model=_first_text(
            response.get("model_name"),
            response.get("model"),
            info.get("model_name"),
            at(result, "llm_output", "model_name"),
            result.get("model"),
        ),
        finish_reason=_first_text(
            response.get("finish_reason"),
            response.get("stop_reason"),
            info.get("finish_reason"),
            at(result, "choices", 0, "finish_reason"),
            result.get("stop_reason"),
        ),
    )


def tool_failure(output: object, *, is_said_ok: bool = False) -> tuple[Status, ErrorFields] | None:
    """Return how a tool's output says that the call did not succeed, None where it says nothing.

    Args:
        output: what a tool gave back, be it a message or its content alone.
        is_said_ok: whether what stands around it says that it went well.
    """
    message = plain(output)
    if set(message) == {"output"}:
        message = plain(message["output"]) or message
    if message.get("type") != "tool" and "tool_call_id" not in message:
        content = message.get("output", output) if message else output
        hidden = failure_in_output(content, is_said_ok=is_said_ok)
        return ("failed", hidden) if hidden else None
    text = _text_content(message.get("content"))
    if message.get("status") == "error":
        if text.startswith(_REJECTED):
            return "aborted", ErrorFields(message=first_line(text))
        return "failed", tool_node_error(text)
    hidden = failure_in_output(text, is_said_ok=is_said_ok or message.get("status") == "success")
    return ("failed", hidden) if hidden else None


def tool_node_error(content: str) -> ErrorFields:
    """Unwrap `Error: TimeoutError('…')` and `Error invoking tool '…' with error: …`."""
    prefix = _TOOL_NODE_ERROR.match(content)
    return error_fields(content[prefix.end() :] if prefix else content)


def error_fields(error: object) -> ErrorFields:
    """Read an error: a repr with a traceback glued to it, a provider's text, an object."""
    fields = unwrap_error(error)
    provider = provider_error(fields.message)
    return ErrorFields(
        message=provider.message or fields.message,
        http_status=fields.http_status or provider.http_status,
        type=fields.type or provider.type,
    )


def judge_error(error: object) -> tuple[Status, ErrorFields]:
    """Return what an error means for its run, and what it says."""
    named = _LEADING_NAME.match(error) if isinstance(error, str) else None
    if named and named[1] in _STEERING:
        return "completed", ErrorFields()
    if named and named[1] in _ABORTING:
        inner = error_fields(error)
        return "aborted", ErrorFields(message=inner.message, type=named[1])
    fields = error_fields(error)
    return ("aborted" if fields.type in _ABORTING else "failed"), fields


def own_failure(end: Event, error: object) -> Event:
    """Return why a run failed by itself: it reached LangGraph's step limit, it crashed, or a call
    of its model failed that no run of its own tells of."""
    failure = Event(
        timestamp=end.timestamp,
        trace_id=end.trace_id,
        event_type=leaf_type(_told_by(end), error, error),
        operation=end.operation,
        status="failed",
        error_message=end.error_message,
        http_status=end.http_status,
        error_type=end.error_type,
        agent=end.agent,
        parent_id=end.call_id,
    )
    limit = RECURSION_LIMIT.search(end.error_message or "")
    if limit or end.error_type == "GraphRecursionError":
        failure.event_type, failure.operation = "audit", "recursion_limit"
        failure.metadata = {"limit": int(limit[1])} if limit else None
    return failure


def _told_by(end: Event) -> ErrorFields:
    return ErrorFields(end.error_message, end.http_status, end.error_type)


def failed_step(failure: Event) -> Event:
    """Return the failure of a step within a run: like that of a call, but nothing was asked of it
    that could be wrong."""
    if failure.event_type == "process_error":
        failure.error_class = classify(
            "process_error", failure.http_status, failure.error_type, failure.error_message
        )
        failure.event_type = "tool_result"
    return failure


def attempt_in(tags: object) -> int | None:
    """Return the attempt that `with_retry` notes in a tag, from the second on."""
    for tag in list_of(tags):
        found = RETRY_TAG.fullmatch(tag) if isinstance(tag, str) else None
        if found and int(found[1]) > 1:
            return int(found[1])
    return None


def call_facts(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the few facts of a run's metadata that tell where in the graph it stood."""
    facts = {
        "node": text_of(metadata.get("langgraph_node")),
        "step": count_of(metadata.get("langgraph_step")),
        "provider": text_of(metadata.get("ls_provider")),
        "thread_id": text_of(metadata.get("thread_id")),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _first_generation(result: Mapping[str, Any]) -> Mapping[str, Any]:
    first = at(result, "generations", 0)
    return mapping_of(first[0] if isinstance(first, list) and first else first)


def _usages(*holders: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for holder in holders:
        for place in (holder, mapping_of(holder.get("llm_output"))):
            for name in ("usage_metadata", "token_usage", "usage"):
                usage = place.get(name)
                if isinstance(usage, dict) and usage:
                    yield usage


def _first_text(*values: object) -> str | None:
    return next((text for value in values if (text := text_of(value))), None)


def _text_content(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = (text_of(mapping_of(block).get("text")) for block in list_of(content))
    return "\n".join(text for text in texts if text)
