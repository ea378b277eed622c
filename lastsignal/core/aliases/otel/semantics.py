"""Which conventions exist, and the order in which a span is offered to them.

One span often follows several at once; the one that says more than plain GenAI names goes first.
"""

from __future__ import annotations

from collections.abc import Callable

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
from lastsignal.core.aliases.otel.readings import Reading
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

READS: frozenset[str] = frozenset().union(
    failures.READS,
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
