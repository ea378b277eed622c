"""Google ADK: `gcp.vertex.agent.*` beside GenAI names; older spans are told by their name."""

from __future__ import annotations

import msgspec

from lastsignal.core.aliases.otel import semantics_genai
from lastsignal.core.aliases.otel.readings import Reading, facts, text, value
from lastsignal.core.aliases.otel.spans import Span

_PREFIX = "gcp.vertex.agent."
READS = frozenset(
    {
        _PREFIX + "invocation_id", _PREFIX + "session_id", _PREFIX + "tool_call_args",
        _PREFIX + "tool_response", _PREFIX + "event_id",
    }
)  # fmt: skip


def read(span: Span) -> Reading | None:
    """Return what the span was, None where ADK did not write it."""
    attributes = span.attributes
    if span.scope != "gcp.vertex.agent" and READS.isdisjoint(attributes):
        return None
    if span.name.startswith("agent_run"):  # what `invoke_agent` was called before
        name = span.name.removeprefix("agent_run").strip(" []") or span.name
        found = Reading(kind="agent", operation=name, agent=name)
    elif span.name == "execute_tool (merged)":  # parallel calls once more, all together
        found = Reading(kind="chain", operation=span.name)
    else:
        read_before = semantics_genai.read(span)
        found = read_before or Reading(kind="chain", operation=span.name)
    if found.kind == "tool":
        found = msgspec.structs.replace(
            found,
            arguments=value(attributes, _PREFIX + "tool_call_args") or found.arguments,
            output=value(attributes, _PREFIX + "tool_response") or found.output,
        )
    return msgspec.structs.replace(
        found,
        framework="google_adk",
        # A chain without a parent is the invocation: the run itself.
        kind="agent" if found.kind == "chain" and _is_run(span) else found.kind,
        agent=found.agent or text(attributes, "gen_ai.agent.name"),
        metadata=facts(attributes, invocation_id=_PREFIX + "invocation_id") | found.metadata,
    )


def _is_run(span: Span) -> bool:
    return span.parent_id is None and span.name == "invocation"
