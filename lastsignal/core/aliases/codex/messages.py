"""`event_msg` payloads: turns, usage, retries, errors. Older `codex exec` prints them as `msg`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lastsignal.core.aliases.codex.outputs import Judgement, exited
from lastsignal.core.aliases.codex.session import AGENT, Session
from lastsignal.core.aliases.contract import Decoded, Drop
from lastsignal.core.aliases.error_text import ErrorFields, http_status_of, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.events import Event

_ATTEMPT = re.compile(r"Reconnecting\.{3} (\d{1,5})/(\d{1,5})(?: \((.*)\))?", re.DOTALL)
_OLDER_ATTEMPT = re.compile(
    r"(?:stream error: )?(.{0,4000}?); retrying (\d{1,5})/(\d{1,5}) in ", re.DOTALL
)
_STARTS = frozenset({"task_started", "turn_started"})
_ENDS = frozenset({"task_complete", "turn_complete"})
_REACHED = "rate_limit_reached"
_WINDOWS = ("primary", "secondary")
_QUOTA = re.compile(r"credits?_|usage_limit|spend")


def decode_message(session: Session, at_time: float, payload: Mapping[str, Any]) -> Decoded:
    """Return the events of one `event_msg`."""
    kind = text_of(payload.get("type")) or ""
    if kind in _STARTS:
        session.state.says_turns = True
        session.state.limit_reached = None
        return session.open(at_time) or Drop("repeated_turn")
    if kind in _ENDS:
        return _turn_complete(session, at_time, payload) or Drop("turn_end")
    if kind == "turn_aborted":
        return _turn_aborted(session, at_time, payload) or Drop("turn_end")
    if kind == "token_count":
        return _usage(session, at_time, payload)
    if kind in ("error", "stream_error"):
        return error_events(session, at_time, error_of(payload), payload)
    if kind in ("exec_command_begin", "mcp_tool_call_begin", "patch_apply_begin"):
        return _begin(session, at_time, payload) or Drop("repeated_call")
    if kind in ("exec_command_end", "mcp_tool_call_end", "patch_apply_end"):
        return _end(session, at_time, payload) or Drop("repeated_result")
    return Drop("display_message")


def follow_message(session: Session, at_time: float, payload: Mapping[str, Any]) -> None:
    """Take from an `event_msg` of the parent what a forked session goes on with: how turns are
    told, and the sums to which its own usage is added."""
    kind = text_of(payload.get("type"))
    if kind in _STARTS:
        session.state.says_turns = True
    elif kind == "token_count":
        _usage(session, at_time, payload)
        session.state.limit_reached = None


def error_of(payload: Mapping[str, Any]) -> ErrorFields:
    """Read an error: a text, often with the provider's JSON, and Codex's own name for it."""
    info = payload.get("codex_error_info") or payload.get("codexErrorInfo")
    name = text_of(info)
    detail: Any = None
    if isinstance(info, dict) and info:
        name, detail = next(iter(info.items()))
    error = provider_error(text_of(payload.get("message")))
    status = http_status_of(at(detail, "http_status_code")) or error.http_status
    kind = name if isinstance(name, str) and name != "other" else None
    return ErrorFields(error.message or kind, status, kind or error.type)


def error_events(
    session: Session, at_time: float, error: ErrorFields, payload: Mapping[str, Any]
) -> Decoded:
    """A lost stream is tried again and says how often; any other error gives the call up."""
    number, limit, said = _attempt_in(text_of(payload.get("message")) or "")
    if limit is None and payload.get("type") != "stream_error":
        return session.failed_call(at_time, error) or Drop("repeated_error")
    cause = provider_error(said) if said else error
    details = text_of(payload.get("additional_details"))
    if details:
        cause = provider_error(details)
    return [
        *session.open(at_time),
        session.event(
            at_time,
            event_type="retry",
            status="started",
            operation=session.state.model or AGENT,
            attempt=number or None,
            error_message=cause.message,
            error_type=error.type or cause.type,
            http_status=cause.http_status or error.http_status,
            metadata={"max_attempts": limit} if limit else None,
        ),
    ]


def _attempt_in(message: str) -> tuple[int | None, int | None, str | None]:
    """Return which attempt comes, of how many, and why, where a message says that one comes."""
    found = _ATTEMPT.match(message)
    if found is not None:
        return int(found[1]), int(found[2]), found[3]
    found = _OLDER_ATTEMPT.match(message)
    return (None, None, None) if found is None else (int(found[2]), int(found[3]), found[1])


def _turn_complete(session: Session, at_time: float, payload: Mapping[str, Any]) -> list[Event]:
    state = session.state
    milliseconds = amount_of(payload.get("duration_ms"))
    seconds = None if milliseconds is None else milliseconds / 1000.0
    written = payload.get("error")
    if written:
        fields = written if isinstance(written, dict) else {"message": text_of(written)}
        error = error_of(fields)
        if text_of(payload.get("last_agent_message")):  # a turn that an error ends has no answer
            return session.close(at_time, "failed", error, seconds, is_contradicted=True)
        return [
            *session.failed_call(at_time, error),
            *session.close(at_time, "failed", error, seconds),
        ]
    if payload.get("last_agent_message", "") is not None:
        return session.close(at_time, "completed", seconds=seconds)
    # Rollouts leave errors out: a turn without an answer is all that shows, with the limit that
    # stood at its end where there was one.
    error = ErrorFields("The turn ended without an answer", None, "no_answer")
    events: list[Event] = []
    if state.limit_reached and not state.failed:
        error = _limit_error(state.limit_reached)
        events = session.failed_call(at_time, error)
    return [*events, *session.close(at_time, "failed", error, seconds)]


def _turn_aborted(session: Session, at_time: float, payload: Mapping[str, Any]) -> list[Event]:
    reason = text_of(payload.get("reason"))
    error = ErrorFields(reason, None, reason)
    if reason != "budget_limited":
        return session.close(at_time, "aborted", error)
    audit = session.event(
        at_time,
        event_type="audit",
        operation="budget",
        status="failed",
        error_message=reason,
        error_type=reason,
        error_class="budget",
    )
    return [audit, *session.close(at_time, "failed", error)]


def _usage(session: Session, at_time: float, payload: Mapping[str, Any]) -> Decoded:
    state = session.state
    limits = mapping_of(payload.get("rate_limits"))
    state.limit_reached = _reached(limits)
    total = mapping_of(at(payload, "info", "total_token_usage"))
    last = mapping_of(at(payload, "info", "last_token_usage"))
    sum_of_all = count_of(total.get("total_tokens"))
    if not last and not total:
        return Drop("rate_limit_status")
    asked, answered = (count_of(total.get(name)) for name in ("input_tokens", "output_tokens"))
    if sum_of_all is None and asked is not None:
        sum_of_all = asked + (answered or 0)
    if sum_of_all is not None and sum_of_all == state.total_tokens:
        return Drop("repeated_usage")
    state.total_tokens = -1 if sum_of_all is None else sum_of_all
    grown = session.grown(total)
    last = last or grown
    facts = {
        "cache_read_tokens": count_of(last.get("cached_input_tokens")),
        "context_window": count_of(at(payload, "info", "model_context_window")),
        "limit_used_percent": amount_of(at(limits, "primary", "used_percent")),
    }
    return [
        session.event(
            at_time,
            event_type="model_call",
            status="completed",
            operation=state.model or AGENT,
            model=state.model,
            input_tokens=count_of(last.get("input_tokens")),
            output_tokens=count_of(last.get("output_tokens")),
            metadata={name: value for name, value in facts.items() if value},
        )
    ]


def _reached(limits: Mapping[str, Any]) -> str | None:
    """The name of the limit that is used up, None while there is some left."""
    kind = limits.get("rate_limit_reached_type")
    if isinstance(kind, dict):
        kind = kind.get("type") or kind.get("kind")
    if isinstance(kind, str) and kind:
        return kind
    for window in _WINDOWS:
        used = amount_of(at(limits, window, "used_percent"))
        if used is not None and used >= 100:
            return f"{window} {used:g} %"
    return None


def _limit_error(reached: str) -> ErrorFields:
    """Return what is told of a limit: its own name is as short as the window's that it holds in."""
    kind = _REACHED if reached.startswith(_WINDOWS) else reached
    what = "usage limit" if _QUOTA.search(kind) else "rate limit"
    which = "" if reached == _REACHED else f" ({reached})"
    return ErrorFields(f"The {what} of the plan is reached{which}", None, kind)


def _begin(session: Session, at_time: float, payload: Mapping[str, Any]) -> list[Event]:
    kind = str(payload.get("type")).removesuffix("_begin")
    tool = text_of(at(payload, "invocation", "tool"))
    arguments = payload.get("command") or payload.get("invocation") or payload.get("changes")
    return session.call(at_time, text_of(payload.get("call_id")), tool or kind, arguments)


def _end(session: Session, at_time: float, payload: Mapping[str, Any]) -> list[Event]:
    code = payload.get("exit_code")
    judged = Judgement()
    if isinstance(code, int) and not isinstance(code, bool):
        judged = exited(code, f"Exit code: {code}")
    elif payload.get("success") is False:
        judged = Judgement("failed", unwrap_error(payload.get("stderr")))
    elif text_of(at(payload, "result", "Err")):
        judged = Judgement("failed", unwrap_error(at(payload, "result", "Err")))
    elif (
        at(payload, "result", "Ok", "isError") is True
        or at(payload, "result", "Ok", "is_error") is True
    ):
        judged = Judgement(
            "failed", unwrap_error(at(payload, "result", "Ok", "content", 0, "text"))
        )
    return session.result(at_time, text_of(payload.get("call_id")), judged)
