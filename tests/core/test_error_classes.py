"""What providers, clients and tools say → the one class that rules speak of."""

from __future__ import annotations

import pytest

from lastsignal.core.error_classes import ERROR_CLASSES, classify

SAID = {
    "rate_limit": (
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 31000.",
        "Rate limit reached for gpt-4o in organization",
        "429 Resource has been exhausted (e.g. check quota).",
        "You have exhausted your capacity on this model.",
        "You have exhausted your capacity on this model. Your quota will reset after 4s.",
        "This request would exceed your rate limit of 40,000 input tokens per minute",
        "Too many requests",
        "too_many_requests",
    ),
    "quota": (
        "You have exhausted your capacity on this model. Your quota will reset after 3h12m5s.",
        "Error code: 402 - Insufficient credits. Add more using https://openrouter.ai",
        "This request requires more credits, or fewer max_tokens.",
        "Insufficient Balance",
        "You have reached your specified API usage limits. You will regain access on 2025-01-01",
        "Claude AI usage limit reached|1750000000",
        "You've hit your usage limit. Upgrade to Pro",
        "5-hour limit reached ∙ resets 3pm",
        "You've hit your limit · resets 3pm (Europe/Oslo)",
        "You've hit your session limit · resets 3pm (Europe/Oslo)",
        "You have exceeded your monthly included credits for Inference Providers",
    ),
    "context_length": (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "This model's maximum context length is 8192 tokens.",
        "Please reduce the length of the messages or completion.",
        "Requested tokens (9000) exceed context window of 4096",
        "Codex ran out of room in the model's context window. Start a new conversation.",
        "Sending this message (9000 tokens) might exceed the remaining context window limit.",
        "Session token limit exceeded: 9000 tokens > 8000 limit.",
        "Range of input length should be [1, 30720]",
        "Your input exceeds the context window of this model.",
        "This model's maximum prompt length is 8192 but the request contains 9000 tokens.",
        "Your request exceeded model token limit: 8192",
        "Context limit reached · /compact or /clear to continue",
        "Conversation too long. Press esc twice to go up a few messages and try again.",
    ),
    "overloaded": (
        "The engine is currently overloaded, please try again later",
        "Model meta-llama is currently loading",
        "The model is overloaded. Please try again later.",
        "Agent execution terminated due to model provider overload.",
        "Service Unavailable",
    ),
    "auth": (
        "Incorrect API key provided: sk-abc",
        "No API key provided",
        "The api_key client option must be set by passing api_key to the client",
        "Could not resolve authentication method",
        "Unable to locate credentials",
        "The security token included in the request is invalid",
        "ExpiredTokenException: The security token included in the request is expired",
        "invalid_grant: Token has been expired or revoked",
        "Your default credentials were not found",
        "API key not valid. Please pass a valid API key.",
        "Invalid API Key · Please run /login",
        "jwt expired",
    ),
    "permission": (
        "AccessDeniedException: You don't have access to the model with the specified model ID.",
        "EACCES: permission denied, open '/etc/x'",
        "Operation not permitted",
        "There's an issue with the selected model (x-4). It may not exist, or not for you.",
        "You do not have permission to perform this action",
        "Resource not accessible by integration",
    ),
    "timeout": (
        "Request timed out.",
        "DEADLINE_EXCEEDED: Deadline expired before operation could complete.",
        "connect ETIMEDOUT 10.0.0.1:443",
        "HTTPSConnectionPool(host='x', port=443): Read timed out. (read timeout=60)",
        "Command timed out after 120s",
        "exit code 124",
    ),
    "connection": (
        "getaddrinfo ENOTFOUND api.openai.com",
        "EAI_AGAIN api.openai.com",
        "fetch failed",
        "socket hang up",
        "Remote end closed connection without response",
        "Server disconnected without sending a response.",
        "peer closed connection without sending complete message body (incomplete chunked read)",
        "connect EHOSTUNREACH",
        "No route to host",
        "[Errno -2] Name or service not known",
        "certificate verify failed: unable to get local issuer certificate",
        "HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: /v1",
        "net::ERR_CONNECTION_REFUSED at http://localhost:3000",
        "net::ERR_NAME_NOT_RESOLVED",
        "could not connect to server: Connection refused",
        "Failed to establish a new connection",
        "ECONNRESET",
        "MCP error -32000: Connection closed",
        "Temporary failure in name resolution",
        "Could not resolve host: github.com",
        "Failed to connect to localhost port 5432",
    ),
    "resource": (
        "CUDA out of memory. Tried to allocate 2 GiB",
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        "Cannot allocate memory",
        "ENOSPC: no space left on device",
        "EMFILE: too many open files",
        "Disk quota exceeded",
        "OOMKilled",
        "Container killed due to memory limit",
    ),
    "schema": (
        "Could not parse LLM output: I now know the answer",
        "Invalid JSON: Expecting value: line 1 column 1 (char 0)",
        "Expecting value: line 1 column 1 (char 0)",
        "Unexpected token < in JSON at position 0",
        "'date' is a required property",
        "1 validation error for Args: Field required",
        "Input should be a valid string",
        "Invalid arguments for tool book",
        "missing 1 required positional argument: 'q'",
        "got an unexpected keyword argument 'x'",
    ),
    "content_filter": (
        "Your request was rejected as a result of our safety system",
        "The response was filtered due to Azure OpenAI's content management policy",
        "Output blocked by content filtering policy",
        "Request violates our usage policies",
        "Response blocked: finish_reason SAFETY",
    ),
    "cancelled": (
        "KeyboardInterrupt",
        "The operation was canceled.",
        "Request was aborted.",
    ),
    "not_found": (
        "Unknown tool: x",
        "Tool 'x' not found",
        "bash: foo: command not found",
    ),
    "server_error": (
        "HTTP 500 Internal Server Error",
        "502 Bad Gateway",
        "The server had an error while processing your request. Sorry about that!",
        "Upstream request failed: 520",
    ),
    "budget": (
        "Budget has been exceeded! Current cost: 10.1, Max budget: 10",
        "litellm.BudgetExceededError: no more",
        "ExceededBudget: Crossed spend within team. Current cost: 12.5, Max budget: 10",
        "Cost limit of $5 reached",
    ),
}

