"""What the records of a source leave unnamed: the trace of an event, and the model of a call."""

from __future__ import annotations

from lastsignal.core.aliases.session_runs import remember
from lastsignal.core.events import Event

UNNAMED_MODELS = frozenset({"model", "claude", "codex", "gemini", "qwen"})
"""What layouts call a model whose name has not come yet, or does not stand beside its error."""


class UnnamedTraces:
    """Names the traces of one source's events.

    Frameworks that share a source are runs of their own where they say that a run begins; what only
    tells of calls belongs to the run that is there.

    Args:
        source: names the trace of the first framework that needs one.
    """

    def __init__(self, source: str) -> None:
        self.known: dict[str, str] = {}
        """Framework → its trace; all that must survive a restart."""
        self._source = source
        self._numbered = f"{source}#"

    def name(self, event: Event) -> None:
        """Give an event its trace, unless it names one that is not made of the source's name."""
        if event.trace_id and not event.trace_id.startswith(self._numbered):
            return
        framework = event.framework or ""
        trace = self.known.get(framework)
        if trace is None:
            trace = next(reversed(self.known.values()), self._source)
            if self.known and event.event_type == "agent_start":
                trace = f"{self._numbered}{framework}"
            self.known[framework] = trace
        event.trace_id = trace + event.trace_id.removeprefix(self._source)


class UnnamedModels:
    """Lets a call that goes well be known as the one that had failed before it.

    A client that tries again says of its failures only what was asked (`claude`), and names the
    model with the answer. The two are one operation: else the failures would never be over.
    """

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        """Trace and agent → what failed there; all that must survive a restart."""

    def name(self, event: Event) -> None:
        """Give an answer the operation of the unnamed call that it is the answer to, if any."""
        operation = event.operation
        if event.model is None:
            if operation in UNNAMED_MODELS and _tells_of_failure(event):
                remember(self.known, _whose(event), operation)
        elif self.known and event.event_type == "model_call" and operation == event.model:
            if event.status == "started":
                event.operation = self.known.get(_whose(event), operation)
            elif event.status == "completed":
                event.operation = self.known.pop(_whose(event), operation)


def _tells_of_failure(event: Event) -> bool:
    return event.event_type == "retry" or (
        event.event_type == "model_call" and event.status == "failed"
    )


def _whose(event: Event) -> str:
    return f"{event.trace_id}\0{event.agent or ''}"
