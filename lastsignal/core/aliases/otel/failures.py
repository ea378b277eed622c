"""Why a span failed, and which exceptions are no failures."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields, first_line, http_status_of, unwrap_error
from lastsignal.core.aliases.fields import at, mapping_of, text_of
from lastsignal.core.aliases.otel.spans import Span
from lastsignal.core.aliases.tool_output import failure_in_output

READS = frozenset({"error.type", "http.response.status_code", "http.status_code"})
EVENT_READS = {"exception": frozenset({"exception.type", "exception.message"})}

# Somebody stopped the work, or it waits for somebody: nothing went wrong.
_STOPPED = frozenset(
    {
        "AbortError", "ApprovalRequired", "CallDeferred", "CanceledError", "CancelledError",
        "GeneratorExit", "GraphInterrupt", "KeyboardInterrupt", "NodeInterrupt",
        "OperationCanceledException", "TaskCanceledException",
    }
)  # fmt: skip
# LangGraph hands control on by raising: the step did what it should.
_CONTROL_FLOW = frozenset({"ParentCommand", "GraphBubbleUp"})

_LIMITS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (operation, re.compile(pattern, re.IGNORECASE))
    for operation, pattern in (
        ("recursion_limit", r"GraphRecursion|recursion limit"),
        ("turn_limit", r"MaxTurnsExceeded|max(?:imum)?[ _](?:number of )?turns|turn limit"),
        (
            "budget",
            r"BudgetExceeded|budget (?:\w+ ){0,2}(?:exceeded|exhausted)|max(?:imum)?[ _]budget",
        ),
        ("token_limit", r"MaxTokensReached|tokens?_limit|token limit"),
        (
            "step_limit",
            r"MaxSteps|(?<!Rate)LimitExceeded|(?:request|tool_calls)_limit"
            r"|max(?:imum)?[ _](?:number of )?(?:steps|iterations|llm calls)"
            r"|(?:step|iteration) limit",
        ),
        ("guardrail", r"GuardrailTripwire|guardrail (?:\w+ )?(?:triggered|tripwire|violat)"),
    )
)
_NUMBER = re.compile(r"(?:limit|turns|steps|iterations|calls|budget)\D{0,20}?(\d+(?:\.\d+)?)")
_ENVELOPES = ("output", "result", "data", "kwargs")
_DUMPED = frozenset({"type", "lc"})  # LangChain's message objects
_ENVELOPE_DEPTH = 4
_PROBE_LIMIT = 65536  # characters; a longer output is content


def error_of(span: Span) -> ErrorFields:
    """Return message, code and type: exception event first, then status text and attributes."""
    exception = next((event for event in reversed(span.events) if event.name == "exception"), None)
    found = exception.attributes if exception is not None else {}
    kind = _bare(text_of(found.get("exception.type")))
    message = first_line(text_of(found.get("exception.message")) or "") or None
    if message is None and span.status_message:
        said = unwrap_error(span.status_message)
        message, kind = said.message, kind or said.type
    attribute = text_of(span.attributes.get("error.type"))
    status = next(
        (
            code
            for name in ("http.response.status_code", "http.status_code", "error.type")
            if (code := http_status_of(span.attributes.get(name)))
        ),
        None,
    )
    if attribute and not attribute.isdecimal():
        kind = kind or _bare(attribute)
    return ErrorFields(message or kind, status, kind)


def is_stop(error: ErrorFields) -> bool:
    """Was the work stopped rather than failed?"""
    return error.type in _STOPPED


def is_control_flow(error: ErrorFields) -> bool:
    """Does the exception only hand control on?"""
    return error.type in _CONTROL_FLOW


def limit_of(error: ErrorFields) -> str | None:
    """Return the limit, as an audit's operation, that the error says was reached."""
    said = f"{error.type or ''} {error.message or ''}"
    return next((operation for operation, pattern in _LIMITS if pattern.search(said)), None)


def limit_value(message: str | None) -> int | float | None:
    """Return the number that a limit's message names."""
    found = _NUMBER.search(message or "")
    if found is None:
        return None
    return float(found[1]) if "." in found[1] else int(found[1])


def hidden_failure(output: object, is_said_ok: bool = False) -> ErrorFields | None:
    """Return the failure that a tool's output tells of, also from inside an envelope."""
    output = _decoded(output)
    for _ in range(_ENVELOPE_DEPTH):
        found = failure_in_output(output, is_said_ok=is_said_ok)
        if found is not None:
            return found if found.message else replace(found, message=output_text(output))
        inner = _inner(output)
        if inner is None:
            return None
        output = inner
    return None


def output_text(output: object) -> str | None:
    """Return the first line of a tool's output, be it text or a list of content blocks."""
    output = _decoded(output)
    for _ in range(_ENVELOPE_DEPTH):
        if isinstance(output, str):
            return first_line(output) or None
        output = _inner(output)
    return None


def _inner(output: object) -> object:
    """Return what an envelope holds: content blocks, `{"result": …}`, a dumped message object."""
    if isinstance(output, list):
        return at(output, 0, "text")
    envelope = mapping_of(output)
    if isinstance(envelope.get("content"), list):
        return at(envelope, "content", 0, "text")
    wrapped = [envelope[key] for key in _ENVELOPES if key in envelope]
    if len(wrapped) != 1 or (len(envelope) > 1 and not _DUMPED & set(envelope)):
        return None
    return wrapped[0]


def _decoded(output: object) -> Any:
    is_json = isinstance(output, str) and output[:1] in ('"', "{", "[")
    if not isinstance(output, str) or not is_json or len(output) > _PROBE_LIMIT:
        return output
    try:
        return msgspec.json.decode(output)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return output


def _bare(kind: str | None) -> str | None:
    """`openai.RateLimitError` → `RateLimitError`."""
    return kind.rsplit(".", 1)[-1] if kind else None
