"""Failures that hide in a tool's output, where no flag says so.

Only the shape decides: a JSON object that says error in a key of its own, a text that begins with
an error word, an exit code. Words in the middle of an output are content: a tool that reads a file
about timeouts did not time out.

Where a record explicitly says that a call went well, that stands against what is only text: a tool
that reads a log gives back whatever the log begins with. Frameworks write such a word of each tool
that returned, though, so it does not stand against what was put there to be told from content: an
object's own error, an exit code, the `Error: ` that wrappers put before what they have caught.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error

_PROBE_LIMIT = 65536  # bytes of text that may be a JSON object; larger outputs are content
_FAILED_WORDS = frozenset({"error", "failed", "failure", "exception", "err"})
_WRAPPED = (
    r"\[?(?:Tool )?(?:Error|ERROR|error)\]?\s*(?::|executing |running |calling |invoking )"
    r"|EXECUTION TIMED OUT"
    r"|(?:Exit code|exit code|Process exited with code|Command failed with exit code) [1-9]\d*"
)
_RAISED = (
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?:\(|: )|Traceback \(most recent call last\)"
)
_PREFIX = re.compile(rf"^\s*(?:{_WRAPPED}|{_RAISED})")
_WRAPPED_PREFIX = re.compile(rf"^\s*(?:{_WRAPPED})")


def failure_in_output(output: object, *, is_said_ok: bool = False) -> ErrorFields | None:
    """Return what the output says of a failure, None where it says of none.

    Args:
        output: what a tool gave back.
        is_said_ok: whether its record says in so many words that the call went well; that no field
            says otherwise is not enough.
    """
    if isinstance(output, str):
        return _in_text(output, _WRAPPED_PREFIX if is_said_ok else _PREFIX)
    if isinstance(output, Mapping):
        return _in_mapping(output)
    return None


def _in_text(text: str, prefix: re.Pattern[str]) -> ErrorFields | None:
    head = text.lstrip()[:1]
    if head == "{" and len(text) <= _PROBE_LIMIT:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            return None
        return _in_mapping(value) if isinstance(value, dict) else None
    if prefix.match(text[:200]):
        return unwrap_error(text)
    return None


def _in_mapping(value: Mapping[str, object]) -> ErrorFields | None:
    error = value.get("error") or value.get("error_message") or value.get("errorMessage")
    status = value.get("status")
    failed = isinstance(status, str) and status.lower() in _FAILED_WORDS
    failed = failed or value.get("isError") is True or value.get("is_error") is True
    failed = failed or (value.get("success") is False or value.get("ok") is False)
    code = value.get("exit_code", value.get("returncode", value.get("exitCode")))
    failed = failed or (isinstance(code, int) and not isinstance(code, bool) and code != 0)
    if error and not (isinstance(error, Mapping | list | str)):
        error = None
    if not error and not failed:
        return None
    return unwrap_error({**value, "error": error} if error else value)
