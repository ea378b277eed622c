"""Classes of failure: what happens in the run, its one cause, and what else is true of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corpus.story import Failure, Story


@dataclass(frozen=True)
class FailureClass:
    """One way for a run to fail."""

    name: str
    cause: str
    """The rule that names it."""
    tell: Callable[[Story], Story]
    also: frozenset[str] = frozenset()
    """What else is true of such a run, where its layout shows it."""
    uses: frozenset[str] = frozenset()
    """What a layout must be able to say: see `layouts.CANNOT`."""


_ENDS = frozenset({"run_crashed", "run_failed"})
_FIRST = _ENDS | {"first_step_failed", "non_retryable_retried", "model_keeps_failing"}
_REFUSED = _ENDS | {"retry_storm", "retry_without_backoff", "model_keeps_failing"}
_IN_VAIN = _REFUSED | {"non_retryable_retried"}
_TOOL = _ENDS | {"tool_keeps_failing"}
_TOOL_IN_VAIN = _TOOL | {"non_retryable_retried"}
_SAME_IN_VAIN = _TOOL_IN_VAIN | {"repeated_failing_operation"}
_SAME = _TOOL | {"stalled_progress"}
_LIMITED = _ENDS | {"turn_limit"}
_TORN = frozenset({"run_vanished", "orphaned_subagent"})
_LIMIT = Failure("Recursion limit of 25 reached", None, "GraphRecursionError", "recursion_limit")
_SAYS_LIMITS = frozenset({"limits"})


def _refused(story: Story, failure: Failure, attempts: int) -> Story:
    for attempt in range(attempts):
        story.think(failure, attempt=attempt)
    return story


def _quota(story: Story) -> Story:
    text = "You exceeded your current quota, please check your plan and billing details."
    failure = Failure(text, 429, "RateLimitError", "insufficient_quota")
    return _refused(story.work(_rounds(story)), failure, 2).end("failed", failure)


def _rate_limit(story: Story) -> Story:
    text = story.chance.choice(
        ("Rate limit reached for requests per min", "429 Too Many Requests", "slow down")
    )
    failure = Failure(text, 429, "RateLimitError", "rate_limit_error")
    return _refused(story.work(_rounds(story)), failure, story.chance.randint(3, 4)).end(
        "failed", failure
    )


def _overloaded(story: Story) -> Story:
    failure = Failure("Overloaded", 529, "InternalServerError", "overloaded_error")
    return _refused(story.work(_rounds(story)), failure, story.chance.randint(2, 4)).end(
        "failed", failure
    )


def _bad_key(story: Story) -> Story:
    text = story.chance.choice(("Incorrect API key provided", "invalid x-api-key"))
    failure = Failure(text, 401, "AuthenticationError", "authentication_error")
    return story.think(failure).end("failed", failure)


def _no_model(story: Story) -> Story:
    text = f"The model `{story.model}` does not exist or you do not have access to it."
    failure = Failure(text, 404, "NotFoundError", "model_not_found")
    return story.think(failure).end("failed", failure)


def _context(story: Story) -> Story:
    text = "prompt is too long: 210311 tokens > 200000 maximum"
    failure = Failure(text, 400, "BadRequestError", "invalid_request_error")
    return _refused(story.work(_rounds(story)), failure, 2).end("failed", failure)


def _model_timeout(story: Story) -> Story:
    failure = Failure("Request timed out.", None, "APITimeoutError", "timeout")
    story.work(_rounds(story))
    for attempt in range(2):
        story.think(failure, took=60.0, attempt=attempt)
    return story.end("failed", failure)


def _content_filter(story: Story) -> Story:
    text = "The response was filtered: it triggered the content management policy"
    failure = Failure(text, 400, "BadRequestError", "content_filter")
    return story.work(_rounds(story)).think(failure).end("failed", failure)


def _tool_fails(
    story: Story, tool: str, failure: Failure, times: int, took: float | None = None
) -> Story:
    story.work(_rounds(story)).think()
    number = story.chance.randrange(10**6)
    for index in range(times):
        story.call(tool, {"id": number, "try": index}, failure, took).think()
    return story.end("failed", Failure(f"{tool} does not work: {failure.text}"))


def _tool_timeout(story: Story) -> Story:
    failure = Failure("query timed out after 30 seconds", None, "TimeoutError")
    return _tool_fails(story, "run_query", failure, 3, took=30.0)


def _connection(story: Story) -> Story:
    failure = Failure("Connection refused: localhost:5432", None, "ConnectionError")
    return _tool_fails(story, "load_orders", failure, 3)


def _tool_auth(story: Story) -> Story:
    failure = Failure("401 Unauthorized: token expired", 401, "HTTPError")
    return _tool_fails(story, "crm_update", failure, 3)


def _permission(story: Story) -> Story:
    failure = Failure("Permission denied: /etc/app.conf", None, "PermissionError")
    return _tool_fails(story, "store_config", failure, 3)


def _arguments(story: Story) -> Story:
    failure = Failure("1 validation error: seats: field required", None, "ValidationError")
    return _tool_fails(story, "book_seat", failure, 3)


def _unknown_tool(story: Story) -> Story:
    failure = Failure("Unknown tool: book_hotel", None, "ToolNotFoundError")
    return _tool_fails(story, "book_hotel", failure, 3)


def _disk(story: Story) -> Story:
    failure = Failure("[Errno 28] No space left on device", None, "OSError")
    return _tool_fails(story, "save_report", failure, 2)


def _same_call(story: Story) -> Story:
    story.work(_rounds(story))
    for _ in range(story.chance.randint(3, 6)):
        request = story.chance.randrange(10**6)
        failure = Failure(f"no seat is left (request {request})", None, "BookingError")
        story.think().call("reserve", {"class": "window"}, failure)
    return story.end("failed", Failure("gave up booking"))


def _same_error(story: Story) -> Story:
    failure = Failure("no seat is left", None, "BookingError")
    story.work(_rounds(story))
    for row in range(story.chance.randint(4, 7)):
        story.think().call("reserve", {"row": row}, failure)
    return story.end("failed", Failure("gave up booking"))


def _cascade(story: Story) -> Story:
    story.work(_rounds(story)).think()
    for tool, text in (("fetch_a", "bad answer"), ("fetch_b", "odd data"), ("fetch_c", "mangled")):
        story.call(tool, {}, Failure(text))
    return story.end("failed", Failure("nothing to go on with"))


def _stalled(story: Story) -> Story:
    story.work(_rounds(story))
    for _ in range(story.chance.randint(5, 9)):
        story.think().call("find_seat", {"row": 12}, output="none")
    return story.end("failed", _LIMIT)


def _cycle(story: Story) -> Story:
    story.work(_rounds(story))
    for _ in range(story.chance.randint(3, 6)):
        story.think().call("open_ticket", {"id": 7}).think().call("close_ticket", {"id": 7})
    return story.end("failed", _LIMIT)


def _hang(story: Story) -> Story:
    return story.work(_rounds(story)).think().hang("run_query", {"sql": "select 1"})


def _crash(story: Story) -> Story:
    error = Failure("'NoneType' object has no attribute 'rows'", None, "AttributeError")
    return story.work(_rounds(story)).think().end("crashed", error)


def _cut_off(story: Story) -> Story:
    story.work(_rounds(story))
    for _ in range(story.chance.randint(2, 4)):
        story.think(finish="length")
    return story.end("failed", Failure("the answer is not complete"))


def _empty(story: Story) -> Story:
    story.work(_rounds(story))
    for _ in range(story.chance.randint(3, 5)):
        story.think(answer=0)
    return story.end("failed", Failure("no answer"))


def _unparseable(story: Story) -> Story:
    text = story.chance.choice(
        ("Could not parse LLM output: I think so", "Expecting value: line 1 column 1 (char 0)")
    )
    failure = Failure(text, None, "OutputParserException")
    return _refused(story.work(_rounds(story)), failure, story.chance.randint(2, 4)).end(
        "failed", failure
    )


def _rounds(story: Story) -> int:
    return story.chance.randint(1, 5)


FAILURES: tuple[FailureClass, ...] = (
    FailureClass("quota", "quota_exhausted", _quota, _IN_VAIN),
    FailureClass("rate_limit", "rate_limit_exhausted", _rate_limit, _REFUSED),
    FailureClass("overloaded", "provider_overloaded", _overloaded, _REFUSED),
    FailureClass("bad_key", "model_auth_failed", _bad_key, _FIRST),
    FailureClass("no_model", "model_unavailable", _no_model, _FIRST),
    FailureClass("context", "context_overflow", _context, _IN_VAIN),
    FailureClass("model_timeout", "model_timeout", _model_timeout, _REFUSED),
    FailureClass("content_filter", "content_filter_blocked", _content_filter, _ENDS),
    FailureClass("tool_timeout", "tool_timeout", _tool_timeout, _TOOL),
    FailureClass("connection", "service_errors", _connection, _TOOL),
    FailureClass("tool_auth", "tool_auth_failed", _tool_auth, _TOOL_IN_VAIN),
    FailureClass("permission", "permission_denied", _permission, _TOOL_IN_VAIN),
    FailureClass("arguments", "tool_arguments_invalid", _arguments, _TOOL_IN_VAIN),
    FailureClass("unknown_tool", "unknown_tool", _unknown_tool, _SAME_IN_VAIN),
    FailureClass("disk_full", "resource_exhausted", _disk, _TOOL),
    FailureClass("same_call", "repeated_failing_call", _same_call, _SAME),
    FailureClass("same_error", "repeated_failing_operation", _same_error, _TOOL),
    FailureClass("cascade", "error_cascade", _cascade, _TOOL),
    FailureClass("stalled", "stalled_progress", _stalled, _LIMITED, _SAYS_LIMITS),
    FailureClass("cycle", "call_cycle", _cycle, _LIMITED, _SAYS_LIMITS),
    FailureClass("hang", "call_never_returned", _hang, _TORN, frozenset({"open calls"})),
    FailureClass("crash", "run_crashed", _crash, _ENDS, frozenset({"crashes"})),
    FailureClass("cut_off", "output_truncated", _cut_off, _ENDS, frozenset({"finish reasons"})),
    FailureClass("empty_answers", "empty_model_answers", _empty, _ENDS),
    FailureClass("unparseable", "model_output_unparseable", _unparseable, _IN_VAIN),
)
