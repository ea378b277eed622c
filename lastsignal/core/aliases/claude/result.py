"""The verdict of a `result` record: which of its subtypes are failures, and of what kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields, http_status_of, unwrap_error
from lastsignal.core.aliases.fields import amount_of, count_of, list_of, text_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.events import Status

# Subtype → (operation of the audit event, what the limit is called in its metadata).
_LIMITS = {
    "error_max_turns": "turn_limit",
    "error_max_budget_usd": "budget",
}
_DOLLARS = re.compile(r"\$\s?(\d+(?:\.\d+)?)")
_TURNS = re.compile(r"maximum number of turns \((\d+)\)")
_ABORTED = re.compile(
    r"(?:Error: )?(?:Request was aborted|AbortError|\[Request interrupted by user)"
)


class Result(msgspec.Struct, gc=False):
    """The fields of a `result` record that are read."""

    subtype: Any = None
    is_error: Any = None
    num_turns: Any = None
    duration_ms: Any = None
    total_cost_usd: Any = None
    total_cost: Any = None
    cost_usd: Any = None
    result: Any = None
    error: Any = None
    errors: Any = None
    api_error_status: Any = None
    terminal_reason: Any = None
    stop_reason: Any = None
    permission_denials: Any = None
    usage: Any = None
    modelUsage: Any = None

    def cost(self) -> float | None:
        """What the session has cost in US dollars, by any of the names that it has had."""
        names = (self.total_cost_usd, self.total_cost, self.cost_usd)
        return next((cost for cost in map(amount_of, names) if cost is not None), None)

    def denied(self) -> list[Mapping[str, Any]]:
        """Calls that a user or a policy refused."""
        return [denial for denial in list_of(self.permission_denials) if isinstance(denial, dict)]

    def errors_text(self) -> str | None:
        """The first error that is no internal diagnostic."""
        texts = [text for text in list_of(self.errors) if isinstance(text, str)]
        return next((text for text in texts if not text.startswith("[ede_diagnostic]")), None)

    def says_error(self) -> bool:
        """Whether a field that is only for errors tells of one."""
        return bool(self.errors_text() or text_of(self.error))

    def has_answered(self) -> bool:
        """Whether it holds the answer, which those of errors do not, and nothing of an error."""
        return bool(text_of(self.result)) and self.is_error is not True and not self.says_error()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and the event that says why where no earlier record does."""

    status: Status
    error: ErrorFields = field(default_factory=ErrorFields)
    facts: dict[str, Any] | None = None
    leaf: dict[str, Any] | None = None
    repeats: bool = False
    """The leaf only repeats a failure that a record of its own may have told."""
    is_contradicted: bool = False
    """Its subtype is one of errors, and the rest of the record that of a run which went well."""


def outcome_of(result: Result) -> Outcome:
    """Judge a result. `is_error` may come with subtype `success`, and the other way round."""
    subtype = text_of(result.subtype) or ""
    reason = text_of(result.terminal_reason)
    facts = _facts(result, reason)
    if subtype.startswith("error") and result.has_answered():
        return Outcome("failed", ErrorFields(subtype, None, subtype), facts, is_contradicted=True)
    if subtype in _LIMITS:
        return _limit(subtype, result, facts)
    if subtype == "error_during_execution" and _was_aborted(result, reason):
        return Outcome("aborted", _error_of(result), facts)
    if subtype.startswith("error") or result.is_error is True:
        return _failure(subtype, result, facts)
    return Outcome("completed", facts=facts)


def _limit(subtype: str, result: Result, facts: dict[str, Any] | None) -> Outcome:
    text = result.errors_text() or text_of(result.result) or subtype
    metadata = {"limit_kind": subtype, **(facts or {})}
    pattern, name = (
        (_DOLLARS, "budget_limit") if subtype == "error_max_budget_usd" else (_TURNS, "limit")
    )
    found = pattern.search(text)
    if found:
        metadata[name] = amount_of(found[1]) if name == "budget_limit" else count_of(found[1])
    message = unwrap_error(text).message
    leaf = {
        "event_type": "audit",
        "operation": _LIMITS[subtype],
        "status": "failed",
        "error_message": message,
        "error_type": subtype,
        "metadata": metadata,
    }
    if subtype == "error_max_budget_usd":
        leaf["error_class"] = "budget"
    return Outcome("failed", ErrorFields(message, None, subtype), facts, leaf)


def _failure(subtype: str, result: Result, facts: dict[str, Any] | None) -> Outcome:
    error = _error_of(result)
    kind = error.type or (subtype if subtype.startswith("error") else None)
    fields = {
        "status": "failed",
        "error_message": error.message or subtype or None,
        "error_type": kind,
        "http_status": error.http_status,
    }
    leaf: dict[str, Any] | None
    if subtype == "error_max_structured_output_retries":
        leaf = {"event_type": "process_error", "error_class": "schema", **fields}
    elif error.http_status is not None or subtype == "success":
        leaf = {"event_type": "model_call", "operation": "claude", **fields}
    elif subtype.startswith("error_") or result.is_error is True or result.says_error():
        leaf = {"event_type": leaf_type(error, _text_of_error(result)), **fields}
        if leaf["event_type"] == "model_call":
            leaf["operation"] = "claude"
    else:
        leaf = None  # a subtype that is none of the format's, and nothing that bears it out
    ended = ErrorFields(error.message or subtype, error.http_status, kind)
    return Outcome(
        "failed", ended, facts, leaf, repeats=subtype != "error_max_structured_output_retries"
    )


def _error_of(result: Result) -> ErrorFields:
    error = provider_error(_text_of_error(result))
    status = http_status_of(result.api_error_status) or error.http_status
    return ErrorFields(error.message, status, error.type)


def _text_of_error(result: Result) -> str | None:
    return result.errors_text() or text_of(result.error) or text_of(result.result)


def _was_aborted(result: Result, reason: str | None) -> bool:
    if reason is not None and reason.startswith("aborted"):
        return True
    return any(isinstance(text, str) and _ABORTED.match(text) for text in list_of(result.errors))


def _facts(result: Result, reason: str | None) -> dict[str, Any] | None:
    facts = {
        "num_turns": count_of(result.num_turns),
        "total_cost_usd": result.cost(),
        "terminal_reason": reason,
        "permission_denials": len(result.denied()) or None,
    }
    return {name: value for name, value in facts.items() if value is not None} or None
