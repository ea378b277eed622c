"""Errors as texts: what a provider answered behind a client's words."""

from __future__ import annotations

import pytest

from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.error_classes import classify

QUOTA = (
    "Error code: 429 - {'error': {'message': 'You exceeded your current quota', 'param': None,"
    " 'type': 'insufficient_quota', 'code': 'insufficient_quota'}}"
)
FILTERED = (
    "openai.BadRequestError: Error code: 400 - {'error': {'inner_error': {'code': 'Policy', 'x':"
    f" '{'y' * 600}'}}, 'code': 'content_filter', 'message': \"It's not allowed\", 'type': None}}}}"
)


@pytest.mark.parametrize(
    ("text", "message", "status", "kind", "name"),
    [
        (QUOTA, "You exceeded your current quota", 429, "insufficient_quota", "quota"),
        (FILTERED, "It's not allowed", 400, "content_filter", "content_filter"),
        (
            "Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error',"
            " 'message': 'Overloaded'}}",
            "Overloaded", 529, "overloaded_error", "overloaded",
        ),
        (
            "RateLimitError(\"Error code: 429 - {'error': {'message': 'slow down'}}\")",
            "slow down", 429, "RateLimitError", "rate_limit",
        ),
        (
            "openai.APIError: Error code: 500 - {'message': 'it\\'s broken'}\nmore",
            "it's broken", 500, "APIError", "server_error",
        ),
    ],
)  # fmt: skip
def test_what_the_provider_answered_is_read_out_of_the_client_s_words(
    text: str, message: str, status: int, kind: str, name: str
) -> None:
    found = unwrap_error(text)

    assert found == ErrorFields(message, status, kind)
    assert classify("model_call", found.http_status, found.type, found.message) == name


@pytest.mark.parametrize(
    "text",
    [
        "Error code: 429 - Rate limit reached for gpt-x",
        "Error code: 404 - {'detail': 'Not Found'}",
        "Error code: 400 - {'message': ''}",
        "the page says Error code: 400 - {'message': 'no'}",
    ],
)
def test_what_holds_no_answer_stays_as_it_is(text: str) -> None:
    assert unwrap_error(text).message == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Error in generating model output:\nRateLimitError: slow", "RateLimitError: slow"),
        ("The step failed:\n\n  Caused by:\n  disk full\nmore", "disk full"),
        ("ValueError:\n  boom\nmore", "ValueError: boom"),
        ("Request timed out after:\n30 s", "Request timed out after:"),
        ("TypeError: got these:\n- a\n- b", "TypeError: got these:"),
        ("The step failed:", "The step failed:"),
        ("The step failed:\n  \n", "The step failed:"),
    ],
)  # fmt: skip
def test_a_heading_is_passed_over_for_what_stands_below_it(text: str, message: str) -> None:
    assert unwrap_error(text).message == message


def test_a_cause_says_what_the_error_around_it_does_not() -> None:
    cause = {"code": "ECONNRESET", "path": "https://api.example/v1/messages", "errno": 0}

    assert unwrap_error({"cause": cause}) == ErrorFields("ECONNRESET", None, "ECONNRESET")
    assert unwrap_error({"message": "no answer", "cause": cause}).message == "no answer"
