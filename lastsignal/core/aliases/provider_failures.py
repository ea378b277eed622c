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
)
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
_ONLY_OF_PROVIDERS = frozenset(
    {"content_filter", "context_length", "overloaded", "quota", "rate_limit"}
)
_MAX_TRACEBACK = 200_000


def is_of_provider(error: ErrorFields, text: str, traceback: str = "") -> bool:
    """Tell by exception type, by the text's own prefix, or by the frames that it went through."""
    return (
        error.type in _CLIENT_ERRORS
        or bool(_CLIENT_TEXT.match(text))
        or bool(_CLIENT_FRAME.search(traceback, 0, _MAX_TRACEBACK))
    )


def leaf_type(error: ErrorFields) -> EventType:
    """Return what failed where a run says only what it died of: a call of its model, or itself."""
    if is_of_provider(error, error.message or ""):
        return "model_call"
    kind = classify("process_error", error.http_status, error.type, error.message)
    return "model_call" if kind in _ONLY_OF_PROVIDERS else "process_error"
