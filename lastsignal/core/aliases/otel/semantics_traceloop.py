"""OpenLLMetry (Traceloop): `traceloop.span.kind` around GenAI names."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.otel import semantics_genai
from lastsignal.core.aliases.otel.readings import Kind, Reading, facts, text, value
from lastsignal.core.aliases.otel.spans import Span

_PROPERTIES = "traceloop.association.properties."

READS = frozenset(
    {
        "traceloop.entity.input", "traceloop.entity.name", "traceloop.entity.output",
        "traceloop.span.kind", "traceloop.workflow.name",
        _PROPERTIES + "langgraph_node", _PROPERTIES + "langgraph_step",
        _PROPERTIES + "ls_integration", _PROPERTIES + "thread_id", _PROPERTIES + "session_id",
    }
)  # fmt: skip

_KINDS: dict[str, Kind] = {
    "agent": "agent",
    "tool": "tool",
    "retriever": "tool",
    "embedding": "model",
    "llm": "model",
    "task": "chain",
}
_MAX_ENVELOPE = 65_536


def read(span: Span) -> Reading | None:
    """Return what the span was, None where OpenLLMetry did not write it."""
    attributes = span.attributes
    kind = text(attributes, "traceloop.span.kind")
    if kind is None:
        if READS.isdisjoint(attributes):
            return None
        # The span processor puts its properties on every span of the process, HTTP calls too.
        return _completed(span, semantics_genai.read(span) or Reading(kind="other"))
    name = text(attributes, "traceloop.entity.name") or span.name
    if kind == "workflow":
        # The instrumentation puts `invoke_agent` around a graph's own workflow span: one run, and
        # its outermost span is the one that has no parent.
        known: Kind = "chain" if span.parent_id else "agent"
    else:
        known = _KINDS.get(kind.lower(), "chain")
    if known == "tool":
        return _completed(span, _tool(span, name))
    if known == "model":
        return _completed(span, semantics_genai.read_model(span))
    return _completed(
        span, Reading(kind=known, operation=name, agent=name if known == "agent" else None)
    )


def _tool(span: Span, name: str) -> Reading:
    found = semantics_genai.read_tool(span)
    attributes = span.attributes
    return msgspec.structs.replace(
        found,
        operation=text(attributes, "gen_ai.tool.name") or name,
        arguments=_arguments(found.arguments or attributes.get("traceloop.entity.input")),
        output=found.output or value(attributes, "traceloop.entity.output"),
    )


def _arguments(envelope: Any) -> Any:
    """Return the arguments alone: the envelope also holds the graph's step, different each time."""
    if not isinstance(envelope, str) or len(envelope) > _MAX_ENVELOPE:
        return envelope
    try:
        parsed = msgspec.json.decode(envelope)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return envelope
    if isinstance(parsed, dict):
        for key in ("input_str", "inputs"):
            if parsed.get(key):
                return parsed[key]
    return parsed


def _completed(span: Span, found: Reading) -> Reading:
    attributes = span.attributes
    added = facts(
        attributes,
        session_id=_PROPERTIES + "thread_id",
        node=_PROPERTIES + "langgraph_node",
        step=_PROPERTIES + "langgraph_step",
    )
    integration = text(attributes, _PROPERTIES + "ls_integration") or ""
    framework = found.framework
    if "node" in added or integration == "langgraph":
        framework = "langgraph"
    elif integration.startswith("langchain"):
        framework = "langchain"
    return msgspec.structs.replace(found, framework=framework, metadata=found.metadata | added)
