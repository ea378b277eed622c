"""Whether the exception that ended a run came from the call of a model.

A harness notes one exception, whatever part of it failed: the client's name in the text or in the
traceback, or the class that clients raise, tells that it was the provider.
"""

from __future__ import annotations

import re

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.error_classes import classify
from lastsignal.core.events import EventType

_CLIENT_TEXT = re.compile(
    r"(?:litellm|openai|anthropic|groq|botocore|google\.(?:genai|api_core))\."
    r"|(?:\w+\(['\"])?Error code: [45]\d\d - [{\[]|API Error\b|LLM (?:request|call|error)\b"
)
"""What clients put before a provider's answer: their own name, or its status code."""
_CLIENT_WORDS = frozenset({"Request timed out.", "Connection error."})
"""All that the clients of OpenAI and of Anthropic say where there was no answer."""
_CLIENT_FRAME = re.compile(
    r"[/\\](?:litellm|openai|anthropic|mistralai|groq|cohere|botocore|google[/\\]genai)[/\\]"
)
_CLIENT_ERRORS = frozenset(
    "APIConnectionError APIConnectionTimeoutError APIError APIResponseValidationError "
    "APIStatusError APITimeoutError AuthenticationError BadGatewayError BadRequestError "
    "ContentPolicyViolationError ContextWindowExceededError InternalServerError "
    "InvalidRequestError ModelNotFoundError OpenAIError OverloadedError PermissionDeniedError "
    "RateLimitError ServiceUnavailableError Timeout UnprocessableEntityError "
    "UnsupportedParamsError".split()
)
_PROVIDER_CODES = frozenset(
    "authentication_error billing_error insufficient_quota invalid_api_key invalid_request_error "
    "model_not_found overloaded_error rate_limit_error request_too_large".split()
)
"""Types that stand in providers' answers and in nobody else's."""
_ONLY_OF_PROVIDERS = frozenset(
    {"content_filter", "context_length", "overloaded", "quota", "rate_limit"}
)
_MAX_TRACEBACK = 200_000


def is_of_provider(error: ErrorFields, text: str, traceback: str = "") -> bool:
    """Tell by the error's type, by how the text begins, or by the frames that it went through."""
    return (
        error.type in _CLIENT_ERRORS
        or error.type in _PROVIDER_CODES
        or text in _CLIENT_WORDS
        or error.message in _CLIENT_WORDS
        or bool(_CLIENT_TEXT.match(text))
        or bool(_CLIENT_FRAME.search(traceback, 0, _MAX_TRACEBACK))
    )


def leaf_type(error: ErrorFields, text: object = None, traceback: object = None) -> EventType:
    """Return what failed where a run says only what it died of: a call of its model, or itself.

    Args:
        error: what was read.
        text: what it was read from, where that is text: reading leaves the client's words out.
        traceback: of the exception, where there is one.
    """
    said = text if isinstance(text, str) else error.message or ""
    frames = traceback if isinstance(traceback, str) else ""
    if is_of_provider(error, said, frames):
        return "model_call"
    kind = classify("process_error", error.http_status, error.type, error.message)
    return "model_call" if kind in _ONLY_OF_PROVIDERS else "process_error"
