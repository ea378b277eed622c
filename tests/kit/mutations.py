"""Records that are nearly right: every field in turn missing, or of a shape that nobody meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

encode = msgspec.json.Encoder().encode

Path = tuple[str | int, ...]

DEEP: Any = "deep"
for _ in range(40):
    DEEP = {"error": [DEEP]}

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    -2.5,
    10**30,
    1e308,
    "",
    "x",
    "-1",
    "\0\ufffd\U0001f600",
    "2026-02-30T25:61:61Z",
    "9" * 400,
    [],
    [None],
    ["x", 1, {}, []],
    [{"type": "text", "text": "x"}],
    {},
    {"": ""},
    {"error": None, "message": {}, "status": [], "type": 1, "code": "x"},
    {"type": {}, "id": [], "name": 1.5, "text": None, "content": [{}], "role": True},
    DEEP,
)
"""What a field may turn out to hold."""

FAILURE_WORDS: tuple[Any, ...] = (
    "exception", "error", "failed", "failure", "crash", "crashed", "fatal", "panic", "killed",
    "aborted", "cancelled", "timeout", "interrupted", "refusal", "content_filter", "max_tokens",
    "max_turns", "max_iterations", "budget_exceeded", "guardrail_tripped", "uncaught_exception",
    "process_error", "agent_end", "agent_error", "run_failed", "OOMKilled", "Error", "ERROR",
    "FAILED", "STATUS_CODE_ERROR", "error_during_execution", "error_max_turns",
    "error_max_budget_usd", "exit_error", "exit_cost", "LimitsExceeded", "TimeExceeded",
    2, 137, -9, {"error": {"error": {"error": {}}}},
)  # fmt: skip
"""What says most strongly that something failed, and not a word of what."""

FAILURES: tuple[Any, ...] = (
    'Traceback (most recent call last):\n  File "a.py", line 2, in run\nValueError: boom',
    "RateLimitError: 429 Too Many Requests",
    "AuthenticationError: invalid api key",
    "ConnectionError: connection refused",
    "TimeoutError",
    "GraphRecursionError",
    "rate_limit_exceeded",
    "insufficient_quota",
    "context_length_exceeded",
    "exit_context",
    "Max turns exceeded",
    "model_context_window_exceeded",
    "429",
    429,
    401,
    402,
    404,
    500,
    {"error": {"message": "HTTP 429 Too Many Requests", "type": "rate_limit_error", "code": 429}},
)
"""What says of what something failed."""

REMOVED = object()


def paths_of(value: Any, limit: int = 400) -> list[Path]:
    """Return the way to every value inside, outermost first; at most `limit`."""
    found: list[Path] = []
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting and len(found) < limit:
        path, one = waiting.pop(0)
        if path:
            found.append(path)
        if isinstance(one, dict):
            waiting += [((*path, key), inner) for key, inner in one.items()]
        elif isinstance(one, list):
            waiting += [((*path, index), inner) for index, inner in enumerate(one[:5])]
    return found


def objects_of(value: Any) -> Iterator[Path]:
    """Yield the way to every object inside, itself among them; two of a list stand for the rest."""
    if isinstance(value, dict):
        yield ()
        inner: Iterable[tuple[str | int, Any]] = value.items()
    else:
        inner = enumerate(value[:2]) if isinstance(value, list) else ()
    for step, one in inner:
        yield from ((step, *rest) for rest in objects_of(one))


def changed(value: Any, path: Path, new: Any) -> Any:
    """Return a copy with another value at a path (also a new one), or (`REMOVED`) with none."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    copied = value.copy()
    if not rest and new is REMOVED:
        del copied[step]
    else:
        copied[step] = changed(value[step], rest, new) if rest else new
    return copied


def renamed(value: Any, path: Path, name: str) -> Any:
    """Return a copy in which one field is called otherwise, and stands where it stood."""
    step, rest = path[0], path[1:]
    if rest:
        return changed(value, path[:1], renamed(value[step], rest, name))
    return {name if key == step else key: one for key, one in value.items()}


def shape_of(value: Any) -> str:
    """Return what tells kinds of records apart: which fields there are, and the short words."""
    if isinstance(value, dict):
        inner = (f"{key}:{shape_of(one)}" for key, one in value.items())
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dict.fromkeys(map(shape_of, value))) + "]"
    is_word = isinstance(value, str) and re.fullmatch(r"[A-Za-z_.]{1,40}", value)
    return str(value) if is_word else type(value).__name__


def odd_records(value: Any) -> Iterator[tuple[Any, bytes]]:
    """Yield the record with each field missing, and with each odd value in its place."""
    for path in [(), *paths_of(value, limit=80)]:
        for new in ODD_VALUES if not path else (REMOVED, *ODD_VALUES):
            odd = changed(value, path, new)
            yield odd, encode(odd)


def torn_records(record: bytes, pieces: int = 20) -> Iterator[bytes]:
    """Yield the record cut short, and with a byte that is none of its own."""
    for number in range(pieces):
        at = len(record) * number // pieces
        yield record[:at]
        yield record[:at] + b"\xff" + record[at + 1 :]
        yield record[:at] + b"\0" + record[at:]
