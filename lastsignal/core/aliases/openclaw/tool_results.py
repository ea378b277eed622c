"""How a tool call of pi or OpenClaw ended: its flag, and the details that the client keeps."""

from __future__ import annotations

import re

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.events import Event

_FAILED = frozenset({"error", "failed", "forbidden", "timeout"})
_ABORTED = re.compile(
    r"(?:Operation|Command|Request|Tool execution) (?:was )?aborted|Skipped due to"
)
# The client's own last line, after what the command printed.
_COMMAND_END = re.compile(r"Command (?:exited with code (\d{1,10})|timed out after .{1,40})\s*\Z")
_TAIL = 200


def judge_result(end: Event, is_error: bool, content: msgspec.Raw, details_value: object) -> None:
    """Put status and error on a call's end."""
    details = mapping_of(details_value)
    milliseconds = amount_of(details.get("durationMs"))
    if milliseconds is not None and milliseconds >= 0:
        end.duration_seconds = milliseconds / 1000.0
    code = details.get("exitCode")
    failed_code = isinstance(code, int) and not isinstance(code, bool) and code != 0
    word = details.get("status")
    said = isinstance(word, str) and word in _FAILED
    if not (is_error or failed_code or said):
        end.status = "completed"
        return
    text = text_in(value_of(content))
    if _ABORTED.match(text):
        ErrorFields(text.split("\n", 1)[0][:_TAIL]).write(end, "aborted")
        return
    ended = _COMMAND_END.search(text[-_TAIL:])
    if failed_code or (ended and ended[1]):
        exit_code = code if failed_code else int(ended[1]) if ended else 0
        ErrorFields(f"Command exited with code {exit_code}").write(end)
        end.metadata = {"exit_code": exit_code}
    elif ended:
        ErrorFields(ended[0].strip()).write(end)
    elif text_of(details.get("error")):
        unwrap_error({"error": details["error"]}).write(end)
    else:
        (failure_in_output(text) or unwrap_error(text)).write(end)


def text_in(content: object) -> str:
    """Return a content's text: the string itself, or its first text block."""
    if isinstance(content, list):
        content = next(
            (text for block in content if isinstance(text := at(block, "text"), str)), None
        )
    return content if isinstance(content, str) else ""
