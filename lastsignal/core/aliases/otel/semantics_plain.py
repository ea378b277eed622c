"""Hand-made instrumentation that follows no convention, where it still names its agent."""

from __future__ import annotations

from lastsignal.core.aliases.otel.readings import Reading, text
from lastsignal.core.aliases.otel.spans import Span

READS = frozenset({"agent", "agent_name"})


def read(span: Span) -> Reading | None:
    """Return an agent's span that notes `Agent …` events, None for any other."""
    name = text(span.attributes, "agent", "agent_name")
    if name is None or not any(event.name.lower().startswith("agent") for event in span.events):
        return None
    return Reading(kind="agent", operation=name, agent=name)
