"""The telemetry plugin of OpenClaw: agents, tools and messages, each by its session's key.

An agent's start may come twice and an end without any start; tools carry no call ids.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import is_crash
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import amount_of, count_of, text_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, replace
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_TYPES = frozenset({"agent.start", "agent.end", "tool.start", "tool.end", "llm.usage"})
_MESSAGES = frozenset({"message.in", "message.out", "message.sending"})
_NO_REASON = "the agent ended without success"


class _Record(msgspec.Struct, gc=False):
    type: Any = None
    sessionKey: Any = None
    agentId: Any = None
    toolName: Any = None
    toolCallId: Any = None
    params: msgspec.Raw = _ABSENT
    success: Any = None
    error: Any = None
    durationMs: Any = None
    provider: Any = None
    model: Any = None
    inputTokens: Any = None
    outputTokens: Any = None
    seq: Any = None
    ts: Any = None


class TelemetryState(msgspec.Struct):
    """What must survive a restart to read the next record."""

    open_runs: dict[str, float] = {}
    failed: dict[str, str] = {}
    """Runs with a failed tool → its error: the agent's may only repeat it."""


_decode_record = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A record of the plugin; only messages lack the session's key."""
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        return False
    if kind in _TYPES:
        return "sessionKey" in value and "ts" in value
    return kind in _MESSAGES and "channel" in value and "ts" in value


class TelemetryDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: TelemetryState = TelemetryState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        kind = line.type
        if not isinstance(kind, str) or line.ts is None:
            raise NotThisDialect
        if kind in _MESSAGES:
            return Drop("message")
        if kind not in _TYPES:
            raise NotThisDialect
        moment = time_of(line.ts)
        session = text_of(line.sessionKey) or ""
        agent = text_of(line.agentId) or "openclaw"
        run = Run(session, session or agent, None, agent, moment)
        events = self._read(line, kind, run)
        for event in events:
            event.sequence = count_of(line.seq)
        return events or Drop("repeated_start")

    def _read(self, line: _Record, kind: str, run: Run) -> list[Event]:
        name, call_id = text_of(line.toolName), text_of(line.toolCallId)
        if kind == "agent.start":
            return run.open(self.state.open_runs)
        if kind == "agent.end":
            return self._end(line, run)
        if kind == "tool.start":
            start = run.event(
                event_type="tool_call", status="started", operation=name, call_id=call_id
            )
            start.arguments_hash = hash_arguments(line.params)
            return [start]
        if kind == "llm.usage":
            return [_usage(line, run)]
        end = run.event(
            event_type="tool_result", status="completed", operation=name, call_id=call_id
        )
        end.duration_seconds = _seconds(line)
        if line.success is False or line.error:
            error = provider_error(text_of(line.error))
            error.write(end)
            replace(self.state.failed, run.run_id, error.message or "")
        return [end]

    def _end(self, line: _Record, run: Run) -> list[Event]:
        told = self.state.failed.pop(run.run_id, None)
        opened = self.state.open_runs.pop(run.run_id, None)
        is_failed = line.success is False or bool(line.error)
        error = provider_error(text_of(line.error)) if is_failed else NO_ERROR
        end = run.boundary(event_type="agent_end", duration_seconds=_seconds(line))
        if is_failed:
            ErrorFields(error.message or _NO_REASON, error.http_status, error.type).write(end)
        else:
            end.status = "completed"
        if end.duration_seconds is None and opened is not None and run.at >= opened:
            end.duration_seconds = run.at - opened
        is_told = told is not None and told == (error.message or "")
        if is_told or line.success is True or not is_crash(error):
            return [end]
        leaf = run.event(event_type=leaf_type(error))
        if leaf.event_type == "model_call":
            leaf.operation = "model"
        error.write(leaf)
        return [leaf, end]


def _usage(line: _Record, run: Run) -> Event:
    model = text_of(line.model)
    return run.event(
        event_type="model_call",
        status="completed",
        operation=model or "model",
        model=model,
        input_tokens=count_of(line.inputTokens),
        output_tokens=count_of(line.outputTokens),
        duration_seconds=_seconds(line),
    )


def _seconds(line: _Record) -> float | None:
    milliseconds = amount_of(line.durationMs)
    return None if milliseconds is None or milliseconds < 0 else milliseconds / 1000.0


DIALECT = Dialect(
    name="openclaw_telemetry",
    framework="openclaw",
    recognise=recognise,
    decoder=TelemetryDecoder,
    is_unique=True,
    description="OpenClaw telemetry plugin: agent.*, tool.* and message.* records",
    written_by="OpenClaw with its telemetry plugin",
)
