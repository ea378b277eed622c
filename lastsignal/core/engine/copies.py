"""Copies of events: what another file of a session has told, or the session that this one goes on.

An agent that goes on with a session in a new file may begin it with the old records, under the
id of the new session. Each counts once, in the trace that was read first. In the other one it
counts nothing; what it leaves open (a call, a run) is open there, too, for what comes next to end.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastsignal.core.digests import digest_of, remember
from lastsignal.core.engine.calls import follow
from lastsignal.core.engine.traces import MAX_TOLD, TraceState
from lastsignal.core.events import WITHIN_TRACE, Event

COPIED = "copied_record"
"""The reason for which a record counts nothing of which all is told elsewhere."""

MAX_OWNED = 200_000
"""Events of which is known what trace tells them; the oldest go first."""


class Copies:
    """Knows the events that have an identity; made anew from the traces after a restart."""

    def __init__(self) -> None:
        self.latest: list[Event] = []
        """The copies among the events that were fed last."""
        self._owners: dict[int, str] = {}  # the trace that an event counts in, by digest

    def adopt(self, trace: TraceState) -> None:
        """Take back what a trace has told."""
        for digest in trace.told:
            self._own(digest, trace)

    def take_over(self, former: Copies) -> None:
        """Go on with what another one knows, which is used up by that."""
        self._owners = former._owners

    def knows(self, event: Event, trace: TraceState) -> bool:
        """Note what an event is; true for a copy, which counts no more than it did.

        Args:
            event: one that has an identity.
            trace: its trace, which counts it already.
        """
        identity = event.identity or ""
        is_local = identity.startswith(WITHIN_TRACE)
        name = trace.trace_id + identity if is_local else identity
        digest = digest_of(name.encode("utf-8", "surrogatepass"))
        owner = None if is_local else self._owners.get(digest)
        if owner is None and remember(trace.told, digest, MAX_TOLD):
            if not is_local:
                self._own(digest, trace)
            if trace.events == 1:  # before it there may have been copies
                trace.started_at = trace.last_at = event.timestamp
            return False
        trace.events -= 1
        if trace.events == 1 and _has_just_begun(event, trace):
            trace.events = 0
        self.latest.append(event)
        if owner is not None and owner != trace.trace_id:
            follow(event, trace)
        return True

    def _own(self, digest: int, trace: TraceState) -> None:
        owners = self._owners
        owners.setdefault(digest, trace.trace_id)
        if len(owners) > MAX_OWNED:
            del owners[next(iter(owners))]


def _has_just_begun(event: Event, trace: TraceState) -> bool:
    """Whether all that a trace tells is that an agent begins, with this very record: where the
    middle of a run was copied, its first record opens it anew."""
    starts = [(mark.source, mark.offset) for mark in trace.open_agents.values()]
    return starts == [(event.source, event.offset)]


def copied_records(copies: Sequence[Event], events: Sequence[Event]) -> int:
    """Return how many records tell nothing but copies.

    Args:
        copies: those among the events.
        events: all of some records.
    """
    if not copies:
        return 0
    known = set(map(id, copies))
    own = {(event.source, event.offset) for event in events if id(event) not in known}
    return len({(event.source, event.offset) for event in copies} - own)
