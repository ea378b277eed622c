"""mas-lab: `mas.*` attributes and the boundary names that its schema recognises.

Its exporters write one call as several spans with trace ids of their own; what holds a run
together is the session's UUID at the end of `session.id`, and a call is known by `mas.call.id`.
"""

from __future__ import annotations

import re
from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import status_of
from lastsignal.core.aliases.otel.readings import (
    Attributes,
    Kind,
    Reading,
    count,
    facts,
    model_name,
    text,
    value,
)
from lastsignal.core.aliases.otel.spans import Span
from lastsignal.core.events import Status

READS = frozenset(
    {
        "agent_id", "execution.success", "gen_ai.request.model", "ioa_observe.span.kind",
        "mas.agent.id", "mas.boundary", "mas.call.id", "mas.failure.category",
        "mas.failure.reason", "mas.governance.decision_type", "mas.governance.kind",
        "mas.governance.outcome", "mas.governance.policy_id", "mas.governance.policy_name",
        "mas.governance.reason", "mas.llm.finish_reason", "mas.llm.model", "mas.memory.operation",
        "mas.memory.query", "mas.skill.input", "mas.skill.name", "mas.skill.output", "mas.status",
        "mas.tool.arguments", "mas.tool.category", "mas.tool.input", "mas.tool.name",
        "mas.tool.output", "mas.tool.result", "metrics.token.input", "metrics.token.output",
        "session.id",
    }
)  # fmt: skip

_OWN = frozenset(name for name in READS if name.startswith(("mas.", "ioa_observe.")))

_KINDS: dict[str, Kind] = {
    "LLMCall": "model",
    "ToolCall": "tool",
    "SkillExecution": "tool",
    "SkillCall": "tool",
    "RAGQuery": "tool",
    "MemoryCall": "tool",
    "AgentCall": "agent",
    "TaskCall": "agent",
    "MASCall": "agent",
    "GovernanceEvent": "audit",
    "GovernanceDecision": "audit",
    "PolicyDenial": "audit",
    "BudgetEvent": "audit",
    "ProcessingCall": "chain",
    "NetworkCall": "other",
}
_OBSERVED: dict[str, Kind] = {"llm": "model", "tool": "tool", "agent": "agent"}
_UUID_AT_END = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_DENIED = frozenset({"deny", "denied", "block", "blocked", "reject", "rejected", "stop"})


def read(span: Span) -> Reading | None:
    """Return what the span was, None where mas-lab did not write it."""
    attributes = span.attributes
    if _OWN.isdisjoint(attributes):
        return None
    boundary = text(attributes, "mas.boundary") or span.name
    kind = _KINDS.get(boundary)
    if kind is None:
        observed = text(attributes, "ioa_observe.span.kind") or ""
        kind = "chain" if "mas.boundary" in attributes else _OBSERVED.get(observed, "other")
    call = text(attributes, "mas.call.id")
    model = model_name(attributes, "mas.llm.model", "gen_ai.request.model")
    if kind == "audit":
        return _audit(span, attributes)
    return Reading(
        kind=kind,
        operation=_operation(kind, boundary, attributes, model),
        agent=text(attributes, "mas.agent.id", "agent_id"),
        model=model if kind == "model" else None,
        input_tokens=count(attributes, "metrics.token.input"),
        output_tokens=count(attributes, "metrics.token.output"),
        finish_reason=text(attributes, "mas.llm.finish_reason"),
        arguments=value(
            attributes,
            "mas.tool.arguments",
            "mas.tool.input",
            "mas.skill.input",
            "mas.memory.query",
        ),
        output=value(attributes, "mas.tool.result", "mas.tool.output", "mas.skill.output"),
        status=_status(attributes),
        error=ErrorFields(
            message=text(attributes, "mas.failure.reason"),
            type=text(attributes, "mas.failure.category"),
        ),
        framework="mas_lab",
        identity=f"{boundary}/{call}" if call else None,
        trace_id=_session(attributes),
        metadata=facts(attributes, mas_call_id="mas.call.id", tool_category="mas.tool.category"),
    )


def _operation(kind: Kind, boundary: str, attributes: Attributes, model: str | None) -> str | None:
    if kind == "model":
        return model or "llm"  # the span's name is the agent's here
    if kind == "tool":
        memory = text(attributes, "mas.memory.operation")
        return text(attributes, "mas.tool.name", "mas.skill.name") or memory or boundary
    return text(attributes, "mas.agent.id", "agent_id") or boundary


def _status(attributes: Attributes) -> Status | None:
    found = status_of(text(attributes, "mas.status"))
    if found in ("failed", "aborted"):
        return found
    if text(attributes, "execution.success") == "false":
        return "failed"
    return "completed" if found == "completed" else None


def _session(attributes: Attributes) -> str | None:
    found = _UUID_AT_END.search(text(attributes, "session.id") or "")
    return found[0] if found else None


def _audit(span: Span, attributes: Attributes) -> Reading:
    decision = text(attributes, "mas.governance.decision_type", "mas.governance.outcome") or ""
    what = f"{text(attributes, 'mas.governance.kind') or ''} {span.name}".lower()
    denied = decision.lower() in _DENIED or "denial" in what or "denied" in what
    budget = "budget" in what
    status: Status | None = None
    if denied:
        status = "failed" if budget else "aborted"
    metadata: dict[str, Any] = facts(
        attributes,
        decision="mas.governance.decision_type",
        policy="mas.governance.policy_name",
        policy_id="mas.governance.policy_id",
    )
    return Reading(
        kind="audit",
        operation="budget" if budget else "permission",
        agent=text(attributes, "mas.agent.id", "agent_id"),
        status=status,
        error=ErrorFields(message=text(attributes, "mas.governance.reason")),
        framework="mas_lab",
        trace_id=_session(attributes),
        metadata=metadata,
    )
