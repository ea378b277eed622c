"""How a tool call ended, by the fields and fixed texts of Gemini CLI and of its fork Qwen Code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at, list_of, status_of, text_of
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.events import Event, Status

_SHELLS = frozenset({"run_shell_command", "shell", "Shell"})
# The client's own line after the command's output; the output may hold such a line too.
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,10})\b", re.MULTILINE)
_NOT_CARRIED_OUT = re.compile(
    r"(?:Error: )?(?:\[Operation Cancelled\]|User (?:did not allow|cancelled|denied|rejected)"
    r"|Tool execution (?:was )?(?:denied|cancelled|rejected)|Operation cancelled)",
    re.IGNORECASE,
)
_TAIL = 4000  # characters


@dataclass(frozen=True, slots=True)
class Judged:
    """How a call ended."""

    status: Status = "completed"
    error: ErrorFields = NO_ERROR
    exit_code: int | None = None

    def write(self, event: Event) -> None:
        """Put it on the call's end."""
        self.error.write(event, self.status)
        if self.exit_code is not None:
            event.metadata = {"exit_code": self.exit_code}


def judge_call(call: Mapping[str, Any]) -> Judged | None:
    """Judge a tool call with its result inside it; None while it has none."""
    status = status_of(call.get("status"))
    if call.get("status") == "awaiting_approval" or status == "started":
        return None
    response = response_in(call.get("result"))
    if status is None and not response:
        return None
    if status in ("failed", "aborted"):
        return judge_failure(status, response.get("error"), call.get("resultDisplay"))
    if response.get("error"):
        return judge_failure("failed", response["error"], None)
    return judge_output(text_of(call.get("name")), response.get("output"))


def response_in(result: object) -> Mapping[str, Any]:
    """Return the `response` of the first functionResponse among a result's parts."""
    for part in list_of(result) if isinstance(result, list) else [result]:
        response = at(part, "functionResponse", "response")
        if isinstance(response, dict):
            return response
    return {}


def judge_failure(status: Status, error: object, display: object) -> Judged:
    """Judge a call that is said to have failed: what its user or a policy refused did not."""
    found = unwrap_error(error)
    if not found.message and isinstance(display, str):
        found = unwrap_error(display)
    if _NOT_CARRIED_OUT.match(found.message or ""):
        return Judged("aborted", found)
    return Judged(status, found)


def judge_output(name: str | None, output: object) -> Judged:
    """Judge what a tool gave back where no field says that it failed."""
    if name in _SHELLS and isinstance(output, str):
        codes = _EXIT_CODE.findall(output[-_TAIL:])
        code = int(codes[-1]) if codes else 0
        if code:
            return Judged("failed", ErrorFields(f"Exit Code: {code}"), code)
    if name and ("__" in name or name.startswith("mcp_")):
        # Only tools of other people's servers: what the client's own give back is content.
        hidden = failure_in_output(output)
        if hidden is not None:
            return Judged("failed", hidden)
    return Judged()
