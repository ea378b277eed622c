"""What `opencode run --format json` prints: steps, tools and errors of one session."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import text_of
from lastsignal.core.aliases.opencode.parts import (
    AGENT,
    UNNAMED_MODEL,
    Part,
    ToolCalls,
    error_of,
    part_of,
    status_of_error,
    tool_events,
    usage,
)
from lastsignal.core.aliases.session_runs import Run, remember
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_TYPES = frozenset({"step_start", "step_finish", "tool_use", "text", "reasoning", "error"})
_CALLS_ON = frozenset({"tool-calls", "tool_calls"})


class _Record(msgspec.Struct, gc=False):
    type: Any = None
    timestamp: Any = None
    sessionID: Any = None
    part: msgspec.Raw = _ABSENT
    error: Any = None


class StreamState(msgspec.Struct):
    """What must survive a restart to read the next record."""

    open_runs: dict[str, float] = {}
    tools: ToolCalls = msgspec.field(default_factory=ToolCalls)
    steps: dict[str, bool] = {}


_decode_record = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A record of the stream: a type of its own, the session, and a part or an error."""
    return (
        isinstance(value, dict)
        and isinstance(kind := value.get("type"), str)
        and kind in _TYPES
        and isinstance(value.get("sessionID"), str)
        and (isinstance(value.get("part"), dict) or (kind == "error" and "error" in value))
    )


class StreamDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: StreamState = StreamState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        session, kind = text_of(line.sessionID), line.type
        if session is None or not isinstance(kind, str) or kind not in _TYPES:
            raise NotThisDialect
        moment = time_of(line.timestamp)
        run = Run(session, session, None, AGENT, moment)
        if kind == "error":
            return self._error(run, line)
        part = part_of(line.part)
        if part is None:
            raise NotThisDialect
        if kind == "step_start":
            return run.open(self.state.open_runs) or Drop("repeated_start")
        if kind == "tool_use":
            return self._tool(run, part) or Drop("repeated_call")
        if kind == "step_finish":
            return self._step(run, part) or Drop("repeated_step")
        return Drop("message_part")

    def _tool(self, run: Run, part: Part) -> list[Event]:
        events = tool_events(self.state.tools, run, part)
        return run.open(self.state.open_runs) + events if events else []

    def _step(self, run: Run, part: Part) -> list[Event]:
        step = text_of(part.id)
        if step and not remember(self.state.steps, step, True):
            return []
        reason = text_of(part.reason)
        events = run.open(self.state.open_runs)
        events.append(
            run.event(
                event_type="model_call",
                status="completed",
                operation=UNNAMED_MODEL,
                call_id=step,
                finish_reason=reason,
                **usage(part.tokens, part.cost),
            )
        )
        if reason not in _CALLS_ON:
            events += run.close(self.state.open_runs)
        return events

    def _error(self, run: Run, line: _Record) -> list[Event]:
        error = error_of(line.error)
        status = status_of_error(error)
        call = run.event(event_type="model_call", operation=UNNAMED_MODEL)
        error.write(call, status)
        return [
            *run.open(self.state.open_runs),
            call,
            *run.close(self.state.open_runs, status, error),
        ]


DIALECT = Dialect(
    name="opencode_run",
    framework="opencode",
    recognise=recognise,
    decoder=StreamDecoder,
    one_at_a_time=True,
    is_unique=True,
    description="opencode run --format json: step_start, tool_use, step_finish, error",
    written_by="`opencode run --format json … > FILE`",
)
