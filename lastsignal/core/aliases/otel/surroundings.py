"""What the spans below a span tell about it.

A span is written when it ends, so children come before their parents: each span leaves a note for
its parent, and the parent's own record is then judged with what happened below it in mind.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.otel.readings import Outcome, Reading
from lastsignal.core.aliases.otel.spans import Span

MAX_NOTES = 10_000
"""Parents still to come, spans already seen, and traces with causes: of each, the latest."""
_MAX_TOOLS = 8
_MAX_CAUSES = 8  # messages of one trace's failures; a wrapper repeats a recent one


USE = ("input_tokens", "output_tokens", "cost_usd")
"""What a reading says of what was used."""


class Below(msgspec.Struct):
    """What happened directly below a span, looking through spans that are no calls."""

    trace: str = ""
    """What the events of those below have for their trace."""
    calls: bool = False
    agents: bool = False
    models: bool = False
    """Model calls, with no other call between."""
    tools: list[str] = []
    """Names of tools called directly below, at most a few."""
    failed: bool = False
    """A failure below was not handled below."""
    recovered: bool = False
    """Another call below succeeded after that failure."""
    failed_models: int = 0
    """Model calls directly below that failed one after another, up to now."""
    failed_at: float = 0.0
    message: str | None = None
    error_type: str | None = None
    http_status: int | None = None
    """Of the latest of those model failures."""
    told: list[str] = []
    """What of `USE` the models' calls below have told, however deep."""
    used: dict[str, float] = {}
    """Of what they have not: what the agents below have told of themselves."""

    def own_use(self, reading: Reading) -> dict[str, float]:
        """Return what a span used by its own sum, of which nothing below has told.

        A sum repeats what the calls below it have told, and says it alone where they have not.
        """
        if reading.kind not in ("agent", "chain"):
            return {}
        grown = {
            name: (getattr(reading, name) or 0) - self.used.get(name, 0)
            for name in USE
            if name not in self.told
        }
        return {name: amount for name, amount in grown.items() if amount > 0}

    def add(self, reading: Reading, outcome: Outcome, below: Below, span: Span) -> None:
        """Note what one of the spans below was, and how it ended."""
        is_call = reading.kind in ("agent", "model", "tool")
        self.calls |= is_call or below.calls
        self.agents |= reading.kind == "agent" or below.agents
        if reading.kind == "model":
            self.models = True
            self._add_attempt(outcome, span)
        elif reading.kind == "tool":
            self.tools = [*self.tools[-_MAX_TOOLS:], reading.operation or ""]
        elif not is_call:
            self.models |= below.models
            self.tools = [*self.tools, *below.tools][-_MAX_TOOLS:]
        self._add_use(reading, below)
        self._add_failure(reading, outcome, below, span)

    def _add_use(self, reading: Reading, below: Below) -> None:
        told = set(self.told) | set(below.told)
        if reading.kind == "model":
            told |= {name for name in USE if getattr(reading, name)}
        self.told = sorted(told)
        for more in (below.used, below.own_use(reading)):
            for name, amount in more.items():
                self.used[name] = self.used.get(name, 0) + amount

    def _add_attempt(self, outcome: Outcome, span: Span) -> None:
        if outcome.status != "failed":
            self.failed_models = 0
            return
        self.failed_models += 1
        self.failed_at = span.end or 0.0
        self.message = outcome.error.message
        self.error_type = outcome.error.type
        self.http_status = outcome.error.http_status

    def _add_failure(self, reading: Reading, outcome: Outcome, below: Below, span: Span) -> None:
        if reading.kind == "other":
            # An HTTP error is no agent's failure; one that comes from below passes through, also
            # where such a span says nothing of it.
            failed = below.failed and (outcome.cause_below or span.status == "unset")
        else:
            failed = outcome.cause_below or outcome.status == "failed"
        if failed:
            self.failed, self.recovered = True, False
        elif outcome.status == "completed" and reading.kind in ("agent", "model", "tool"):
            self.recovered = self.failed

    @property
    def error(self) -> ErrorFields:
        """The latest failure of a model below."""
        return ErrorFields(self.message, self.http_status, self.error_type)


class Surroundings(msgspec.Struct):
    """State of one source: notes for parents, ids already seen, causes by trace."""

    opened: dict[str, None] = {}
    """Spans whose start was told when they were still open: their end does not tell it again."""
    below: dict[str, Below] = {}
    seen: dict[str, None] = {}
    causes: dict[str, list[str]] = {}
    whole: dict[str, None] = {}
    """Traces of which the outermost span has come."""

    def is_new(self, identity: str) -> bool:
        """Note a span; False where the same one was exported before."""
        if identity in self.seen:
            return False
        self.seen[identity] = None
        _bound(self.seen)
        return True

    def is_first_start(self, identity: str) -> bool:
        """Note an open span; False where it was met before, open or ended."""
        if identity in self.opened or identity in self.seen:
            return False
        self.opened[identity] = None
        _bound(self.opened)
        return True

    def has_started(self, identity: str) -> bool:
        """Whether a span that ends has told its start; that is asked once."""
        return self.opened.pop(identity, self) is None

    def take(self, key: str) -> Below:
        """Return, and forget, the notes that its children left for a span."""
        return self.below.pop(key, None) or Below()

    def for_parent(self, key: str, trace: str) -> Below:
        """Return the note that a parent, still to come, will find."""
        note = self.below.get(key)
        if note is None:
            note = self.below[key] = Below(trace)
            _bound(self.below)
        return note

    def is_told_elsewhere(self, trace: str, parent: str) -> bool:
        """Whether calls of a trace have told what they used to spans that have not come, but for
        this parent: they may lie within any span that has."""
        return any(
            note.told for key, note in self.below.items() if note.trace == trace and key != parent
        )

    def note_outermost(self, trace: str) -> None:
        """Remember that nothing of this source encloses what has come of a trace."""
        self.whole[trace] = None
        _bound(self.whole)

    def add_cause(self, trace_id: str, message: str | None) -> None:
        """Remember what a failure said, for the wrappers that will say it again."""
        if not message:
            return
        known = self.causes.setdefault(trace_id, [])
        if message not in known:
            known.append(message)
            del known[:-_MAX_CAUSES]
        _bound(self.causes)

    def is_known_cause(self, trace_id: str, message: str | None) -> bool:
        """Does a wrapper's message repeat, or wrap, one of the trace's failures?"""
        if not message:
            return False
        return any(
            cause == message or (len(cause) >= 12 and cause in message)
            for cause in self.causes.get(trace_id, ())
        )


def _bound(known: dict[str, Any]) -> None:
    if len(known) > MAX_NOTES:
        del known[next(iter(known))]
