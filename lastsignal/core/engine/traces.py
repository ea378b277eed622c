"""What the engine remembers of one trace: totals, open calls, and the groups of its rules."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.events import Event, Status
from lastsignal.core.groups import Group, Mark, Progress

MAX_TIMELINE = 40
MAX_OPEN_CALLS = 1000
MAX_AGENTS = 50
MAX_GROUPS = 2000
MAX_SHARED_GROUPS = 100_000
MAX_TOLD = 10_000
NO_DEADLINE = float("inf")
_TURNING = ("operation", "agent", "error_class", "error_message", "attempt", "arguments_hash")


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    """A call that has started and not ended."""

    timestamp: float
    source: str
    line: int
    offset: int
    event_type: str
    operation: str | None
    arguments_hash: str | None
    agent: str | None
    call_id: str | None
    attempt: int | None
    order: int
    """The trace's event count at the start: tells what came later."""
    implied: bool = False
    """Opened by a retry: its end may carry no record, so its silence proves nothing."""
    reported: list[str] | None = None
    """The rules that have told of its silence."""
    scheduled: bool = False
    """Whether a deadline of its own is set."""
    later: list[OpenCall] | None = None
    """Calls of the same operation that started while this one was open and carry no id either."""
    is_copied: bool = False
    """Started in another trace, which counts it and tells of its silence: it is implied here."""


class TraceState(msgspec.Struct, kw_only=True, gc=False, omit_defaults=True):
    """One run, as far as it has been read; bounded, and serialisable on its own."""

    trace_id: str
    framework: str | None = None
    agents: list[str] = []
    started_at: float
    last_at: float
    timed: bool = True
    """Whether its records carry times; without them only order is known."""
    events: int = 0
    calls: int = 0
    """Model and tool calls, each counted once."""
    failures: int = 0
    """Calls that failed."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    is_priced: bool = False
    """Whether a call has told what it cost: then an agent's end repeats it."""
    seen: int = 0
    """Bit set of the optional fields that its events have carried, see `program.Program`."""
    active: int = 0
    """Bit set of the rules that have a group here which does not rest: spares the resets of all
    others."""
    awake: dict[str, int] = {}
    """How many groups of such a rule do not rest."""
    sweep_at: float = NO_DEADLINE
    """When groups in which nothing counts any more are to be given up next."""
    swept_until: float = -NO_DEADLINE
    """Event time before which another sweep would cost more than it frees."""
    deadline: float = NO_DEADLINE
    """When its open calls are to be judged next."""
    waits: dict[str, tuple[float, str]] = {}
    """What is to be looked at again, by key: when, and by the clock of which source."""
    open_calls: dict[str, OpenCall] = {}
    open_agents: dict[str, Mark] = {}
    root: str | None = None
    """Among the open agents, the one that began while no other ran: the run itself."""
    last_arguments: dict[str, str] = {}
    """Of each operation's latest call: what a retry without arguments of its own repeats."""
    model_order: dict[str, int] = {}
    """By agent, the event count at its latest model call: an agent that thinks has moved on."""
    end_status: Status | None = None
    """Of the agent that ended last."""
    end: Mark | None = None
    crash: Mark | None = None
    stop: Mark | None = None
    """Where a limit ended it."""
    last_call_status: Status | None = None
    failing: dict[str, bool] = {}
    """Operations whose latest call has failed."""
    worked: dict[str, tuple[float, int]] = {}
    """Time and offset of the latest call that went well while another one had failed, by event
    type: the run got on without that one."""
    groups: dict[str, Group] = {}
    told: dict[int, bool] = {}
    """Digests of the identities of its latest events, where these have one."""
    timeline: list[Mark] = []
    evicted: int = 0
    """Groups and open calls given up for their number."""

    @property
    def runs(self) -> bool:
        """Whether it has begun, and said nothing of an end."""
        return self.root is not None and self.root in self.open_agents

    def progress(self) -> Progress:
        """Return how far the trace has come."""
        return Progress(
            self.events, self.calls, self.input_tokens + self.output_tokens, self.cost_usd
        )

    def note(self, event: Event) -> None:
        """Keep a turning point: the first half of the timeline for ever, then the latest."""
        self.timeline.append(mark_of(event, turning_point(event)))
        if len(self.timeline) > MAX_TIMELINE:
            del self.timeline[MAX_TIMELINE // 2]


def new_trace(event: Event) -> TraceState:
    """Return the state of a trace whose first event this is."""
    return TraceState(
        trace_id=event.trace_id,
        framework=event.framework,
        started_at=event.timestamp,
        last_at=event.timestamp,
        timed=event.timestamp_source != "ingest",
    )


def mark_of(event: Event, facts: dict[str, Any] | None = None) -> Mark:
    """Return where an event is, with the facts to quote."""
    return Mark(event.timestamp, event.source, event.line, event.offset, event.event_type, facts)


def turning_point(event: Event) -> dict[str, Any]:
    """Return what the timeline says of an event, and what tells that a call was made again."""
    facts: dict[str, Any] = {"status": event.status}
    for name in _TURNING:
        value = getattr(event, name)
        if value is not None:
            facts[name] = value
    return facts
