"""What OpenCode's bus and its run stream share: tools, calls of the model and errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields, http_status_of
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run, remember, replace
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status
from lastsignal.core.timestamps import parse_timestamp

AGENT = "opencode"
UNNAMED_MODEL = "model"
_ABSENT = msgspec.Raw(b"")

# What the client itself writes for a call that its user did not want.
_NOT_CARRIED_OUT = re.compile(
    r"(?:Error: )?(?:The user (?:has )?(?:rejected|dismissed|denied|specified a rule)"
    r"|Tool execution (?:was )?aborted|User aborted|User dismissed|User rejected)"
)


class Part(msgspec.Struct, gc=False):
    """A part of a message; texts stay undecoded."""

    id: Any = None
    type: Any = None
    messageID: Any = None
    sessionID: Any = None
    tool: Any = None
    callID: Any = None
    state: msgspec.Raw = _ABSENT
    reason: Any = None
    tokens: Any = None
    cost: Any = None
    attempt: Any = None
    error: Any = None


class _ToolState(msgspec.Struct, gc=False):
    status: Any = None
    input: msgspec.Raw = _ABSENT
    error: Any = None
    metadata: msgspec.Raw = _ABSENT
    time: Any = None


class ToolCalls(msgspec.Struct):
    """The tool calls of a source whose start or end is told: a part is sent again as it changes."""

    known: dict[str, bool] = {}
    """Call → whether its end is told."""


_decode_part = msgspec.json.Decoder(Part).decode
_decode_tool_state = msgspec.json.Decoder(_ToolState).decode


def part_of(raw: msgspec.Raw) -> Part | None:
    """Decode a part; None where it is no object."""
    try:
        return _decode_part(raw) if bytes(raw) else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def tool_events(told: ToolCalls, run: Run, part: Part) -> list[Event]:
    """Return a tool part's start and end, each once."""
    try:
        state = _decode_tool_state(part.state) if bytes(part.state) else _ToolState()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []
    if state.status not in ("running", "completed", "error"):
        return []
    call_id, name = text_of(part.callID), text_of(part.tool)
    key = f"{run.trace_id}/{call_id or text_of(part.id)}"
    times = mapping_of(state.time)
    started, ended = parse_timestamp(times.get("start")), parse_timestamp(times.get("end"))
    events: list[Event] = []
    if remember(told.known, key, False):
        start = run.event(
            event_type="tool_call",
            status="started",
            operation=name,
            call_id=call_id,
            arguments_hash=hash_arguments(state.input),
        )
        start.timestamp = run.at if started is None else started
        events.append(start)
    if state.status == "running" or told.known.get(key):
        return events
    replace(told.known, key, True)
    end = run.event(event_type="tool_result", operation=name, call_id=call_id)
    end.timestamp = run.at if ended is None else ended
    if started is not None and ended is not None and ended >= started:
        end.duration_seconds = ended - started
    _judge(end, state)
    return [*events, end]


def _judge(end: Event, state: _ToolState) -> None:
    details = value_of(state.metadata)
    if state.status == "error":
        error = provider_error(text_of(state.error) or text_of(at(state.error, "message")))
        refused = _NOT_CARRIED_OUT.match(error.message or "")
        interrupted = at(details, "interrupted") is True
        error.write(end, "aborted" if refused or interrupted else "failed")
        return
    code = at(details, "exit")
    if isinstance(code, int) and not isinstance(code, bool) and code != 0:
        ErrorFields(f"exit {code}").write(end)
        end.metadata = {"exit_code": code}
        return
    end.status = "completed"


def error_of(value: object) -> ErrorFields:
    """Read an error of the bus: a name, and data with the message and the code."""
    error = mapping_of(value)
    data = mapping_of(error.get("data"))
    name = text_of(error.get("name"))
    message = text_of(data.get("message")) or text_of(error.get("message")) or text_of(value)
    found = provider_error(message)
    status = http_status_of(data.get("statusCode")) or http_status_of(data.get("status"))
    return ErrorFields(found.message or name, status or found.http_status, name or found.type)


def status_of_error(error: ErrorFields) -> Status:
    """What an error means for its call and run: the user may have stopped them."""
    return "aborted" if error.type == "MessageAbortedError" else "failed"


def usage(tokens_value: object, cost: object) -> dict[str, Any]:
    """Return the token and cost fields of a call; the provider counts cached input apart."""
    tokens: Mapping[str, Any] = mapping_of(tokens_value)
    cache = mapping_of(tokens.get("cache"))
    read, written = count_of(cache.get("read")), count_of(cache.get("write"))
    fresh, output = count_of(tokens.get("input")), count_of(tokens.get("output"))
    reasoning = count_of(tokens.get("reasoning")) or 0
    facts = {
        "cache_read_tokens": read,
        "cache_creation_tokens": written,
        "thinking_tokens": reasoning,
    }
    return {
        "input_tokens": None if fresh is None else fresh + (read or 0) + (written or 0),
        "output_tokens": None if output is None else output + reasoning,
        "cost_usd": amount_of(cost),
        "metadata": {name: count for name, count in facts.items() if count} or None,
    }
