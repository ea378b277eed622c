"""How a call of mas-lab ended: by its status, its error field, or what its output says."""

from __future__ import annotations

from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import status_of, text_of
from lastsignal.core.aliases.maslab.records import ObsEvent
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.events import Status

_MAX_NESTING = 3  # a tool's result comes in up to this many envelopes named `result`


def judge_end(line: ObsEvent, is_model: bool, output: Any) -> tuple[Status, ErrorFields]:
    """Settle a call's end: its status, its error field, then what a tool's output says."""
    error = unwrap_error(line.error)
    status = status_of(text_of(line.status))
    if is_model and status is None and line.next_step == "ERROR":
        status = "failed"
    if status is None or status == "completed":
        hidden = None if is_model or error.message else failure_in_output(_unwrapped(output))
        if error.message or hidden is not None:
            return "failed", hidden or error
        return "completed", ErrorFields()
    if status == "failed" and error.message is None:
        error = failure_in_output(_unwrapped(output)) or unwrap_error(_unwrapped(output)) or error
    if status == "failed" and error.message is None:
        error = ErrorFields(text_of(line.status))
    return status, error


def _unwrapped(output: Any) -> Any:
    for _ in range(_MAX_NESTING):
        if not isinstance(output, dict) or set(output) != {"result"}:
            break
        output = output["result"]
    return output
