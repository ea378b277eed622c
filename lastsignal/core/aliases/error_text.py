"""The shapes in which frameworks write an error → message, code, type.

Structured fields first: a status code or an exception type beats words in a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from lastsignal.core.error_classes import classify
from lastsignal.core.events import Event, Status

MAX_MESSAGE = 500  # characters; longer texts are payload, and the evidence shows the line itself
_MAX_DEPTH = 4

# `TimeoutError('x')Traceback (most recent…`: LangChain glues both together without a newline.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|\n\s+(?:at |File \")")
_LEADING_TYPE = re.compile(
    r"^(?:[A-Za-z_][\w.]*\.)?"
    r"([A-Z]\w*(?:Error|Exception|Timeout|Expired|Interrupt|Exit|Warning|Cancelled|Exhausted))\b"
)
_REPR = re.compile(r"^((?:[A-Za-z_]\w*\.)*[A-Z]\w*)\((['\"])(.*)\2(?:,.*)?\)$", re.DOTALL)
# `openai.BadRequestError: Error code: 400 - {'error': {'message': "…", 'code': '…'}}`: clients put
# the provider's answer behind the code, as Python writes it.
_ANSWERED = re.compile(r"^(?:[\w.]+: )?Error code: ([45]\d\d) - \{")
_QUOTED = r"(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")"
_ANSWER = re.compile(rf"'message': {_QUOTED}")
_KIND = re.compile(r"'(?:code|type)': '(\w+)'")
_MAX_ANSWER = 20_000  # characters

_MESSAGE_KEYS = (
    "message",
    "error_message",
    "errorMessage",
    "detail",
    "msg",
    "description",
    "reason",
    "error",
    "data",
    "exception",
    "cause",
)
_TYPE_KEYS = (
    "type",
    "error_type",
    "errorType",
    "error_class",
    "exception_type",
    "class",
    "name",
    "code",
)
_STATUS_KEYS = (
    "status",
    "status_code",
    "statusCode",
    "http_status",
    "error_code",
    "code",
    "errorCode",
)


@dataclass(frozen=True, slots=True)
class ErrorFields:
    """What a record's error field says."""

    message: str | None = None
    http_status: int | None = None
    type: str | None = None

    def write(self, event: Event, status: Status = "failed") -> None:
        """Put the error on an event, with the status that it means."""
        event.status = status
        event.error_message, event.error_type = self.message or None, self.type or None
        event.http_status = self.http_status


_NO_ERRORS = frozenset(
    {"none", "null", "nil", "n/a", "na", "no", "no error", "no errors", "undefined", "false", "-"}
)


def is_no_error(text: str) -> bool:
    """Whether a text stands where an error would, and says that there is none."""
    return len(text) < 12 and text.strip().lower() in _NO_ERRORS


def unwrap_error(value: object) -> ErrorFields:
    """Read an error of any shape: text, repr plus traceback, or objects nested up to 4 levels."""
    if not value or (isinstance(value, str) and is_no_error(value)):
        return ErrorFields()
    if isinstance(value, Mapping):
        return _from_mapping(value, 0)
    if isinstance(value, list):
        return unwrap_error(value[0]) if value else ErrorFields()
    if value is True:
        return ErrorFields(message="unspecified error")
    if isinstance(value, int):
        return ErrorFields(message=str(value), http_status=http_status_of(value))
    return error_in_text(str(value))


def first_line(text: str) -> str:
    """Return the error's first line, cut before any traceback and at `MAX_MESSAGE` characters.

    A heading (`Error in generating model output:`) says nothing of what stands below it: of these
    the line after it is returned.
    """
    cut = _TRACEBACK.search(text)
    if cut and cut.start() > 0:
        text = text[: cut.start()]
    elif cut:
        text = text.rstrip().rsplit("\n", 1)[-1]  # nothing but a traceback: its last line says it
    line, _, rest = text.strip().partition("\n")
    line, rest = line.strip(), rest.lstrip()
    for _ in range(_MAX_DEPTH):
        if not rest or not line.endswith(":") or not (below := _below(line, rest)):
            break
        line, _, rest = below.partition("\n")
        line, rest = line.strip(), rest.lstrip()
    return line[:MAX_MESSAGE]


def _below(heading: str, rest: str) -> str | None:
    """Return what a heading stands above, None where it speaks of the failure itself.

    An exception's name alone is said together with its message.
    """
    named = _LEADING_TYPE.match(heading)
    if named:
        return f"{heading} {rest}" if named.end() == len(heading) - 1 else None
    is_bare = len(heading) <= MAX_MESSAGE and classify("", None, None, heading) == "unknown"
    return rest if is_bare else None


def http_status_of(value: object) -> int | None:
    """Return a client or server error code (400 to 599) from an int or its digits, else None."""
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
        return value
    return None


@lru_cache(maxsize=1024)
def error_in_text(text: str) -> ErrorFields:
    """Read an error that is text; the same few come again and again and are remembered."""
    message = first_line(text)
    found = _REPR.match(message)
    if found:
        kind = found[1].rsplit(".", 1)[-1]
        answer = _in_answer(found[3])
        if answer is not None:
            return answer if answer.type else replace(answer, type=kind)
        return ErrorFields(message=found[3] or found[1], type=kind)
    named = _LEADING_TYPE.match(message)
    answer = _in_answer(text)
    if answer is not None:
        return answer if answer.type or not named else replace(answer, type=named[1])
    return ErrorFields(message=message or None, type=named[1] if named else None)


def _in_answer(text: str) -> ErrorFields | None:
    """Read a provider's answer behind its code; None where there is none for people.

    Its own word for the error says more than the exception that the client makes of it.
    """
    code = _ANSWERED.match(text)
    if code is None:
        return None
    answer = text[code.end() : _MAX_ANSWER]
    found = _ANSWER.search(answer)
    said = first_line((found[1] or found[2] or "").replace("\\'", "'")) if found else ""
    kinds = _KIND.findall(answer)
    return ErrorFields(said, int(code[1]), kinds[-1] if kinds else None) if said else None


def _from_mapping(value: Mapping[str, Any], depth: int) -> ErrorFields:
    status = next((s for key in _STATUS_KEYS if (s := http_status_of(value.get(key)))), None)
    kind = next(
        (
            t
            for key in _TYPE_KEYS
            if isinstance(t := value.get(key), str) and t and not t.isdecimal()
        ),
        None,
    )
    message: str | None = None
    for key in _MESSAGE_KEYS:
        inner = value.get(key)
        if isinstance(inner, str) and inner.strip():
            text = error_in_text(inner)
            message, kind = text.message, kind or text.type
            status = status or text.http_status
            break
        if isinstance(inner, Mapping) and inner and depth < _MAX_DEPTH:
            nested = _from_mapping(inner, depth + 1)
            if nested.message or nested.http_status:
                message = nested.message
                status = status or nested.http_status
                # the innermost type is the provider's own ("rate_limit_error"), the outer a label
                kind = nested.type or kind
                break
    return ErrorFields(message=message or kind, http_status=status, type=kind)
