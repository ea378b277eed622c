"""The state of a Codex session, and the runs, calls and ends that its records open and close."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.codex.outputs import Judgement
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import count_of
from lastsignal.core.aliases.session_runs import close_run, open_run, remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status

AGENT = "codex"
SUMS = ("input_tokens", "output_tokens", "cached_input_tokens")
"""What a usage record tells of a thread."""
_PAUSE = 0.5  # seconds: copies are written faster than any model answers


class SessionState(msgspec.Struct):
    """What must survive a restart to read a session's next record."""

    session: str = ""
    started_at: float = 0.0
    forked: bool = False
    """It goes on with another session, and its rollout begins with copies of that one's."""
    copied_at: float | None = None
    """When the latest record was written, while those at its beginning come in one go."""
    agent: str = AGENT
    model: str | None = None
    open_runs: dict[str, float] = msgspec.field(default_factory=dict)
    open_calls: dict[str, str] = msgspec.field(default_factory=dict)
    ended_calls: dict[str, bool] = msgspec.field(default_factory=dict)
    """Calls whose end is told: newer rollouts tell it by an event and by an output."""
    says_turns: bool = False
    """Has this session marked a turn's start? Then an answer does not close the turn."""
    total_tokens: int = -1
    """The session's total at the last usage record, which is repeated for each limit."""
    total_input: int = 0
    total_output: int = 0
    """The sums of that record: where only sums are told, what a call used is the difference."""
    total_cached: int = 0
    limit_reached: str | None = None
    failed: bool = False
    """The open turn's failing call has a record of its own."""
    turn: int = 0
    """`codex exec` numbers its items anew in each process of a resumed thread."""
    left: dict[str, tuple[int, int, int, int]] = msgspec.field(default_factory=dict)
    """Threads of `codex exec` that another one came after → their turns and sums up to then."""


class Session:
    """Makes the events of one source's sessions; all that it keeps is in `state`."""

    def __init__(self) -> None:
        self.state: SessionState = SessionState()

    def event(self, at: float, **fields: Any) -> Event:
        """Make an event of a call inside the open turn."""
        state = self.state
        return Event(
            timestamp=at, trace_id=state.session, agent=state.agent, parent_id=self.run_id, **fields
        )

    def is_copy(self, at: float) -> bool:
        """Whether a record at this time was copied from the session that this one was forked from.

        Some versions keep its time. Others give it that of the copying, which is done in one go:
        the first of its own comes when a user, or a model, has answered.
        """
        state = self.state
        if not state.forked:
            state.copied_at = None
            return False
        if at < state.started_at:
            return True
        if not self.is_in_one_go(at):
            state.copied_at = None
            return False
        state.copied_at = at
        return True

    def is_in_one_go(self, at: float) -> bool:
        """Whether a record at this time was written together with the session's header, and all in
        between."""
        before = self.state.copied_at
        return before is not None and 0 <= at - before < _PAUSE

    def grown(self, sums: Mapping[str, Any]) -> dict[str, int | None]:
        """Return by how much a thread's sums have grown since those before, and keep them."""
        state = self.state
        asked, answered, cached = (count_of(sums.get(name)) for name in SUMS)
        before = state.total_input, state.total_output, state.total_cached
        if (asked or 0) < before[0] or (answered or 0) < before[1]:
            before = 0, 0, 0  # they have begun anew, all of them
        state.total_input, state.total_output = asked or 0, answered or 0
        state.total_cached = cached or 0
        now = asked, answered, cached
        return {
            name: None if total is None else max(0, total - told)
            for name, total, told in zip(SUMS, now, before, strict=True)
        }

    @property
    def run_id(self) -> str:
        """The run's id: a session has one turn at a time."""
        return self.state.session or "session"

    def open(self, at: float) -> list[Event]:
        """Open the turn where it is not open."""
        state = self.state
        start = self._boundary(at, event_type="agent_start", status="started", model=state.model)
        events = open_run(state.open_runs, start)
        if events:
            state.failed = False
        return events

    def close(
        self,
        at: float,
        status: Status,
        error: ErrorFields | None = None,
        seconds: float | None = None,
        is_contradicted: bool = False,
    ) -> list[Event]:
        """Close the turn where it is open; calls without an end go down with an aborted one."""
        state = self.state
        events: list[Event] = []
        if status == "aborted":
            events = [
                self.event(
                    at,
                    event_type="tool_result",
                    status="aborted",
                    operation=name or None,
                    call_id=call,
                )
                for call, name in state.open_calls.items()
            ]
        state.open_calls.clear()
        error = error or ErrorFields()
        end = self._boundary(
            at,
            event_type="agent_end",
            status=status,
            error_message=error.message,
            error_type=error.type,
            http_status=error.http_status,
            duration_seconds=seconds,
        )
        if is_contradicted:
            contradict(end)
        return events + close_run(state.open_runs, end)

    def call(
        self, at: float, call_id: str | None, name: str | None, arguments: object
    ) -> list[Event]:
        """Start a tool call."""
        if call_id and not remember(self.state.open_calls, call_id, name or ""):
            return []
        return [
            *self.open(at),
            self.event(
                at,
                event_type="tool_call",
                status="started",
                operation=name,
                call_id=call_id,
                arguments_hash=hash_arguments(arguments),
            ),
        ]

    def result(self, at: float, call_id: str | None, judged: Judgement) -> list[Event]:
        """End a tool call, once."""
        state = self.state
        if call_id and not remember(state.ended_calls, call_id, True):
            return []
        name = state.open_calls.pop(call_id or "", None)
        return [
            self.event(
                at,
                event_type="tool_result",
                status=judged.status,
                operation=name or None,
                call_id=call_id,
                error_message=judged.error.message,
                error_type=judged.error.type,
                http_status=judged.error.http_status,
                error_class=judged.error_class,
                duration_seconds=judged.seconds,
                metadata=None if judged.exit_code is None else {"exit_code": judged.exit_code},
            )
        ]

    def failed_call(self, at: float, error: ErrorFields, **fields: Any) -> list[Event]:
        """A model call that was given up, once a turn."""
        if self.state.failed:
            return []
        events = self.open(at)
        self.state.failed = True
        return [
            *events,
            self.event(
                at,
                event_type="model_call",
                status="failed",
                operation=self.state.model or AGENT,
                model=self.state.model,
                error_message=error.message,
                error_type=error.type,
                http_status=error.http_status,
                **fields,
            ),
        ]

    def _boundary(self, at: float, **fields: Any) -> Event:
        state = self.state
        return Event(
            timestamp=at,
            trace_id=state.session,
            agent=state.agent,
            operation=state.agent,
            call_id=self.run_id,
            **fields,
        )
