"""Small readers of untrusted JSON values, and the words that frameworks use for a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lastsignal.core.error_classes import ERROR_CLASSES
from lastsignal.core.events import Status

_WORDS: dict[Status, str] = {
    "started": (
        "started start running run in_progress pending executing busy scheduled "
        "validating queued open created"
    ),
    "completed": (
        "completed complete ok success succeeded successful done finished end ended idle "
        "submitted passed resolved unset status_code_ok status_code_unset"
    ),
    "failed": (
        "failed fail failure error errored exception rejected stuck crashed fatal "
        "timeout timed_out timedout err ko status_code_error"
    ),
    "aborted": (
        "aborted abort cancelled canceled interrupted turn_aborted aborted_streaming skipped "
        "declined denied killed terminated stopped"
    ),
}
STATUS_WORDS: dict[str, Status] = {
    word: status for status, words in _WORDS.items() for word in words.split()
}

_LARGEST_AMOUNT = 1e15  # what is more measures nothing that is real
_LARGEST = 1e300  # JSON's integers know no bound, and beyond a double's they cannot be converted


def text_of(value: object) -> str | None:
    """Return a non-empty string; numbers become their text, anything else is None."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def label_of(value: object) -> str | None:
    """Return a non-empty string, else None: the number of a step names nothing."""
    return value or None if isinstance(value, str) else None


def code_name_of(value: object) -> str | None:
    """Return a code that is a word (`RESOURCE_EXHAUSTED`), None for a number."""
    return value or None if isinstance(value, str) and not value.isdecimal() else None


def count_of(value: object) -> int | None:
    """Return a non-negative integer (tokens, attempts) from a number or its digits, else None."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 1e15 else None


def attempt_of(value: object) -> int | None:
    """Return the number of an attempt or a retry, which counts from 1, else None."""
    return count_of(value) or None


def error_class_of(value: object) -> str | None:
    """Return one of our own classes of errors, written as such, else None."""
    return value if isinstance(value, str) and value in ERROR_CLASSES else None


def number_of(value: object) -> float | None:
    """Return a finite number from a number or its text, else None."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_LARGEST < value < _LARGEST else None


def amount_of(value: object) -> float | None:
    """Return a number that measures something (seconds, US dollars): none is less than nothing."""
    number = number_of(value)
    return number if number is not None and 0 <= number < _LARGEST_AMOUNT else None


def limit_of(value: object) -> int | float | None:
    """Return a limit, or what was used of it, as people write it: 30 turns, not 30.0."""
    number = amount_of(value)
    return int(number) if number is not None and number.is_integer() else number


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return the value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def at(value: object, *path: str | int) -> Any:
    """Walk into objects and arrays; None where the path does not exist."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def status_of(value: object) -> Status | None:
    """Return the status that a framework's word means, None for an unknown word."""
    if value is True:
        return "completed"
    if value is False:
        return "failed"
    if not isinstance(value, str):
        return None
    return STATUS_WORDS.get(value.strip().lower().replace(" ", "_").replace("-", "_"))
