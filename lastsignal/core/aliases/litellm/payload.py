"""LiteLLM's `StandardLoggingPayload`, as its callbacks write it to files and buckets.

One record is one request: after any number of internal retries there is still one failure record,
and only the error's text tells how often it was tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, http_status_of, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, count_of, list_of, mapping_of, text_of
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_RETRIED = re.compile(r"LiteLLM Retried: (\d{1,6}) times(?:, LiteLLM Max Retries: (\d{1,6}))?")
_MOST_RETRIES = 50  # told of one request, the latest; what is beyond says no more
_BUDGET_ERROR = "BudgetExceededError"
_AMOUNTS = re.compile(r"Current cost: (\d+(?:\.\d+)?), Max budget: (\d+(?:\.\d+)?)")
_RETRIES_HEADER = "x-litellm-attempted-retries"
_MCP_CALL = "call_mcp_tool"


class _Payload(msgspec.Struct, gc=False):
    status: str
    id: Any = None
    litellm_call_id: Any = None
    trace_id: Any = None
    session_id: Any = None
    call_type: Any = None
    startTime: Any = None
    endTime: Any = None
    model: Any = None
    model_group: Any = None
    custom_llm_provider: Any = None
    prompt_tokens: Any = None
    completion_tokens: Any = None
    response_cost: Any = None
    cache_hit: Any = None
    error_str: Any = None
    error_information: Any = None
    status_fields: Any = None
    guardrail_information: Any = None
    hidden_params: Any = None
    metadata: Any = None


_decode = msgspec.json.Decoder(_Payload).decode


def recognise(value: Any) -> bool:
    """A payload: LiteLLM's own call id or call type, and the verdict."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("status"), str)
        and ("litellm_call_id" in value or ("call_type" in value and "error_information" in value))
        and ("call_type" in value or "standard_built_in_tools_params" in value)
    )


class PayloadDecoder:
    """Decodes one payload after another; none depends on another."""

    state = None

    def __init__(self, source: str) -> None:
        pass

    def decode(self, record: bytes) -> Decoded:
        """Return a request's start and end; see `contract.Decoder`."""
        try:
            payload = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if payload.litellm_call_id is None and payload.call_type is None:
            raise NotThisDialect
        if payload.status not in ("success", "failure"):
            return Drop("unknown_status")
        start, end = _call(payload)
        if payload.status == "success":
            _write_usage(payload, end)
            return [start, *_retries(payload, start), *_guardrail(payload, end), end]
        error = _error_of(payload)
        error.write(end)
        before = [*_retries(payload, start), *_guardrail(payload, end)]
        if _is_over_budget(payload, error):
            before.append(_budget(payload, end))
            end.status = "aborted"  # the gate refused the call: nothing was asked
        return [start, *before, end]


def _call(payload: _Payload) -> tuple[Event, Event]:
    started_at, ended_at = time_of(payload.startTime), time_of(payload.endTime)
    is_tool = payload.call_type == _MCP_CALL
    model = text_of(payload.model)
    tool = text_of(at(payload.metadata, "mcp_tool_call_metadata", "name"))
    start = Event(
        timestamp=started_at,
        trace_id=text_of(payload.trace_id) or text_of(payload.session_id) or "",
        event_type="tool_call" if is_tool else "model_call",
        operation=(tool if is_tool else None) or model or text_of(payload.call_type),
        status="started",
        call_id=text_of(payload.litellm_call_id) or text_of(payload.id),
        model=None if is_tool else model,
    )
    end = msgspec.structs.replace(start, status="completed", metadata=_facts(payload))
    end.event_type = "tool_result" if is_tool else "model_call"
    end.timestamp = ended_at
    if end.timestamp >= start.timestamp:
        end.duration_seconds = end.timestamp - start.timestamp
    return start, end


