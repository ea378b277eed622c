"""What both Claude Code layouts share: messages and content blocks → events."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.claude.records import (
    Block,
    Line,
    Message,
    cache_facts,
    input_tokens,
    model_of,
    text_in,
)
from lastsignal.core.aliases.error_text import ErrorFields, http_status_of, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run, remember, replace
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status

AGENT = "claude-code"
UNNAMED_MODEL = "claude"
"""The operation of a model call whose model no record has named yet."""

# What the client itself writes as the result of a call that was not carried out: the user or a
# policy said no; or the turn was interrupted, or a call beside it failed, whose failure it is.
_DENIED = re.compile(
    r"(?:Error: )?(?:"
    r"The user doesn't want to (?:proceed with this tool use|take this action)"
    r"|User rejected"
    r"|The agent proposed a plan that was rejected by the user"
    r"|Permission to use \S+ .{0,200}\bdenied"
    r"|Claude requested permissions? to "
    r"|This command requires approval"
    r"|(?:Hook )?PreToolUse:"
    r")"
)
_LEFT_OUT = re.compile(
    r"(?:Error: )?(?:"
    r"\[Request interrupted by user|Sibling tool call errored|Cancelled: parallel tool call"
    r")"
)
_INTERRUPTED = "[Request interrupted by user"
_TOOL_ERROR_TAG = re.compile(r"</?tool_use_error>")
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\b")

# The client's own names for causes that neither text nor status code would show.
_CLASS_OF_CODE = {"verification_required": "auth"}
_CUT_OFF = "max_output_tokens"


class ContentState(msgspec.Struct):
    """What must survive a restart to read the next message of a source."""

    messages: dict[str, bool] = {}
    """Ids of messages whose call is counted: each content block repeats id and usage."""
    calls: dict[str, str] = {}
    """Names of the tools called, by call id: results do not repeat them."""
    answered: dict[str, bool] = {}
    """Ids of calls that have ended: a resumed session may repeat its lines."""
    models: dict[str, str] = {}
    """The model that a run used last: retries do not name it."""
    open_runs: dict[str, float] = {}


def answer_of(message: Message, fallback_id: object) -> dict[str, Any]:
    """Return the fields of the event of a message's call, as this record tells it."""
    model = model_of(message)
    return {
        "operation": model or UNNAMED_MODEL,
        "model": model,
        "call_id": text_of(message.id) or text_of(fallback_id),
        "input_tokens": input_tokens(message.usage),
        "output_tokens": count_of(mapping_of(message.usage).get("output_tokens")),
        "finish_reason": None
        if message.stop_reason is msgspec.UNSET
        else text_of(message.stop_reason),
        "metadata": cache_facts(message.usage) or None,
    }


def model_call(state: ContentState, run: Run, message: Message, fallback_id: object) -> list[Event]:
    """Return the completed model call of a message, once for all of its lines."""
    call = answer_of(message, fallback_id)
    call_id, model = call["call_id"], call["model"]
    if model:
        replace(state.models, run.run_id, model)
    if call_id and not remember(state.messages, f"{run.trace_id}/{call_id}", True):
        return []
    return [run.event(event_type="model_call", status="completed", **call)]


def failed_model_call(state: ContentState, run: Run, line: Line, message: Message) -> Event:
    """Return the call that the client gave up: it speaks in the model's place."""
    error = provider_error(text_in(message.content))
    structured = unwrap_error(line.error) if isinstance(line.error, dict) else None
    code = text_of(line.error) or (structured.type if structured else None)
    model = state.models.get(run.run_id)
    return run.event(
        event_type="model_call",
        status="failed",
        operation=model or UNNAMED_MODEL,
        model=model,
        call_id=text_of(message.id),
        error_message=error.message or (structured.message if structured else None) or code,
        error_type=code or error.type,
        error_class=_CLASS_OF_CODE.get(code or ""),
        http_status=http_status_of(line.apiErrorStatus)
        or (structured.http_status if structured else None)
        or error.http_status,
    )


