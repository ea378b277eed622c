"""How a flat record says whether what it tells of went well: by a word, by a flag, by a code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lastsignal.core.aliases.fields import status_of
from lastsignal.core.events import Event, Status

ENDS = frozenset({"model_call", "tool_result", "agent_end"})
"""Events that go well or do not; what only begins has no verdict yet."""

_ILL = frozenset(
    {
        "error",
        "err",
        "critical",
        "fatal",
        "alert",
        "emergency",
        "emerg",
        "severe",
        "panic",
        "dpanic",
    }
)
_PINO, _LOGGING = (50, 60), (40, 50)
"""Errors by number: of pino and bunyan, of Python's logging."""


def _is_level(value: object) -> bool:
    if isinstance(value, str):
        return value.lower() in _ILL
    return value in _PINO


def _is_level_number(value: object) -> bool:
    return value in _LOGGING


def _is_exit(value: object) -> bool:
    if isinstance(value, str):
        return value.startswith("exit_") or status_of(value) == "failed"
    return isinstance(value, int) and value != 0 and not isinstance(value, bool)


_LEVEL_NAMES = (
    "level", "levelname", "level_name", "log_level", "loglevel", "log.level", "lvl", "severity",
    "severityText", "severity_text", "@l",
)  # fmt: skip
LEVELS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(_LEVEL_NAMES, _is_level),
    "levelno": _is_level_number,
}
"""The level at which loggers say that they write."""
_FLAGS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("is_error", "isError"), lambda value: value is True),
    **dict.fromkeys(("success", "ok"), lambda value: value is False),
}
_WELL = (("is_error", False), ("isError", False), ("success", True), ("ok", True))
_HINTS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("exit_status", "exit_code", "exitCode", "returncode"), _is_exit),
    **LEVELS,
}
VERDICTS: dict[str, Callable[[object], bool]] = {**_FLAGS, **_HINTS}
"""Names beside the status by which a record says that it failed, with what does say so."""


def verdict_of(record: Mapping[str, Any], word: Status | None, event: Event) -> Status | None:
    """Return what a record says of an end, None where it says nothing.

    A flag outweighs a word: a call that ran to its end is named a success, whatever it came to.
    Codes, types and levels speak only where there is no word: a tool may well fetch a page that is
    not there.

    Args:
        record: the record.
        word: the status that its own word means.
        event: what was read of it.
    """
    if event.event_type not in ENDS or word in ("started", "aborted"):
        return word
    if speaks_ill(record, _FLAGS):
        return "failed"
    if word is not None:
        return word
    is_bad = event.http_status or event.error_type or event.error_class
    return "failed" if is_bad or speaks_ill(record, _HINTS) else None


def speaks_ill(
    record: Mapping[str, Any], names: Mapping[str, Callable[[object], bool]] = VERDICTS
) -> bool:
    """Whether a record says by a flag, a code or a level that it failed."""
    return any(name in record and is_ill(record[name]) for name, is_ill in names.items())


def speaks_well(record: Mapping[str, Any]) -> bool:
    """Whether a record says by a flag that it went well."""
    return any(record.get(name) is is_well for name, is_well in _WELL)


def status_in(value: object) -> Status | None:
    """Return the status that a value means: a word, or OpenTelemetry's object with its code."""
    if isinstance(value, Mapping):
        code = value.get("code", value.get("status_code"))
        if code in (0, 1, 2) and not isinstance(code, bool):
            return "failed" if code == 2 else "completed"
        return status_of(code)
    return status_of(value)
