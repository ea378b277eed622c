"""How AG2 writes values that JSON has none for: wrapped in an object that names their class.

Before version 1, objects that are no events were written as Python prints them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields, error_in_text
from lastsignal.core.aliases.fields import count_of, list_of, mapping_of, text_of

_MAX_DEPTH = 8
_PRINTED_COUNT = re.compile(r"\b(prompt_tokens|completion_tokens)=(\d{1,15})\b")
_PRINTED_TEXT = re.compile(r"content='((?:[^'\\]|\\.)*)'")
_MAX_PRINTED = 20_000  # characters of a printed object that are looked at


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value without what wraps it: objects as their fields, exceptions as errors."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [plain(one, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if "__exception__" in value:
        return _error_of(value)
    if ("__dataclass__" in value or "__pydantic__" in value) and "data" in value:
        return plain(value["data"], depth + 1)
    for name, key in (("__enum__", "value"), ("__uuid__", "__uuid__")):
        if name in value:
            return value.get(key)
    return {key: plain(one, depth + 1) for key, one in value.items()}


def _error_of(value: Mapping[str, Any]) -> ErrorFields:
    kind = text_of(value.get("__exception__"))
    said = error_in_text(text_of(value.get("message")) or "")
    return ErrorFields(said.message or kind, said.http_status, kind or said.type)


def usage_of(value: object) -> dict[str, int]:
    """Return the tokens of a call by the names of an event's fields, as far as they are told."""
    told: Mapping[str, Any] = {}
    if isinstance(value, str):
        told = dict(_PRINTED_COUNT.findall(value[:_MAX_PRINTED]))
    elif isinstance(value, Mapping):
        told = value
    counts = {
        "input_tokens": count_of(told.get("prompt_tokens")),
        "output_tokens": count_of(told.get("completion_tokens")),
    }
    return {name: count for name, count in counts.items() if count is not None}


def output_in(event: Mapping[str, Any]) -> object:
    """Return the first part of a tool's result: a text, or the data that a tool has returned."""
    result = event.get("result")
    if isinstance(result, str):
        printed = _PRINTED_TEXT.search(result[:_MAX_PRINTED])
        return printed[1] if printed else result
    parts = (mapping_of(part) for part in list_of(mapping_of(result).get("parts")))
    first = next(parts, {})
    return first.get("content") or first.get("data") or event.get("content")