def as_told(failed: Event) -> Event:
    """Return the event of a call given up: an answer that was cut off at its limit was given."""
    if failed.error_type != _CUT_OFF:
        return failed
    return msgspec.structs.replace(
        failed,
        status="completed",
        finish_reason=_CUT_OFF,
        error_message=None,
        error_type=None,
        http_status=None,
    )


def tool_calls(state: ContentState, run: Run, blocks: list[Block]) -> list[Event]:
    """Return the start of each call among a message's blocks."""
    events: list[Event] = []
    for block in blocks:
        call_id = text_of(block.id)
        name = text_of(block.name)
        if not block.is_call or (call_id and not remember(state.calls, call_id, name or "")):
            continue
        events.append(
            run.event(
                event_type="tool_call",
                status="started",
                operation=name,
                call_id=call_id,
                arguments_hash=hash_arguments(block.input),
            )
        )
    return events


def tool_results(state: ContentState, run: Run, blocks: list[Block], line: Line) -> list[Event]:
    """Return the end of each call among a message's blocks."""
    details = value_of(line.toolUseResult)
    return [
        _tool_result(state, run, block, line, details)
        for block in blocks
        if block.is_result and _is_first_answer(state, block)
    ]


def _is_first_answer(state: ContentState, block: Block) -> bool:
    call_id = text_of(block.tool_use_id)
    return call_id is None or remember(state.answered, call_id, True)


def is_interruption(line: Line, message: Message, blocks: list[Block]) -> bool:
    """Did the user stop the turn? The client says so by a field, older ones by a fixed text."""
    if text_of(line.interruptedMessageId):
        return True
    texts = (
        [message.content]
        if not blocks
        else [block.text for block in blocks if block.type == "text"]
    )
    return any(bytes(text).startswith(b'"' + _INTERRUPTED.encode()) for text in texts)


def denials(run: Run, results: list[Event]) -> list[Event]:
    """Return the decisions that refused calls; what print mode tells of them in its result."""
    return [
        run.event(
            event_type="audit",
            operation="permission",
            status="aborted",
            call_id=result.call_id,
            error_message=result.error_message,
            metadata={"tool_name": result.operation},
        )
        for result in results
        if result.status == "aborted"
        and (result.error_type is not None or _DENIED.match(result.error_message or ""))
    ]


def _tool_result(state: ContentState, run: Run, block: Block, line: Line, details: Any) -> Event:
    call_id = text_of(block.tool_use_id)
    name = state.calls.get(call_id or "") or None
    milliseconds = amount_of(at(details, "totalDurationMs") or at(details, "durationMs"))
    event = run.event(
        event_type="tool_result",
        status="completed",
        operation=name,
        call_id=call_id,
        duration_seconds=None
        if milliseconds is None or milliseconds < 0
        else milliseconds / 1000.0,
    )
    status, error = _judge(block, line, details, name)
    event.status = status
    if error is not None:
        event.error_message, event.error_type, event.http_status = (
            error.message,
            error.type,
            error.http_status,
        )
        exit_code = _EXIT_CODE.match(error.message or "")
        if exit_code:
            event.metadata = {"exit_code": int(exit_code[1])}
    return event


def _judge(
    block: Block, line: Line, details: Any, name: str | None
) -> tuple[Status, ErrorFields | None]:
    denial = text_of(line.toolDenialKind)
    if block.is_error is True:
        text = _TOOL_ERROR_TAG.sub("", text_in(block.content)).strip()
        error = unwrap_error(text)
        if denial:
            return "aborted", ErrorFields(error.message, None, denial)
        if at(details, "interrupted") is True or _DENIED.match(text) or _LEFT_OUT.match(text):
            return "aborted", error
        return "failed", error
    if denial or at(details, "interrupted") is True:
        return "aborted", ErrorFields(None, None, denial)
    content = value_of(block.content)
    if isinstance(content, dict) and text_of(code := content.get("error_code")):
        # of the provider's own tools: the type only says that it is an error
        return "failed", unwrap_error({**content, "type": code})
    if name and name.startswith("mcp__"):
        # Only tools of other people's servers: what Read or Bash give back is a file's content.
        hidden = failure_in_output(text_in(block.content), is_said_ok=block.is_error is False)
        if hidden is not None:
            return "failed", hidden
    return "completed", None
