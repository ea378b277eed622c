"""Vercel AI SDK: `ai.*` attributes; the call to the model is the inner `…do…` span."""

from __future__ import annotations

from lastsignal.core.aliases.otel.readings import (
    Reading,
    count,
    facts,
    model_name,
    text,
    value,
)
from lastsignal.core.aliases.otel.spans import Span

READS = frozenset(
    {
        "ai.model.id", "ai.model.provider", "ai.operationId", "ai.response.finishReason",
        "ai.settings.maxRetries", "ai.telemetry.functionId", "ai.toolCall.args",
        "ai.toolCall.id", "ai.toolCall.name", "ai.toolCall.result", "ai.usage.completionTokens",
        "ai.usage.inputTokens", "ai.usage.outputTokens", "ai.usage.promptTokens",
        "ai.usage.tokens", "gen_ai.request.model", "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens", "gen_ai.usage.prompt_tokens",
        "gen_ai.usage.completion_tokens",
    }
)  # fmt: skip


def read(span: Span) -> Reading | None:
    """Return what the span was, None where the AI SDK did not write it."""
    attributes = span.attributes
    operation = text(attributes, "ai.operationId")
    if operation is None:
        if "ai.toolCall.name" not in attributes:
            return None
        operation = "ai.toolCall"
    function = text(attributes, "ai.telemetry.functionId")
    metadata = facts(
        attributes,
        provider="ai.model.provider",
        function_id="ai.telemetry.functionId",
        tool_call_id="ai.toolCall.id",
        max_retries="ai.settings.maxRetries",
    )
    if operation == "ai.toolCall":
        return Reading(
            kind="tool",
            operation=text(attributes, "ai.toolCall.name") or span.name,
            arguments=value(attributes, "ai.toolCall.args"),
            output=value(attributes, "ai.toolCall.result"),
            framework="vercel_ai",
            metadata=metadata,
        )
    if ".do" in operation:  # ai.generateText.doGenerate, ai.streamText.doStream, ai.embed.doEmbed
        model = model_name(attributes, "ai.model.id", "gen_ai.request.model")
        return Reading(
            kind="model",
            operation=model or operation,
            model=model,
            input_tokens=count(
                attributes,
                "ai.usage.inputTokens",
                "ai.usage.promptTokens",
                "gen_ai.usage.input_tokens",
                "gen_ai.usage.prompt_tokens",
                "ai.usage.tokens",
            ),
            output_tokens=count(
                attributes,
                "ai.usage.outputTokens",
                "ai.usage.completionTokens",
                "gen_ai.usage.output_tokens",
                "gen_ai.usage.completion_tokens",
            ),
            finish_reason=text(attributes, "ai.response.finishReason"),
            repeats=True,  # each attempt at one request is a span of its own
            framework="vercel_ai",
            metadata=metadata,
        )
    return Reading(
        kind="agent",
        operation=function or operation,
        agent=function,
        framework="vercel_ai",
        metadata=metadata,
    )
