"""Which conventions exist, and the order in which a span is offered to them.

One span often follows several at once; the one that says more than plain GenAI names goes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lastsignal.core.aliases.otel import (
    failures,
    semantics_adk,
    semantics_genai,
    semantics_maslab,
    semantics_openinference,
    semantics_plain,
    semantics_traceloop,
    semantics_vercel,
)
from lastsignal.core.aliases.otel.readings import Attributes, Reading, count, number
from lastsignal.core.aliases.otel.spans import Span

_CONVENTIONS: tuple[Callable[[Span], Reading | None], ...] = (
    semantics_maslab.read,
    semantics_openinference.read,
    semantics_traceloop.read,
    semantics_vercel.read,
    semantics_adk.read,
    semantics_genai.read,
    semantics_plain.read,
)

_SUMS = {
    "input_tokens": (
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens",
        "gen_ai.aggregated_usage.input_tokens", "ai.usage.inputTokens", "ai.usage.promptTokens",
        "llm.token_count.prompt",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
        "gen_ai.aggregated_usage.output_tokens", "ai.usage.outputTokens",
        "ai.usage.completionTokens", "llm.token_count.completion",
    ),
}  # fmt: skip
_COSTS = ("gen_ai.usage.cost", "operation.cost", "llm.cost.total")
_NAMES_OF_USE = (*_SUMS["input_tokens"], *_SUMS["output_tokens"], *_COSTS)

READS: frozenset[str] = frozenset().union(
    failures.READS,
    _NAMES_OF_USE,
    semantics_maslab.READS,
    semantics_openinference.READS,
    semantics_traceloop.READS,
    semantics_vercel.READS,
    semantics_adk.READS,
    semantics_genai.READS,
    semantics_plain.READS,
)
"""Every attribute that anything here reads: the encodings decode no other."""

EVENT_READS: dict[str, frozenset[str]] = {
    **failures.EVENT_READS,
    **semantics_genai.EVENT_READS,
}
"""The same for a span's events, by the event's name."""

_OTHER = Reading(kind="other")


def read(span: Span) -> Reading:
    """Return what the span was by the first convention that knows it."""
    for convention in _CONVENTIONS:
        found = convention(span)
        if found is not None:
            return found
    return _OTHER


def with_use(reading: Reading, attributes: Attributes) -> Reading:
    """Return the reading of an agent or a step with the sums that its span has, by any convention;
    what a model's call used is part of its reading."""
    is_call = reading.kind in ("model", "tool", "audit")
    if is_call or not any(map(attributes.get, _NAMES_OF_USE)):
        return reading
    tokens = {name: count(attributes, *names) for name, names in _SUMS.items()}
    sums: dict[str, Any] = {**tokens, "cost_usd": number(attributes, *_COSTS)}
    known = {name: amount for name, amount in sums.items() if getattr(reading, name) is None}
    return msgspec.structs.replace(reading, **known)
