"""One classification of failures, decided once per failed event.

Order of trust: what the text says outright about quota, context or policy (providers reuse one
status code for several causes) → the status code → the exception type → words of the error text.
Only error fields are read, never prompts, bodies or tool output.
"""

from __future__ import annotations

import re
from functools import lru_cache

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

# What a text says outright, whatever code came with it. First match wins.
_OUTRIGHT: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        (
            "context_length",
            r"context[_ ]?(?:length|window)[_ ]?(?:is |was )?exceed|maximum context length"
            r"|prompt is too long"
            r"|context window (?:is )?(?:full|overflow)"
            r"|exceeds? the (?:model'?s? )?(?:maximum )?context"
            r"|input (?:is )?too long|too many (?:input )?tokens"
            r"|contextwindow(?:exceeded|overflow)",
        ),
        (
            "content_filter",
            r"content[_ ](?:filter|policy|management)|responsible ?ai|safety (?:system|filter)"
            r"|flagged as"
            r"|blocked by (?:the )?(?:safety|content|guardrail)",
        ),
        (
            "budget",
            r"(?<!retry )budget (?:\w+ )?(?:exceeded|exhausted|reached|limit)"
            r"|(?:exceeded|over|out of) (?!retry )(?:\w+ )?budget|max[_ ]budget"
            r"|spend(?:ing)? limit|cost limit",
        ),
        (
            "quota",
            r"insufficient[_ ]quota|exceeded your current quota|billing|credit balance"
            r"|out of credits|payment required"
            r"|account_on_hold|plan and billing|(?:monthly|daily) quota",
        ),
        (
            "permission",
            r"(?:plan|subscription|account|tier) (?:does not|doesn't|lacks)\b"
            r"|not (?:included|available) (?:in|on|with) your (?:plan|tier)"
            r"|does not have access to (?:the )?model|model_not_available",
        ),
    )
)

_BY_TYPE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("rate_limit", r"rate_?limit|throttl|toomanyrequests|resource_?exhausted"),
        ("overloaded", r"overload|serviceunavailable|^unavailable$"),
        ("timeout", r"time_?d?_?out|timeexceeded|deadline_?exceeded|timeoutexpired"),
        ("cancelled", r"cancel|interrupt|aborted$"),
        ("auth", r"authentication|unauthori[sz]ed|unauthenticated|credential|oauth"),
        ("permission", r"permission|forbidden|access_?denied|not_?allowed|approval"),
        ("not_found", r"not_?found|nosuch|filenotfound|is_a_directory|isadirectory"),
        (
            "schema",
            r"validation|schema|parsing|jsondecode|formaterror|typeerror|keyerror"
            r"|structuredoutput|unicode_?decode",
        ),
        (
            "invalid_request",
            r"bad_?request|invalid_?request|invalid_?argument|valueerror|unprocessable",
        ),
        (
            "connection",
            r"connect|network|socket|ssl|dns|brokenpipe|protocolerror|gaierror|apiconnection",
        ),
        ("resource", r"memory|diskfull|nospace|sandbox_?unavailable|output_?limit|oserror"),
        ("server_error", r"internal_?server|server_?error|api_error|badgateway|^internal$"),
        ("tool_error", r"tool"),
    )
)

_BY_TEXT: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        (
            "rate_limit",
            r"\b429\b|rate[ _-]?limit|too many requests|throttl|resource[_ ]exhausted"
            r"|quota exceeded|exceeded [\w ]*quota",
        ),
        (
            "overloaded",
            r"\b529\b|\b503\b|overloaded|service unavailable|temporarily unavailable|at capacity",
        ),
        (
            "timeout",
            r"\btime[sd]?[ -]?out\b|timeout|deadline exceeded|\b504\b|\b408\b|took too long",
        ),
        (
            "auth",
            r"\b401\b|unauthori[sz]ed|invalid (?:x-)?api[ -_]?key|authentication"
            r"|token (?:has )?expired|not logged in",
        ),
        (
            "permission",
            r"\b403\b|forbidden|permission denied|access denied|not permitted"
            r"|operation not allowed",
        ),
        (
            "schema",
            r"validation error|does not match (?:the )?schema|invalid json|json ?decode"
            r"|missing \d* ?required|unexpected keyword|failed to parse",
        ),
        (
            "not_found",
            r"\b404\b|not found|no such (?:file|tool|table|host)|does not exist"
            r"|unknown (?:tool|function|model)",
        ),
        (
            "connection",
            r"connection (?:refused|reset|error|aborted|closed)|econn"
            r"|network (?:error|is unreachable)|unreachable|ssl[:_ ]|name resolution"
            r"|getaddrinfo|broken pipe",
        ),
        (
            "resource",
            r"out of memory|no space left|oom[- ]?kill|memoryerror|too many open files|disk full",
        ),
        ("cancelled", r"cancell?ed|interrupted|keyboardinterrupt|aborted by"),
        ("server_error", r"\b50[0-2]\b|internal (?:server )?error|bad gateway|server[_ ]error"),
        (
            "invalid_request",
            r"\b400\b|bad request|invalid (?:request|argument|parameter|value)|\b422\b",
        ),
    )
)

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
            found = _first(_OUTRIGHT, text)
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
    by_type = _first(_BY_TYPE, error_type) if error_type else None
    if by_type and by_type not in ("tool_error", "server_error"):
        return by_type
    by_text = _first(_BY_TEXT, message) if message else None
    return by_text or by_type or _FALLBACK.get(event_type, "unknown")


def _first(table: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> str | None:
    for name, pattern in table:
        if pattern.search(text):
            return name
    return None