NO_CODES = (
    "line 429: assertion failed",
    "found 404 rows, wanted 400",
    "port 503 is odd",
    "order 429 was already shipped",
    "got 401.5 instead",
)
"""Tools count and name lines: a bare number is no status code."""


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in SAID for text in SAID[name]])
def test_a_failure_is_known_by_its_words_alone(name: str, text: str) -> None:
    assert classify("model_call", None, None, text) == name


@pytest.mark.parametrize("text", NO_CODES)
def test_a_bare_number_is_no_status_code(text: str) -> None:
    assert classify("tool_result", None, None, text) == "tool_error"
    assert classify("model_call", None, None, text) == "unknown"


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 429 Too many",
        "HTTP/1.1 429",
        "429 from upstream",
        "status: 429",
        "Error code: 429 - {}",
        "request failed with status code 429",
        "the server returned 429",
        "client error (429)",
    ],
)
def test_a_status_code_is_one_where_the_text_says_so(text: str) -> None:
    assert classify("tool_result", None, None, text) == "rate_limit"


@pytest.mark.parametrize(
    ("status", "kind", "text", "name"),
    [
        (400, "BadRequestError", "prompt is too long: 210 tokens > 200 maximum", "context_length"),
        (429, "RateLimitError", "You exceeded your current quota", "quota"),
        (
            400,
            "ThrottlingException",
            "Too many tokens, please wait before trying again",
            "rate_limit",
        ),
        (403, None, "Your plan does not include this model", "permission"),
        (500, None, "timed out", "server_error"),
        (None, "429", "slow down", "rate_limit"),
        (None, "APITimeoutError", "no answer", "timeout"),
        (None, "OutputParserException", "odd answer", "schema"),
        (None, "ToolException", "HTTP 401", "auth"),
        (None, "ENOTFOUND", "ENOTFOUND", "connection"),
        (None, "ECONNRESET", "ECONNRESET", "connection"),
        (None, "FailedToOpenSocket", "FailedToOpenSocket", "connection"),
        (None, "SELF_SIGNED_CERT_IN_CHAIN", "SELF_SIGNED_CERT_IN_CHAIN", "connection"),
        (None, "ETIMEDOUT", "ETIMEDOUT", "timeout"),
        (429, "rate_limit", "You've hit your limit · resets 3pm", "quota"),
        (429, "rate_limit", "Session limit reached ∙ resets 6pm", "quota"),
        (429, "rate_limit", "Opus limit reached ∙ resets 6pm", "quota"),
        (None, None, "Session limit reached: close a browser first", "unknown"),
        (429, "rate_limit_error", "You have reached your rate limit", "rate_limit"),
        (418, None, None, "invalid_request"),
        (599, None, None, "server_error"),
        (None, None, None, "unknown"),
    ],
)
def test_what_is_said_outright_comes_first_then_code_type_and_words(
    status: int | None, kind: str | None, text: str | None, name: str
) -> None:
    assert classify("model_call", status, kind, text) == name


@pytest.mark.parametrize(
    ("event_type", "kind", "text", "name"),
    [
        ("process_error", "KeyError", "'rows'", "crash"),
        ("tool_result", "too_many_requests", "refused", "rate_limit"),
        ("tool_result", "execution_time_exceeded", "stopped", "timeout"),
        ("process_error", "KeyError", "HTTP 429 Too Many Requests", "rate_limit"),
        ("agent_end", "builtins.ValueError", "no plan left", "crash"),
        ("agent_end", "KeyError", "'rows'", "crash"),
        ("model_call", "ValueError", "no answers left", "crash"),
        ("model_call", "ValueError", "API key not valid", "auth"),
        ("model_call", "KeyError", "'rows'", "schema"),
        ("tool_result", "ValueError", "no such colour", "tool_error"),
        ("tool_result", "KeyError", "'rows'", "tool_error"),
        ("tool_result", "TypeError", "'NoneType' object is not iterable", "tool_error"),
        ("tool_result", "ValueError", "HTTP 429 Too Many Requests", "rate_limit"),
        ("tool_result", "ValueError", "invalid value for `city`", "invalid_request"),
        ("tool_result", "ValueError", "argument `rows` must be positive, and is -1", "schema"),
        ("tool_result", "TypeError", "f() got an unexpected keyword argument 'x'", "schema"),
        ("tool_result", "TypeError", "f() takes 1 positional argument but 2 were given", "schema"),
        ("tool_result", "ValidationError", "1 error", "schema"),
        ("retry", "ValueError", "no such colour", "unknown"),
    ],
)
def test_a_failure_by_the_program_s_own_mistake_is_a_crash(
    event_type: str, kind: str, text: str, name: str
) -> None:
    assert classify(event_type, None, kind, text) == name


def test_every_class_that_a_text_can_tell_of_is_in_the_list() -> None:
    assert SAID.keys() <= set(ERROR_CLASSES)
    assert classify("process_error", None, None, "it broke") == "crash"
