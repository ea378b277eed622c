"""Which values of an error field show that a run died, and which are there by mistake."""

from __future__ import annotations

from typing import Any

import pytest
from kit.mutations import ODD_VALUES

from lastsignal.core.aliases.crashes import is_crash
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error

FLAG = ODD_VALUES.index(True)  # read as an unspecified error: of it each format must judge itself


@pytest.mark.parametrize("value", [*ODD_VALUES[:FLAG], *ODD_VALUES[FLAG + 1 :]], ids=str)
def test_what_tells_of_nothing_is_no_crash(value: Any) -> None:
    assert not is_crash(unwrap_error(value))


@pytest.mark.parametrize(
    "value",
    [
        "ValueError: x",
        "KeyError('x')",
        "Boom('x')",
        "boom",
        "worker exited with code 137",
        "OOM",
        "请求超时",
        {"message": "boom"},
        {"type": "rate_limit_error"},
        {"code": 503},
        {"error": {"type": "overloaded_error", "message": "-"}},
        ["ValueError: x"],
        500,
    ],
    ids=str,
)
def test_what_says_what_failed_is_a_crash(value: Any) -> None:
    assert is_crash(unwrap_error(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ValueError: x", True),
        ("Error: boom", True),
        ("Uncaught Error: boom", True),
        ("litellm.Timeout: too slow", True),
        ({"type": "insufficient_quota", "message": "no money"}, True),
        ("boom", False),
        ({"type": "Error"}, False),
        ({"type": "ERROR"}, False),
        ("Errors are none", False),
        ("the answer, as text", False),
        ({"message": "lorem ipsum"}, False),
        (True, False),
        (500, False),
    ],
    ids=str,
)
def test_where_something_speaks_against_it_only_an_exception_is_believed(
    value: Any, expected: bool
) -> None:
    assert is_crash(unwrap_error(value), is_doubted=True) is expected


def test_the_type_alone_names_a_class_or_an_error() -> None:
    assert is_crash(ErrorFields("StopIteration", None, "StopIteration"))
    assert not is_crash(ErrorFields("text", None, "text"))
    assert not is_crash(ErrorFields())
