"""What one rule file says, as written: its keys and their types."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lastsignal.core.durations import Duration
from lastsignal.core.rules.windows import AnyWindow

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
Maturity = Literal["experimental", "stable", "deprecated"]

Scalar = str | int | float | bool


class RuleCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One inline test: events with relative times, and the findings that they must give."""

    name: str
    events: list[dict[str, Any]]
    expect: list[dict[str, Any]] = []
    ends: bool = True
    """Whether the trace ends after the last event (silence is then judged)."""
    advance: Duration | None = None
    """How far the source's clock goes on after the last event, before the end."""


class RuleText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file as written, before its conditions and templates are compiled."""

    id: str
    """Lower_snake, the name of the file, stable for ever: metrics and silences refer to it."""
    title: str
    """A few words that name the trouble."""
    status: Maturity
    """`stable` rules have three firing and three quiet tests at least."""
    superseded_by: str | None = None
    """The rule that takes the place of a deprecated one."""
    severity: Severity
    """How bad it is where the run did not recover; recovered runs show one step less."""
    category: str
    """The failure category of the strands / Bedrock AgentCore taxonomy, or one of your own."""
    also: dict[str, str] = {}
    """Names in other taxonomies, such as MAST and TRAIL."""
    description: str
    """One sentence that begins with "Detects"."""
    summary: str | None = None
    """The finding in one line, with placeholders; the title where it is left out."""
    cause: str
    """Why it happens, with placeholders for what the events say."""
    remedy: str
    """What to do, step by step."""
    false_positives: list[str]
    """When it fires although nothing is wrong; `[Unlikely]` where none is known."""
    references: list[str] = []
    """Links to what backs the rule."""
    params: dict[str, Scalar] = {}
    """Values that `$name` stands for, and that overrides may change."""
    where: dict[str, Any] = {}
    """Which events count."""
    window: AnyWindow
    """How many of them, in which order and time, make a finding."""
    explains: list[str] = []
    """Rules whose findings are symptoms where this one has fired."""
    tests: list[RuleCase]
    """Events and the findings that they must give."""
