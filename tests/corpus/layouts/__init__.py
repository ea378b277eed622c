"""Writers: a story → the records that a framework would have written of it, each with its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from corpus.layouts import (
    claude,
    crewai,
    langchain,
    maslab,
    native,
    openai_agents,
    spans,
)
from corpus.story import Story

Line = tuple[float, dict[str, Any]]


@dataclass(frozen=True)
class Layout:
    """One layout, and what it cannot say."""

    write: Callable[[Story], list[Line]]
    dialect: str
    trace_of: Callable[[Story], str] = lambda story: story.trace
    """What the run is called in this layout."""
    cannot: dict[str, str] = field(default_factory=dict)
    """Failure class, or what one needs → why it is left out."""


_AT_THE_END = {"open calls": "a span is written when it ends: a call that hangs leaves none"}
_CLAUDE = {
    "crashes": "a crash of the client writes no record",
    "open calls": "a session stands open while its user is away: judged by silence, not at its end",
    "empty_answers": "the client itself asks again, and writes no empty message",
}

LAYOUTS: dict[str, Layout] = {
    "native": Layout(native.write, "native"),
    "flat": Layout(native.write_flat, "flat"),
    "otlp": Layout(spans.write_otlp, "otlp", spans.trace_of, _AT_THE_END),
    "openinference": Layout(
        spans.write_openinference,
        "otel_sdk",
        spans.trace_of,
        {**_AT_THE_END, "finish reasons": "OpenInference has no attribute for it"},
    ),
    "langchain": Layout(langchain.write, "langchain_events", langchain.trace_of),
    "claude_transcript": Layout(claude.write, "claude_transcript", cannot=_CLAUDE),
    "maslab": Layout(maslab.write, "maslab_events"),
    "openai_agents": Layout(
        openai_agents.write,
        "openai_agents",
        openai_agents.trace_of,
        {**_AT_THE_END, "finish reasons": "the SDK's spans do not keep it"},
    ),
    "crewai": Layout(
        crewai.write,
        "crewai_event_bus",
        crewai.trace_of,
        {"limits": "a crew at its limit is made to answer: nothing fails"},
    ),
}
