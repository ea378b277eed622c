"""What software-engineering harnesses themselves write around a command and its output."""

from __future__ import annotations

import re
from typing import NamedTuple

from lastsignal.core.aliases.error_text import ErrorFields, first_line
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.events import Status

_COMMAND = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>\s*")
_OUTPUT = re.compile(r"<output>\s*(.*?)\s*(?:</output>\s*)?\Z", re.DOTALL)
_KILLED = re.compile(r"\s*The last command [\s\S]{0,4000}? timed out and has been killed")
_FORMAT_ERROR = re.compile(r"\s*Please always provide EXACTLY ONE action in triple backticks")
_ERROR_ELEMENT = re.compile(r"<error>\s*(.*?)\s*</error>", re.DOTALL)
_MAX_TEXT = 50_000

# How SWE-agent ends an observation, or begins it, when the command did not run to its end.
_TAIL = re.compile(
    r"(EXECUTION TIMED OUT(?: AND INTERRUPT FAILED\. RESTARTING PROCESS\.|"
    r" BECAUSE NO OUTPUT WAS PRODUCED FOR MORE THAN [\d.]{1,12} SECONDS\.\n[A-Z ]{0,120}\.)?"
    r"|(?:COMMAND FAILED TO EXECUTE|BROKEN PIPE ERROR)\. RESTARTING PROCESS\."
    r"|EXECUTION FAILED OR COMMAND MALFORMED)\s*\Z"
)
_CANCELLED = re.compile(
    r"The command '[\s\S]{0,20000}?' was cancelled because it took more than (\d{1,9}) seconds"
)
_EDIT_REFUSED = re.compile(r"Your proposed edit has introduced new syntax error")
_MAX_TAIL = 400
_TIMED_OUT = "TimeoutExpired"
_MAX_CODE = 2**32  # Windows ends programs with codes of 32 bits


class ShellResult(NamedTuple):
    """How a command ended."""

    status: Status = "completed"
    error: ErrorFields = NO_ERROR
    exit_code: int | None = None

    @property
    def error_class(self) -> str | None:
        """What the exception of a program tells is its own affair: to the agent, a tool failed."""
        is_own = self.status == "failed" and self.error.type != _TIMED_OUT
        return "tool_error" if is_own else None


def command_in(text: str) -> str | None:
    """Return the one command of a model's answer, None where it has none or several."""
    found = _COMMAND.findall(text[:_MAX_TEXT])
    return found[0].strip() if len(found) == 1 else None


def exited(code: object, output: str) -> ShellResult:
    """Judge a command by its return code; its output may begin with why it failed."""
    if not isinstance(code, int) or isinstance(code, bool) or abs(code) > _MAX_CODE:
        return ShellResult()
    if code == 0:
        return ShellResult(exit_code=0)
    said = failure_in_output(output)
    if said is None or not said.message:
        said = ErrorFields(f"exit code {code}")
    return ShellResult("failed", said, code)


def judge_answer(text: str) -> ShellResult | None:
    """Judge what mini-swe-agent 1 answered to a command, None where this is no such answer."""
    text = text[:_MAX_TEXT]
    if _KILLED.match(text):
        return ShellResult("failed", ErrorFields("command timed out", None, _TIMED_OUT))
    found = _RETURN_CODE.match(text)
    if found is None:
        return None
    output = _OUTPUT.match(text, found.end())
    return exited(int(found[1]), output[1] if output else "")


def is_format_error(text: str) -> bool:
    """Whether the harness tells the model that its answer held no usable action."""
    return bool(_FORMAT_ERROR.match(text))


def format_error(text: str) -> ErrorFields:
    """Return what a harness says of an answer that it could not use."""
    found = _ERROR_ELEMENT.search(text[:_MAX_TEXT])
    message = first_line(found[1] if found else text)
    return ErrorFields(message or "no usable action in the answer", None, "FormatError")


def judge_observation(observation: str) -> ShellResult:
    """Judge what SWE-agent shows the model of a command's output."""
    tail = _TAIL.search(observation, max(0, len(observation) - _MAX_TAIL))
    if tail:
        kind = _TIMED_OUT if tail[1].startswith("EXECUTION TIMED OUT") else None
        return ShellResult("failed", ErrorFields(first_line(tail[1]), None, kind))
    text = observation.lstrip()
    cancelled = _CANCELLED.match(text)
    if cancelled:
        message = f"command timed out after {cancelled[1]} seconds"
        return ShellResult("failed", ErrorFields(message, None, _TIMED_OUT))
    if _EDIT_REFUSED.match(text):
        return ShellResult("failed", ErrorFields(first_line(text), None, "SyntaxError"))
    failure = failure_in_output(text)
    return ShellResult("failed", failure) if failure else ShellResult()
