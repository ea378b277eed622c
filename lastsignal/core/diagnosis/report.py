"""What `diagnose` found, before it takes any format."""

from __future__ import annotations

import msgspec

from lastsignal.core.diagnosis.diagnosis import Diagnosis
from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.rules import SEVERITIES, Severity

SCHEMA_VERSION = "1.1"
"""Of the JSON output: the major number changes when a reader of the old one would break."""


class InputSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One input, and what became of its bytes."""

    source: str
    format: list[str]
    """Dialects by name, in the order in which they were met; empty where nothing was recognised."""
    records: int
    events: int
    skipped: dict[str, int]
    """Records and lines that gave no event, or none that counts, by reason."""
    mended: dict[str, int] = msgspec.field(default_factory=dict)
    """Records that were read though something in them is not as it should be, by reason."""
    first_mended: dict[str, int] = msgspec.field(default_factory=dict)
    """The line of the first one, by reason."""
    advice: str | None = None
    """What to do where nothing could be read."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one `diagnose`."""

    version: str
    """Of the program."""
    inputs: list[InputSummary]
    traces: list[Diagnosis]
    evicted_traces: int = 0
    """Traces given up for their number: their findings are incomplete."""

    def findings(self) -> list[Finding]:
        """Return the findings of all traces."""
        return [finding for trace in self.traces for finding in trace.findings()]

    def events(self) -> int:
        """Return how many events all inputs gave."""
        return sum(one.events for one in self.inputs)

    def worst(self) -> Severity | None:
        """Return the highest severity found, None where nothing was."""
        found = [SEVERITIES.index(finding.severity) for finding in self.findings()]
        return SEVERITIES[max(found)] if found else None
