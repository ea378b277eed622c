"""Records of policy: audit payloads, governance, human gates, and errors that the kernel raises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lastsignal.core.aliases.error_text import http_status_of, unwrap_error
from lastsignal.core.aliases.fields import amount_of, attempt_of, status_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.maslab.records import ObsEvent, RunState
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.events import Event, Status

# What a plugin's own event name is about → (operation, error class), first match wins.
_SUBJECTS: tuple[tuple[re.Pattern[str], str, str | None], ...] = (
    (re.compile(r"budget|cost|spend"), "budget", "budget"),
    (re.compile(r"token"), "token_limit", None),
    (re.compile(r"timeout|time_limit|deadline"), "time_limit", "timeout"),
    (re.compile(r"recursion"), "recursion_limit", None),
    (re.compile(r"turn"), "turn_limit", None),
    (re.compile(r"step|iteration|call_limit|max_calls"), "step_limit", None),
    (re.compile(r"guardrail|policy|safety|violation"), "guardrail", None),
    (re.compile(r"permission|approval"), "permission", None),
)
_TRIPPED = re.compile(
    r"(?:triggered|exceeded|exhausted|violat\w+|blocked|denied|reached|failed|tripped)$"
)
_PASSED = frozenset({"allow", "allowed", "pass", "passed", "ok", "approve", "approved"})
_REFUSED = frozenset(
    {"reject", "rejected", "deny", "denied", "abort", "aborted", "cancel", "cancelled"}
)
_SPENT = ("total_cost_usd", "cost_usd", "spent_usd", "total_cost", "spent", "used", "total")
_LIMIT = (
    "budget_limit",
    "budget_limit_usd",
    "budget_usd",
    "budget",
    "limit",
    "max_cost_usd",
    "max",
)


def audit(payload: Mapping[str, Any], make: Any) -> Event:
    """Return the decision that a plugin's audit payload tells.

    Args:
        payload: whatever the plugin gave to `recorder.audit`.
        make: makes an event of the record's agent and time.
    """
    name = text_of(payload.get("event")) or text_of(payload.get("type")) or "audit"
    subject, error_class = next(
        (
            (operation, kind)
            for pattern, operation, kind in _SUBJECTS
            if pattern.search(name.lower())
        ),
        (name, None),
    )
    spent, limit = _amount(payload, _SPENT), _amount(payload, _LIMIT)
    failed = bool(_TRIPPED.search(name.lower())) or _is_over(payload, spent, limit)
    status: Status = status_of(payload.get("status")) or ("failed" if failed else "completed")
    facts = {key: value for key, value in payload.items() if isinstance(value, str | int | float)}
    event: Event = make(event_type="audit", operation=subject, status=status, metadata=facts)
    if status == "failed":
        event.error_message = _statement(name, payload, spent, limit)
        event.error_class = error_class
        event.error_type = name
    return event


def governance(record: ObsEvent, state: RunState, make: Any) -> Event | None:
    """Return what a policy decided; None where it let the call pass."""
    decision = (text_of(record.decision) or "").lower()
    if not decision or decision in _PASSED:
        return None
    reason = text_of(record.reason)
    code = text_of(record.failure_code)
    call_id = text_of(record.call_id)
    policy = text_of(record.policy_name) or text_of(record.policy_id)
    facts = {
        "policy": policy,
        "hook": text_of(record.hook),
        "decision": decision,
        "failure_class": text_of(record.failure_class),
    }
    facts = {key: value for key, value in facts.items() if value}
    if decision == "retry":
        operation = state.names.get(call_id or "") or (text_of(record.op) or "call").lower()
        retry: Event = make(
            event_type="retry",
            operation=operation,
            status="started",
            attempt=attempt_of(record.retry_attempts),
            error_message=reason,
            error_type=code,
            metadata=facts,
        )
        return retry
    event: Event = make(
        event_type="audit",
        operation="guardrail",
        status="failed",
        call_id=call_id,
        error_message=reason or decision,
        error_type=code or decision,
        metadata=facts,
    )
    return event


def human_gate(record: ObsEvent, make: Any) -> Event | None:
    """Return a human's answer to a gate; a refusal is no failure."""
    answer = (text_of(record.resolution) or text_of(record.decision) or "").lower()
    if not answer:
        return None
    status: Status = "aborted" if answer in _REFUSED else "completed"
    event: Event = make(
        event_type="audit", operation="permission", status=status, metadata={"resolution": answer}
    )
    return event


def kernel_error(record: ObsEvent, state: RunState, make: Any) -> Event:
    """Return the error that the kernel raises at its boundary: fatal unless it can recover."""
    code = text_of(record.code)
    raised = record.message or record.error
    error = unwrap_error(raised)
    operation = state.names.get(text_of(record.parent_call_id) or "")
    fatal = record.recoverable is not True and bool(error.message or code)
    event: Event = make(
        event_type=leaf_type(error, raised) if fatal else "audit",
        operation=operation or (None if fatal else "kernel_error"),
        status="failed",
        error_message=error.message or code,
        error_type=code or error.type,
        http_status=http_status_of(record.code) or error.http_status,
        metadata={"recoverable": not fatal},
    )
    return event


def payload_of(record: ObsEvent) -> Mapping[str, Any]:
    """Return an audit payload, also one that was written as JSON in a text."""
    value = value_of(record.payload)
    if isinstance(value, str):
        value = value_of(value.encode("utf-8", "replace"))
    return value if isinstance(value, dict) else {}


def _amount(payload: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if amount_of(payload.get(name)) is not None), None)


def _is_over(payload: Mapping[str, Any], spent: str | None, limit: str | None) -> bool:
    if spent is None or limit is None:
        return False
    return (amount_of(payload[spent]) or 0.0) > (amount_of(payload[limit]) or 0.0)


def _statement(name: str, payload: Mapping[str, Any], spent: str | None, limit: str | None) -> str:
    """What the payload says, with its numbers as written; it has no text of its own."""
    text = text_of(payload.get("message")) or text_of(payload.get("reason"))
    if text:
        return text
    amounts = [f"{field} {payload[field]}" for field in (spent, limit) if field is not None]
    return f"{name}: {', '.join(amounts)}" if amounts else name