def _facts(payload: _Payload) -> dict[str, Any] | None:
    information = mapping_of(payload.error_information)
    facts = {
        "provider": text_of(payload.custom_llm_provider)
        or text_of(information.get("llm_provider")),
        "model_group": text_of(payload.model_group),
        "call_type": text_of(payload.call_type),
        "cache_hit": payload.cache_hit if isinstance(payload.cache_hit, bool) else None,
        "normalized_error": text_of(information.get("normalized_error")),
        "rate_limit_category": text_of(information.get("error_rate_limit_category")),
    }
    return {name: value for name, value in facts.items() if value is not None} or None


def _write_usage(payload: _Payload, end: Event) -> None:
    end.cost_usd = amount_of(payload.response_cost)
    if payload.cache_hit is not True:  # a cached answer repeats the tokens of the call it was
        end.input_tokens = count_of(payload.prompt_tokens)
        end.output_tokens = count_of(payload.completion_tokens)


def _error_of(payload: _Payload) -> ErrorFields:
    information = mapping_of(payload.error_information)
    text = text_of(information.get("error_message")) or text_of(payload.error_str)
    fields = unwrap_error(text)
    return ErrorFields(
        message=fields.message or "request failed",
        http_status=http_status_of(information.get("error_code")),
        type=text_of(information.get("error_class")) or fields.type,
    )


def _retries(payload: _Payload, start: Event) -> Iterator[Event]:
    information = mapping_of(payload.error_information)
    text = text_of(payload.error_str) or text_of(information.get("error_message")) or ""
    found = _RETRIED.search(text)
    headers = mapping_of(at(payload.hidden_params, "additional_headers"))
    retried = count_of(found[1] if found else headers.get(_RETRIES_HEADER))
    if not retried:
        return
    facts = {"max_attempts": int(found[2])} if found and found[2] else None
    for attempt in range(max(1, retried - _MOST_RETRIES + 1), retried + 1):
        retry = msgspec.structs.replace(start, event_type="retry", attempt=attempt, metadata=facts)
        if payload.status == "failure":
            _error_of(payload).write(retry, "started")
        yield retry


def _guardrail(payload: _Payload, end: Event) -> Iterator[Event]:
    if at(payload.status_fields, "guardrail_status") != "guardrail_intervened":
        return
    checks = payload.guardrail_information
    first = mapping_of(next(iter(list_of(checks)), checks))
    audit = msgspec.structs.replace(end, event_type="audit", operation="guardrail", status="failed")
    audit.error_message = (
        f"guardrail intervened: {text_of(first.get('guardrail_name')) or 'unnamed'}"
    )
    audit.call_id, audit.parent_id, audit.duration_seconds = None, end.call_id, None
    audit.http_status = audit.error_type = audit.metadata = None
    yield audit


def _is_over_budget(payload: _Payload, error: ErrorFields) -> bool:
    """Whether the gateway's own gate refused the request; older versions name only the class."""
    information = mapping_of(payload.error_information)
    return error.type == _BUDGET_ERROR or bool(information.get("error_budget_entity_type"))


def _budget(payload: _Payload, end: Event) -> Event:
    information = mapping_of(payload.error_information)
    said = _AMOUNTS.search(text_of(information.get("error_message")) or end.error_message or "")
    used, limit = (float(said[1]), float(said[2])) if said else (None, None)
    audit = msgspec.structs.replace(end, event_type="audit", operation="budget")
    audit.call_id, audit.parent_id, audit.duration_seconds = None, end.call_id, None
    audit.error_class = "budget"
    facts = {
        "entity": text_of(information.get("error_budget_entity_type")),
        "budget_limit": amount_of(information.get("error_budget_limit")) or limit,
        "used": amount_of(information.get("error_budget_spend")) or used,
    }
    audit.metadata = {name: value for name, value in facts.items() if value is not None}
    return audit


DIALECT = Dialect(
    name="litellm_payload",
    framework="litellm",
    recognise=recognise,
    decoder=PayloadDecoder,
    disorder_seconds=5.0,  # requests are written when they end
    is_unique=True,
    description="LiteLLM StandardLoggingPayload: litellm_call_id, call_type, status, startTime",
    written_by=(
        "LiteLLM's logging to S3 or GCS, or a callback that writes `standard_logging_object`"
    ),
)
