"""OpenTelemetry's own GenAI conventions, old and new, and the frameworks that write them.

Strands and pydantic-ai write these names with additions of their own; their first releases wrote
no `gen_ai.operation.name`, so a span may have to be told by its name.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.fields import status_of
from lastsignal.core.aliases.otel.readings import (
    Attributes,
    Kind,
    Reading,
    Retry,
    count,
    facts,
    is_fact,
    model_name,
    number,
    text,
    value,
)
from lastsignal.core.aliases.otel.spans import Span
from lastsignal.core.events import Status

READS = frozenset(
    {
        "agent.name", "agent_name", "event_loop.cycle_id", "gen_ai.agent.call.id",
        "gen_ai.agent.name",
        "gen_ai.completion.0.finish_reason", "gen_ai.conversation.id", "gen_ai.data_source.id",
        "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model",
        "gen_ai.response.finish_reasons", "gen_ai.response.model", "gen_ai.system",
        "gen_ai.task.status", "gen_ai.tool.call.arguments", "gen_ai.tool.call.id",
        "gen_ai.tool.call.result", "gen_ai.tool.name", "gen_ai.tool.status",
        "gen_ai.usage.completion_tokens", "gen_ai.usage.cost", "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.workflow.name",
        "http.request.resend_count", "llm.request.model", "llm.request.type",
        "llm.response.model", "llm.usage.completion_tokens", "llm.usage.prompt_tokens",
        "operation.cost", "pydantic_ai.tool.retry.attempt",
        "pydantic_ai.tool.retry.cause", "pydantic_ai.tool.retry.max_retries", "session.id",
        "tool.id", "tool.name", "tool.parameters", "tool.result", "tool.status",
        "tool_arguments", "tool_response",
    }
)  # fmt: skip
_MODEL_ATTRIBUTES = (
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.request.model",  # as OpenLLMetry wrote it before there were GenAI names
    "llm.response.model",
)
EVENT_READS = {
    "gen_ai.tool.message": frozenset({"content"}),  # Strands puts a call's arguments here
    "gen_ai.choice": frozenset({"finish_reason", "message"}),  # on a tool's span: its output
}

_KINDS: dict[str, Kind] = {
    "chat": "model",
    "text_completion": "model",
    "completion": "model",
    "generate_content": "model",
    "embeddings": "model",
    "rerank": "model",
    "execute_tool": "tool",
    "retrieval": "tool",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "invoke_workflow": "agent",
}
_OF_PYDANTIC_AI = frozenset(
    {"gen_ai.agent.call.id", "pydantic_ai.tool.retry.attempt", "tool_arguments"}
)
_TOOL_NAMES = ("execute_tool ", "retrieval ", "running tool: ", "Tool: ")
_AGENT_NAMES = ("invoke_agent ", "create_agent ", "invoke_workflow ", "agent run")
_MODEL_NAMES = ("chat ", "text_completion ", "generate_content ", "embeddings ")
_MODEL_ENDS = (".chat", ".completion", ".embeddings", ".rerank")

_FACTS = (  # the first that is there
    ("provider", "gen_ai.provider.name"),
    ("provider", "gen_ai.system"),
    ("session_id", "session.id"),
    ("session_id", "gen_ai.conversation.id"),
    ("cycle_id", "event_loop.cycle_id"),
)

# Programs that name themselves where a model provider's name is expected.
_FRAMEWORKS = {
    "agno": "agno",
    "autogen": "autogen",
    "crewai": "crewai",
    "gcp.vertex.agent": "google_adk",
    "langchain": "langchain",
    "langgraph": "langgraph",
    "llamaindex": "llamaindex",
    "microsoft.agent_framework": "microsoft_agent_framework",
    "semantic_kernel": "semantic_kernel",
    "strands-agents": "strands",
}


def read(span: Span) -> Reading | None:
    """Return what the span was, None where it does not speak of generative AI."""
    attributes = span.attributes
    operation = text(attributes, "gen_ai.operation.name")
    kind = _KINDS.get(operation) if operation else _told_by_name(span)
    if kind is None:
        return _chain(span) if operation or "event_loop.cycle_id" in attributes else None
    if kind == "model":
        return read_model(span)
    return read_tool(span) if kind == "tool" else _agent(span)


def _told_by_name(span: Span) -> Kind | None:
    attributes, name = span.attributes, span.name
    if name.startswith(_AGENT_NAMES):
        return "agent"
    if "gen_ai.tool.name" in attributes or name.startswith(_TOOL_NAMES):
        return "tool"
    if "event_loop.cycle_id" in attributes:
        return None
    if "llm.request.type" in attributes or name in ("call_llm", "Model invoke"):
        return "model"
    system = text(attributes, "gen_ai.system", "gen_ai.provider.name")
    if system and name == text(attributes, "gen_ai.agent.name"):
        return "agent"  # the first Strands named the agent's span after the agent
    known_model = model_name(attributes, *_MODEL_ATTRIBUTES)
    if known_model or (system and name.startswith(_MODEL_NAMES)):
        return "model"
    return None


def read_model(span: Span) -> Reading:
    """Read a model call by the GenAI names."""
    attributes = span.attributes
    model = model_name(attributes, *_MODEL_ATTRIBUTES)
    framework = framework_of(attributes)
    resent = count(attributes, "http.request.resend_count")
    return Reading(
        kind="model",
        operation=model or _bare_name(span.name),
        agent=_agent_name(attributes),
        model=model,
        input_tokens=count(
            attributes,
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.usage.prompt_tokens",
        ),
        output_tokens=count(
            attributes,
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.usage.completion_tokens",
        ),
        cost_usd=number(attributes, "operation.cost", "gen_ai.usage.cost"),
        finish_reason=_finish_reason(span),
        status=_flag(attributes, "gen_ai.task.status"),
        retry=Retry(resent) if resent else None,
        repeats=framework == "strands",
        framework=framework,
        metadata=_facts(attributes),
    )


def read_tool(span: Span) -> Reading:
    """Read a tool call by the GenAI names."""
    attributes = span.attributes
    attempt = count(attributes, "pydantic_ai.tool.retry.attempt")
    limit = count(attributes, "pydantic_ai.tool.retry.max_retries")
    retrieval = text(attributes, "gen_ai.operation.name") == "retrieval"
    return Reading(
        kind="tool",
        operation=text(attributes, "gen_ai.tool.name", "tool.name")
        or (text(attributes, "gen_ai.data_source.id") if retrieval else None)
        or _bare_name(span.name),
        agent=_agent_name(attributes),
        arguments=_arguments(span),
        output=_output(span),
        status=_flag(attributes, "gen_ai.tool.status", "tool.status", "gen_ai.task.status"),
        retry=Retry(attempt, limit, after=True) if attempt else None,
        framework=framework_of(attributes),
        metadata=_facts(attributes)
        | facts(
            attributes,
            tool_call_id="gen_ai.tool.call.id",
            retry_cause="pydantic_ai.tool.retry.cause",
        ),
    )


def _agent(span: Span) -> Reading:
    attributes = span.attributes
    name = _agent_name(attributes)
    return Reading(
        kind="agent",
        operation=text(attributes, "gen_ai.workflow.name") or name or _bare_name(span.name),
        agent=name,
        framework=framework_of(attributes),
        metadata=_facts(attributes),
    )


def _chain(span: Span) -> Reading:
    return Reading(
        kind="chain",
        operation=span.name,
        framework=framework_of(span.attributes),
        metadata=_facts(span.attributes),
    )


def framework_of(attributes: Attributes) -> str | None:
    """Return the framework that the attributes tell of."""
    if not _OF_PYDANTIC_AI.isdisjoint(attributes):
        return "pydantic_ai"
    system = text(attributes, "gen_ai.provider.name", "gen_ai.system")
    return _FRAMEWORKS.get(system) if system else None


def _agent_name(attributes: Attributes) -> str | None:
    return text(attributes, "gen_ai.agent.name", "agent.name", "agent_name")


def _facts(attributes: Attributes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, attribute in _FACTS:
        fact = attributes.get(attribute)
        if fact is not None and name not in found and is_fact(fact):
            found[name] = fact
    return found


def _bare_name(name: str) -> str:
    """`chat gpt-4o` → `gpt-4o`, `Fake.chat` → `Fake`: the same operation in every library."""
    for prefix in (*_TOOL_NAMES, *_AGENT_NAMES, *_MODEL_NAMES):
        if name.startswith(prefix) and len(name) > len(prefix):
            return name[len(prefix) :].strip()
    for suffix in _MODEL_ENDS:
        if name.endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def _flag(attributes: Attributes, *names: str) -> Status | None:
    """Return what a framework's own status says; `running` and the like decide nothing."""
    found = status_of(text(attributes, *names))
    return None if found == "started" else found


def _finish_reason(span: Span) -> str | None:
    reasons = value(
        span.attributes, "gen_ai.response.finish_reasons", "gen_ai.completion.0.finish_reason"
    )
    if isinstance(reasons, str) and reasons.startswith("["):  # Jaeger keeps lists as JSON
        try:
            reasons = msgspec.json.decode(reasons)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return None
    if isinstance(reasons, list):
        reasons = next(iter(reasons), None)
    if isinstance(reasons, str) and reasons:
        return reasons
    return text(_event(span, "gen_ai.choice"), "finish_reason")


def _arguments(span: Span) -> Any:
    found = value(
        span.attributes, "gen_ai.tool.call.arguments", "tool_arguments", "tool.parameters"
    )
    if found is not None:
        return found
    return _event(span, "gen_ai.tool.message").get("content")


def _output(span: Span) -> Any:
    found = value(span.attributes, "gen_ai.tool.call.result", "tool_response", "tool.result")
    return found if found is not None else _event(span, "gen_ai.choice").get("message")


def _event(span: Span, name: str) -> Attributes:
    return next((event.attributes for event in span.events if event.name == name), {})
