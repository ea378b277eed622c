"""One classification of failures, decided once per failed event.

Order of trust: what the text says outright about quota, context or policy (providers reuse one
status code for several causes) → the status code → the exception type → words of the error text.
Only error fields are read, never prompts, bodies or tool output.
"""

from __future__ import annotations

from functools import lru_cache

from lastsignal.core.error_words import BY_TEXT, BY_TYPE, OUTRIGHT

ERROR_CLASSES: tuple[str, ...] = (
    "rate_limit",
    "quota",
    "budget",
    "timeout",
    "auth",
    "permission",
    "not_found",
    "invalid_request",
    "context_length",
    "content_filter",
    "schema",
    "tool_error",
    "connection",
    "server_error",
    "overloaded",
    "resource",
    "cancelled",
    "crash",
    "unknown",
)

RETRYABLE: frozenset[str] = frozenset(
    {
        "rate_limit",
        "timeout",
        "connection",
        "server_error",
        "overloaded",
        "resource",
        "unknown",
        "tool_error",
    }
)
"""Classes where the same request may succeed later. The rest fails the same way each time."""

_BY_STATUS: dict[int, str] = {
    400: "invalid_request",
    401: "auth",
    402: "quota",
    403: "permission",
    404: "not_found",
    405: "invalid_request",
    408: "timeout",
    409: "invalid_request",
    410: "not_found",
    413: "context_length",
    415: "invalid_request",
    422: "schema",
    424: "tool_error",
    429: "rate_limit",
    498: "auth",
    499: "cancelled",
    503: "overloaded",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}

_OF_CODE = frozenset(
    {"attributeerror", "indexerror", "keyerror", "nameerror", "typeerror", "valueerror"}
)
"""Exceptions by which a program's own mistakes show."""

_CODE_OF: dict[str, tuple[str, frozenset[str]]] = {
    "process_error": ("crash", _OF_CODE),
    "agent_end": ("crash", _OF_CODE),
    "model_call": ("crash", frozenset({"attributeerror", "indexerror", "nameerror", "valueerror"})),
    "tool_call": ("tool_error", _OF_CODE),
    "tool_result": ("tool_error", _OF_CODE),
    "retry": ("unknown", _OF_CODE),
}
"""What they are where, unless their words say more; an end repeats what its run died of. A model's
answer that lacks a key, or is of another type, cannot be parsed. A tool raises them for arguments
that it cannot use as for its own mistakes: it has refused its arguments where it says so."""

_FALLBACK = {"tool_result": "tool_error", "tool_call": "tool_error", "process_error": "crash"}


@lru_cache(maxsize=4096)
def classify(
    event_type: str,
    http_status: int | None,
    error_type: str | None,
    message: str | None,
) -> str:
    """Return the one of `ERROR_CLASSES` that the error fields of a failed event speak of.

    Args:
        event_type: decides only what an error that says nothing is called.
        http_status: 400-599, when the record has one.
        error_type: exception type or provider code, e.g. `RateLimitError`, `overloaded_error`.
        message: first line of the error text.
    """
    for text in (message, error_type):
        if text:
            found = OUTRIGHT.first(text)
            if found:
                return found
    if http_status is None and error_type and error_type.isdecimal():
        http_status = int(error_type)  # OpenTelemetry's error.type is often the code as text
    if http_status is not None:
        named = _BY_STATUS.get(http_status)
        if named:
            return named
        if 500 <= http_status <= 599:
            return "server_error"
        if 400 <= http_status <= 499:
            return "invalid_request"
    by_type = BY_TYPE.first(error_type) if error_type else None
    of_code, names = _CODE_OF.get(event_type, ("", frozenset()))
    if error_type and _bare(error_type) in names:
        by_type = of_code  # no answer and no request was wrong: the program was
    if by_type and by_type not in ("tool_error", "server_error", "crash", "unknown"):
        return by_type
    by_text = BY_TEXT.first(message) if message else None
    return by_text or by_type or _FALLBACK.get(event_type, "unknown")


def _bare(error_type: str) -> str:
    return error_type.rpartition(".")[2].lower()
