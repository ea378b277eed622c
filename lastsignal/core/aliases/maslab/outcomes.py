"""How a call or an agent of mas-lab ended: by its status, its error field, or its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lastsignal.core.aliases.crashes import is_crash
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import status_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.maslab.records import ObsEvent
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.error_classes import classify
from lastsignal.core.events import Status

TIMEOUT = "timeout"
"""The status of an agent that was out of time."""
_MAX_NESTING = 3  # a tool's result comes in up to this many envelopes named `result`


def judge_end(line: ObsEvent, is_model: bool, output: Any) -> tuple[Status, ErrorFields]:
    """Settle a call's end: its status, its error field, then what a tool's output says."""
    error = unwrap_error(line.error)
    status = status_of(text_of(line.status))
    if is_model and status is None and line.next_step == "ERROR":
        status = "failed"
    if status is None or status == "completed":
        hidden = None
        if not is_model and not error.message:
            hidden = failure_in_output(_unwrapped(output), is_said_ok=status == "completed")
        if error.message or hidden is not None:
            return "failed", hidden or error
        return "completed", ErrorFields()
    if status == "failed" and error.message is None:
        error = failure_in_output(_unwrapped(output)) or unwrap_error(_unwrapped(output)) or error
    if status == "failed" and error.message is None:
        error = ErrorFields(text_of(line.status))
    return status, error


@dataclass(frozen=True, slots=True)
class AgentFailure:
    """What an agent that is said to have failed died of, as far as its end says."""

    error: ErrorFields
    said: object = None
    """What it was read from."""
    has_died: bool = False
    """It says what of."""
    is_contradicted: bool = False
    """It is said to have been out of time, and it has an answer."""


def judge_agent(line: ObsEvent, has_answered: bool) -> AgentFailure:
    """Judge an agent's failed end: it may have put out its error.

    Args:
        line: the end.
        has_answered: whether nothing was under way: the latest that was told is an agent's good
            end. Of a file without an order nobody knows, and it counts as such.
    """
    said, error, output = line.error, unwrap_error(line.error), value_of(line.output)
    is_answer = error.message is None and isinstance(output, str)
    if is_answer:
        said, error = output, unwrap_error(output)
    if text_of(line.status) != TIMEOUT:
        return AgentFailure(error, said, has_died=is_crash(error, is_doubted=is_answer))
    says_so = classify("agent_end", None, error.type, error.message) == "timeout"
    if (is_answer or (has_answered and error.message is None)) and not says_so:
        return AgentFailure(ErrorFields(TIMEOUT, None, TIMEOUT), is_contradicted=True)
    return AgentFailure(error, said, has_died=True)


def _unwrapped(output: Any) -> Any:
    for _ in range(_MAX_NESTING):
        if not isinstance(output, dict) or set(output) != {"result"}:
            break
        output = output["result"]
    return output
