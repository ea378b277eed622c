"""What a Codex tool output says of its call: only the header that Codex itself writes is read.

Rollouts carry no flag for a failed call. The header names an exit code, or begins with one of the
client's own sentences; all that the command printed follows after it and is content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.events import Status

_HEADER = 400  # characters; the header's last line is "Output:"
_EXIT_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d+)", re.MULTILINE)
_WALL_TIME = re.compile(r"^Wall time: ([\d.]+) s", re.MULTILINE)
_TIMED_OUT = re.compile(r"command timed out after \d+ \w+")
_TIMEOUT_CODE = 124  # what Codex reports for a command that it stopped itself

_NOT_CARRIED_OUT = re.compile(
    r"(?:aborted(?: by user)?\b|(?:exec command |patch |user )?rejected(?: by user)?\b"
    r"|user cancelled"
    r"|exec_command failed for .{0,200}Rejected\()",
    re.IGNORECASE | re.DOTALL,
)
_FAILED = re.compile(
    r"(?:failed (?:in sandbox|to parse function arguments)|execution error|unsupported call"
    r"|tool call error|apply_patch verification failed|exec_command failed|write_stdin failed"
    r"|unable to |err: )",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a call ended, by its output."""

    status: Status = "completed"
    error: ErrorFields = field(default_factory=ErrorFields)
    exit_code: int | None = None
    seconds: float | None = None
    error_class: str | None = None


def judge_output(raw: bytes) -> Judgement:
    """Judge a `*_output` record's `output`: text, JSON in a text, an object or content items."""
    value = value_of(raw)
    if isinstance(value, list):
        value = at(value, 0, "text")
    if isinstance(value, dict):
        return _judge_object(value)
    if not isinstance(value, str):
        return Judgement()
    if value.lstrip()[:1] == "{":
        nested = value_of(value.encode("utf-8", "replace"))
        if isinstance(nested, dict) and isinstance(nested.get("metadata"), dict):
            return _judge_object(nested)
        hidden = failure_in_output(nested)
        return Judgement("failed", hidden) if hidden is not None else Judgement()
    return _judge_text(value)


def exited(code: int, message: str, seconds: float | None = None) -> Judgement:
    """Judge an exit code."""
    if code == 0:
        return Judgement(exit_code=0, seconds=seconds)
    if code == _TIMEOUT_CODE:
        found = _TIMED_OUT.search(message[:_HEADER])
        text = found[0] if found else message.split("\n", 1)[0]
        return Judgement("failed", ErrorFields(text), code, seconds, "timeout")
    return Judgement("failed", ErrorFields(message.split("\n", 1)[0]), code, seconds)


def _judge_object(value: dict[str, object]) -> Judgement:
    code = at(value, "metadata", "exit_code")
    seconds = amount_of(at(value, "metadata", "duration_seconds"))
    if isinstance(code, int) and not isinstance(code, bool):
        text = value.get("output")
        if code == _TIMEOUT_CODE and isinstance(text, str):
            return exited(code, text, seconds)
        return exited(code, f"Exit code: {code}", seconds)
    if value.get("success") is False:
        return Judgement("failed", unwrap_error(value.get("content") or value.get("error")))
    hidden = failure_in_output(value)
    return Judgement("failed", hidden) if hidden is not None else Judgement()


def _judge_text(text: str) -> Judgement:
    header = text[:_HEADER].split("\nOutput:", 1)[0]
    found = _EXIT_CODE.search(header)
    wall = _WALL_TIME.search(header)
    seconds = amount_of(wall[1]) if wall else None
    if found:
        code = int(found[1])
        message = text if code == _TIMEOUT_CODE else found[0]
        return exited(code, message, seconds)
    if _NOT_CARRIED_OUT.match(text):
        return Judgement("aborted", unwrap_error(text))
    if _FAILED.match(text):
        return Judgement("failed", unwrap_error(text))
    return Judgement(seconds=seconds)
