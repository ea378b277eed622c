"""An ObsEvent as far as it is read, and the state that its decoder keeps."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.fields import text_of
from lastsignal.core.aliases.session_runs import remember, replace

ABSENT = msgspec.Raw(b"")
_MAX_WAITING = 1000


class ObsEvent(msgspec.Struct, gc=False):
    """One line of `events.jsonl`; prompts and messages are not among its fields."""

    kind: Any = None
    agent_id: Any = None
    timestamp: Any = None
    run_id: Any = None
    session_id: Any = None
    call_id: Any = None
    parent_call_id: Any = None
    activity: Any = None
    op: Any = None
    status: Any = None
    error: Any = None
    model: Any = None
    latency_ms: Any = None
    usage: Any = None
    finish_reason: Any = None
    next_step: Any = None
    tool_name: Any = None
    skill_name: Any = None
    arguments: msgspec.Raw = ABSENT
    args: msgspec.Raw = ABSENT
    output: msgspec.Raw = ABSENT
    result: msgspec.Raw = ABSENT
    response: msgspec.Raw = ABSENT
    payload: msgspec.Raw = ABSENT
    message_type: Any = None
    content: msgspec.Raw = ABSENT
    code: Any = None
    recoverable: Any = None
    message: Any = None
    hook: Any = None
    decision: Any = None
    reason: Any = None
    policy_name: Any = None
    policy_id: Any = None
    failure_class: Any = None
    failure_code: Any = None
    retry_attempts: Any = None
    attempt: Any = None
    resolution: Any = None


def parts_of(kind: str) -> tuple[str, str]:
    """Part a kind into what it is about and its moment: start, end or none."""
    base, _, moment = kind.rpartition("_")
    return (base, moment) if moment in ("start", "end") else (kind, "")


def id_of(value: object) -> str | None:
    """Return an id; an empty one and the `<stripped>` of normalised files are none."""
    text = text_of(value)
    return None if text is None or text.startswith("<") else text


def has_no_order(record: ObsEvent) -> bool:
    """Is this of a normalised file? Its lines are sorted, so that ends come before their starts."""
    return isinstance(record.timestamp, str) and record.timestamp.startswith("<")


class RunState(msgspec.Struct):
    """What must survive a restart to read a source's next line."""

    trace_id: str = ""
    """Of the latest line that said one: many lines leave it out."""
    runs: int = 0
    """Runs begun in this source without an id of their own."""
    serial: int = 0
    open_agents: dict[str, str] = msgspec.field(default_factory=dict)
    """Run id → agent, in the order in which they began."""
    parents: dict[str, str] = msgspec.field(default_factory=dict)
    """Run id → the call or run that began it: some ends name themselves as their parent."""
    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Operation by call id."""
    told: dict[str, bool] = msgspec.field(default_factory=dict)
    """Starts and ends already told: the same call is seen by several agents."""
    waiting: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Ids made up for calls without one, until their end comes; first started, first ended."""
    begun_in: dict[str, str] = msgspec.field(default_factory=dict)
    """Run id of an agent → the trace: runs may stand interleaved in one file."""
    leaves_failed: dict[str, bool] = msgspec.field(default_factory=dict)
    """Traces in which a call failed and none has succeeded since."""
    ended_well: str | None = None
    """The trace in which an agent has ended well, and nothing has been called since."""
    failed_below: dict[str, bool] = msgspec.field(default_factory=dict)
    """Calls in which an agent failed: their own error only passes that on."""

    @property
    def leaf_failed(self) -> bool:
        """A call failed and none has succeeded since: an agent's error repeats that failure."""
        return self.leaves_failed.get(self.trace_id, False)

    @leaf_failed.setter
    def leaf_failed(self, has_failed: bool) -> None:
        if has_failed:
            replace(self.leaves_failed, self.trace_id, True)
        else:
            self.leaves_failed.pop(self.trace_id, None)

    def is_new(self, moment: str, call_id: str | None) -> bool:
        """Is this the first record of a call's start or end?"""
        return call_id is None or remember(self.told, f"{moment}/{call_id}", True)

    def delegating_call(self, agent: str) -> str | None:
        """Return the open call without an id of its own that waits for this agent."""
        for key, queue in self.waiting.items():
            if key.startswith("tool_call/") and agent and key.endswith(agent):
                return queue[0]
        return None

    def begin_unnamed(self, key: str) -> str:
        """Make up an id for a call that has none."""
        self.serial += 1
        made_up = f"{key}#{self.serial}"
        if key in self.waiting or len(self.waiting) < _MAX_WAITING:
            queue = self.waiting.setdefault(key, [])
            queue.append(made_up)
            del queue[:-_MAX_WAITING]
        return made_up

    def end_unnamed(self, key: str) -> str | None:
        """Return the id made up for the oldest open call of this key."""
        queue = self.waiting.get(key)
        if not queue:
            return None
        made_up = queue.pop(0)
        if not queue:
            del self.waiting[key]
        return made_up

    def run_of(self, agent: str | None) -> str | None:
        """Return the trace's open run of an agent, else its latest open one."""
        latest = None
        for run_id, name in self.open_agents.items():
            if self.begun_in.get(run_id) != self.trace_id:
                continue
            latest = run_id
            if name == agent:
                return run_id
        return latest
