"""OpenInference: `openinference.span.kind` and the `llm.*`, `tool.*`, `input.*` names around it."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.otel.readings import (
    Attributes,
    Kind,
    Reading,
    count,
    facts,
    model_name,
    number,
    text,
    value,
)
from lastsignal.core.aliases.otel.spans import Span

READS = frozenset(
    {
        "agent.name", "embedding.model_name", "input.value", "llm.cost.total", "llm.finish_reason",
        "llm.model_name", "llm.provider", "llm.request.model_name", "llm.system",
        "llm.token_count.completion", "llm.token_count.prompt", "metadata",
        "openinference.span.kind", "output.value", "reranker.model_name", "session.id",
        "tool.name", "tool.parameters", "tool_call.id",
    }
)  # fmt: skip

_KINDS: dict[str, Kind] = {
    "TOOL": "tool",
    "RETRIEVER": "tool",
    "LLM": "model",
    "EMBEDDING": "model",
    "RERANKER": "model",
    "AGENT": "agent",
    "GUARDRAIL": "audit",
}
_MAX_METADATA = 65_536


def read(span: Span) -> Reading | None:
    """Return what the span was, None where OpenInference did not write it."""
    attributes = span.attributes
    named = text(attributes, "openinference.span.kind")
    if named is None:
        return None
    kind = _KINDS.get(named.upper(), "chain")
    notes = _metadata(attributes)
    framework = _framework(notes)
    if kind == "agent" and notes.get("langgraph_node") == span.name:
        kind = "chain"  # a graph's node is called an agent for its name alone
    elif kind == "chain" and span.parent_id is None:
        kind = "agent"  # the run itself, e.g. a whole graph
    metadata = _facts(attributes, notes)
    if kind == "model":
        return _model(span, framework, metadata)
    if kind == "tool":
        return _tool(span, framework, metadata)
    name = text(attributes, "agent.name") or span.name
    return Reading(
        kind=kind,
        operation="guardrail" if kind == "audit" else name,
        agent=name if kind == "agent" else None,
        # A guardrail that lets the request pass has nothing to report.
        status="failed" if kind == "audit" and span.status == "error" else None,
        framework=framework,
        metadata=metadata | ({"guardrail": span.name} if kind == "audit" else {}),
    )


def _model(span: Span, framework: str, metadata: dict[str, Any]) -> Reading:
    attributes = span.attributes
    model = model_name(
        attributes,
        "llm.model_name",
        "llm.request.model_name",
        "embedding.model_name",
        "reranker.model_name",
    )
    return Reading(
        kind="model",
        operation=model or span.name,
        model=model,
        input_tokens=count(attributes, "llm.token_count.prompt"),
        output_tokens=count(attributes, "llm.token_count.completion"),
        cost_usd=number(attributes, "llm.cost.total"),
        finish_reason=text(attributes, "llm.finish_reason"),
        framework=framework,
        metadata=metadata,
    )


def _tool(span: Span, framework: str, metadata: dict[str, Any]) -> Reading:
    attributes = span.attributes
    retrieves = text(attributes, "openinference.span.kind") == "RETRIEVER"
    return Reading(
        kind="tool",
        operation=text(attributes, "tool.name") or span.name,
        arguments=value(attributes, "input.value", "tool.parameters"),
        # What a retriever finds is content, whatever it begins with.
        output=None if retrieves else value(attributes, "output.value"),
        framework=framework,
        metadata=metadata | facts(attributes, tool_call_id="tool_call.id"),
    )


def _framework(notes: dict[str, Any]) -> str:
    integration = notes.get("ls_integration")
    if "langgraph_node" in notes or integration == "langgraph":
        return "langgraph"
    return "langchain" if isinstance(integration, str) else "openinference"


def _metadata(attributes: Attributes) -> dict[str, Any]:
    notes = attributes.get("metadata")
    if not isinstance(notes, str) or len(notes) > _MAX_METADATA:
        return {}
    try:
        parsed = msgspec.json.decode(notes)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _facts(attributes: Attributes, notes: dict[str, Any]) -> dict[str, Any]:
    return facts(attributes, provider="llm.provider", session_id="session.id") | facts(
        notes, node="langgraph_node", step="langgraph_step"
    )
