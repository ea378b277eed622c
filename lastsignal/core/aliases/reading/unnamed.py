"""The traces of events that name none: the source's own, or one for each framework within it."""

from __future__ import annotations

from lastsignal.core.events import Event


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
