"""Errors of model providers as command-line agents print them: a code, then the provider's JSON.

`429 {"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}`, with or without
words before it. Only for fields that hold an error and nothing else.
"""

from __future__ import annotations

import re

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields, http_status_of, unwrap_error

# The code stands at the start, or after one of the words that clients put before it.
_STATUS = re.compile(
    r"(?:^|API Error: |\bstatus(?: code)?:? |\bHTTP(?: error)? |error code:? |\bgot status: )"
    r"([45]\d\d)\b",
    re.IGNORECASE,
)
_MAX_TEXT = 20_000


def provider_error(text: str | None) -> ErrorFields:
    """Return message, status code and type of a provider's error text."""
    if not text or not text.strip():
        return ErrorFields()
    found = _STATUS.search(text[:500])
    status = http_status_of(found[1]) if found else None
    nested = _nested(text)
    if nested is not None and nested.message:
        return ErrorFields(nested.message, status or nested.http_status, nested.type)
    plain = unwrap_error(text)
    return ErrorFields(plain.message, status, plain.type)


def _nested(text: str) -> ErrorFields | None:
    start = text.find("{")
    end = text.rfind("}")
    if start < 0 or end < start or len(text) > _MAX_TEXT:
        return None
    try:
        value = msgspec.json.decode(text[start : end + 1])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return unwrap_error(value) if isinstance(value, dict) else None
