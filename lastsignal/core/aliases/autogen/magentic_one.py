"""Magentic-One's log: what the orchestrator thinks and says, and what model calls used.

One file holds run after run; a run begins when the user speaks. The orchestrator's ledger says in
so many words whether the team is going round in circles.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at, count_of, limit_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.events import Event, EventType
from lastsignal.core.timestamps import time_of

_TYPES = frozenset({"OrchestrationEvent", "LLMCallEvent"})
_USER = "UserProxy"
LEDGER = "Updated Ledger:"
_LIMIT = re.compile(r"Max (rounds|time) \((\d{1,9}(?:\.\d+)?)s?\) reached")
_SCRIPT = re.compile(
    r"The script ran(?: but produced no output to console\. The Unix exit code was"
    r"|, then exited with Unix exit code): (-?\d{1,9})"
)
_NO_LEDGER = "Failed to parse ledger information"
"""The answer of the model that the orchestrator asks was no JSON."""
_LIMIT_NAMES = {"rounds": "turn_limit", "time": "time_limit"}


class _Line(msgspec.Struct, gc=False):
    type: str
    timestamp: Any = None
    source: Any = None
    message: Any = None
    prompt_tokens: Any = None
    completion_tokens: Any = None


class MagenticState(msgspec.Struct):
    """What later lines depend on."""

    runs: int = 0
    is_open: bool = False
    awaits_user: bool = False
    """The user was asked: what comes next from there is no new task."""
    is_in_loop: bool = False
    """A ledger said so, and none has said since that there is progress."""
    failure: str | None = None
    """The limit or error that ends the run."""


_decode = msgspec.json.Decoder(_Line).decode


def recognise(value: Any) -> bool:
    """A line of the log: its type and its time."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _TYPES
        and "timestamp" in value
        and ("source" in value or "prompt_tokens" in value)
    )


class MagenticOneDecoder:
    """Decodes one run after another."""

    def __init__(self, source: str) -> None:
        self.state = MagenticState()
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return what the line tells of the run; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if line.type not in _TYPES:
            raise NotThisDialect
        if line.type == "LLMCallEvent":
            event = self._event(line, event_type="model_call", status="completed")
            event.operation = "model"  # the log does not say which
            event.input_tokens = count_of(line.prompt_tokens)
            event.output_tokens = count_of(line.completion_tokens)
            return [event]
        return self._orchestration(line, text_of(line.source) or "", text_of(line.message) or "")

    def _orchestration(self, line: _Line, source: str, message: str) -> Decoded:
        if source == _USER:
            return self._user(line)
        if source.endswith("(termination condition)"):
            return self._terminated(line, message)
        if source.endswith("(error)"):
            error = unwrap_error(message.partition(":")[0])  # what follows is what the model wrote
            of_ledger = error.message == _NO_LEDGER
            kind: EventType = "model_call" if of_ledger else leaf_type(error, message)
            failure = self._event(line, event_type=kind)
            failure.operation = failure.agent = "Orchestrator"
            error.write(failure)
            self.state.failure = failure.error_message
            return [failure]
        if source.endswith("(thought)"):
            return self._thought(line, message)
        script = _SCRIPT.match(message) if source == "Executor" else None
        if script is not None:
            return [self._script(line, int(script[1]))]
        return Drop("message")

    def fail(self, agent: str, event_type: EventType, error: ErrorFields) -> list[Event]:
        """Return what raised within an agent, and the end of the run where one is open: a team
        whose message was not handled does not go on."""
        line = _Line("OrchestrationEvent")
        failure = self._event(line, event_type=event_type, operation=agent, agent=agent)
        error.write(failure)
        if not self.state.is_open:
            return [failure]
        end = self._end(line)
        error.write(end)
        return [failure, end]

    def _user(self, line: _Line) -> Decoded:
        state = self.state
        if state.awaits_user and state.is_open:
            state.awaits_user = False
            return Drop("user_input")
        state.runs += 1
        state.is_open, state.awaits_user, state.failure = True, False, None
        state.is_in_loop = False
        start = self._event(line, event_type="agent_start", status="started")
        start.call_id, start.parent_id = f"run-{state.runs}", None
        start.operation = start.agent = "Orchestrator"
        return [start]

    def _terminated(self, line: _Line, message: str) -> Decoded:
        state = self.state
        if not state.is_open:
            return Drop("repeated_end")
        events: list[Event] = []
        limit = _LIMIT.match(message)
        if limit is not None:
            events.append(self._audit(line, _LIMIT_NAMES[limit[1]], message))
            events[0].metadata = {"limit": limit_of(limit[2])}
            state.failure = message
        end = self._end(line)
        end.finish_reason = message.partition("\n")[0][:200] or None
        if state.failure:
            unwrap_error(state.failure).write(end)
        return [*events, end]

    def _end(self, line: _Line) -> Event:
        end = self._event(line, event_type="agent_end", status="completed")
        end.call_id, end.parent_id = f"run-{self.state.runs}", None
        end.operation = end.agent = "Orchestrator"
        self.state.is_open = False
        return end

    def _thought(self, line: _Line, message: str) -> Decoded:
        if message.startswith(f"Next speaker {_USER}"):
            self.state.awaits_user = True
        elif message.startswith("Replan counter exceeded"):
            self.state.failure = message
            return [self._audit(line, "step_limit", message)]
        elif message.startswith("Stalled"):
            return [self._audit(line, "no_progress", message)]
        elif message.startswith(LEDGER):
            return self._ledger(line, message[len(LEDGER) :])
        return Drop("thought")

    def _ledger(self, line: _Line, text: str) -> Decoded:
        ledger = value_of(text.encode("utf-8", "replace"))
        if at(ledger, "is_in_loop", "answer") is True:
            self.state.is_in_loop = True
            return [self._audit(line, "loop", "the orchestrator's ledger says: in a loop")]
        if at(ledger, "is_progress_being_made", "answer") is False:
            return [self._check(line, "no_progress")]  # one such step is no failure
        if self.state.is_in_loop:
            self.state.is_in_loop = False
            return [self._check(line, "loop")]
        return Drop("ledger")

    def _script(self, line: _Line, code: int) -> Event:
        event = self._event(line, event_type="tool_result", status="completed")
        event.operation, event.agent = "code_execution", "Executor"
        if code != 0:
            unwrap_error(f"exit code {code}").write(event)
            event.metadata = {"exit_code": code}
        return event

    def _audit(self, line: _Line, operation: str, message: str) -> Event:
        event = self._event(line, event_type="audit", operation=operation)
        event.agent = "Orchestrator"
        unwrap_error(message).write(event)
        return event

    def _check(self, line: _Line, operation: str) -> Event:
        return self._event(
            line, event_type="audit", operation=operation, status="completed", agent="Orchestrator"
        )

    def _event(self, line: _Line, **fields: Any) -> Event:
        runs, timestamp = self.state.runs, time_of(line.timestamp)
        return Event(
            timestamp=timestamp,
            trace_id=f"{self._source}#{runs}" if runs > 1 else "",
            parent_id=f"run-{runs}" if self.state.is_open else None,
            **fields,
        )


DIALECT = Dialect(
    name="autogen_magentic_one",
    framework="autogen",
    recognise=recognise,
    decoder=MagenticOneDecoder,
    is_unique=True,
    description="Magentic-One log.jsonl: timestamp, type OrchestrationEvent or LLMCallEvent",
    written_by="Magentic-One's log handler, as log.jsonl",
)
