"""OpenCode's bus: plugin logs of `["event", …]` arrays, and the bare events of its server.

A session is busy while it works on a prompt and idle after it: that is a run. Sub-agents have
sessions of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect, holds
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import attempt_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.opencode.envelopes import event_in, is_bus_type, recognise
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
from lastsignal.core.aliases.session_runs import Run, remember, replace
from lastsignal.core.events import UNTIMED, Event
from lastsignal.core.timestamps import parse_timestamp

_ABSENT = msgspec.Raw(b"")


class _Properties(msgspec.Struct, gc=False):
    sessionID: Any = None
    info: msgspec.Raw = _ABSENT
    part: msgspec.Raw = _ABSENT
    status: Any = None
    error: Any = None
    time: Any = None
    reply: Any = None
    response: Any = None


class BusState(msgspec.Struct):
    """What must survive a restart to read the next record."""

    open_runs: dict[str, float] = {}
    agents: dict[str, str] = {}
    models: dict[str, str] = {}
    messages: dict[str, bool] = {}
    """Messages whose call of the model is told."""
    tools: ToolCalls = msgspec.field(default_factory=ToolCalls)
    failures: dict[str, ErrorFields] = {}
    """What went wrong in a session's open run; told once, by whichever record comes first."""
    attempts: dict[str, int] = {}
    """A session's latest retry: told by its status, and again by a part."""
    session: str = ""
    """The session of the latest record: an error may name none."""
    clock: float = UNTIMED
    """The latest time in any record: those of a session's status carry none."""


_decode_properties = msgspec.json.Decoder(_Properties).decode
_DAMAGE = (msgspec.MsgspecError, UnicodeError, RecursionError)


class BusDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: BusState = BusState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        event = event_in(record)
        if isinstance(event, Drop):
            return event
        kind = event.type
        if not is_bus_type(kind) or bytes(event.properties)[:1] != b"{":
            raise NotThisDialect
        try:
            properties = _decode_properties(event.properties)
        except _DAMAGE:
            return Drop("malformed_record")
        info = mapping_of(value_of(properties.info))
        part = part_of(properties.part)
        moment = _time_in(properties, info)
        if moment is not None:
            self.state.clock = moment
        decoded = self._read(kind, properties, info, part)
        is_known = moment is None and self.state.clock == self.state.clock
        if is_known and isinstance(decoded, list):
            for told in decoded:
                told.timestamp_source = "inherited"
        return decoded

    def _read(
        self, kind: str, properties: _Properties, info: Mapping[str, Any], part: Part | None
    ) -> Decoded:
        session = (
            text_of(properties.sessionID)
            or text_of(info.get("sessionID"))
            or (text_of(part.sessionID) if part else None)
            or self.state.session
        )
        if kind.startswith("message.") and session:
            self.state.session = session
        agent = self.state.agents.get(session) or AGENT
        run = Run(session, session or "session", None, agent, self.state.clock)
        if kind == "message.updated":
            return self._message(run, info) or Drop("message")
        if kind == "message.part.updated" and part is not None:
            return self._part(run, part) or Drop("message_part")
        if kind == "session.status":
            return self._status(run, mapping_of(properties.status)) or Drop("session_status")
        if kind == "session.idle":
            return self._idle(run) or Drop("session_status")
        if kind == "session.error":
            return self._failed(run, error_of(properties.error)) or Drop("repeated_error")
        if kind == "session.compacted":
            return [run.event(event_type="audit", operation="compaction", status="completed")]
        if kind == "permission.replied" and "reject" in (properties.reply, properties.response):
            return [run.event(event_type="audit", operation="permission", status="aborted")]
        return Drop("bus_event")

    def _message(self, run: Run, info: Mapping[str, Any]) -> list[Event]:
        state = self.state
        agent = text_of(info.get("agent")) or text_of(info.get("mode"))
        if agent:
            replace(state.agents, run.trace_id, agent)
        if info.get("role") != "assistant":
            return []
        model = text_of(info.get("modelID"))
        if model:
            replace(state.models, run.trace_id, model)
        times = mapping_of(info.get("time"))
        created = parse_timestamp(times.get("created"))
        completed = parse_timestamp(times.get("completed"))
        latest = completed if completed is not None else created
        run = Run(
            run.trace_id, run.run_id, None, agent or run.agent, run.at if latest is None else latest
        )
        message = text_of(info.get("id"))
        key = f"{run.trace_id}/{message}"
        if _has_failed(info):
            if not remember(state.messages, key, True):
                return []
            return self._failed(run, error_of(info["error"]), message)
        if completed is None or not remember(state.messages, key, True):
            return []
        state.attempts.pop(run.trace_id, None)
        call = run.event(
            event_type="model_call",
            status="completed",
            operation=model or UNNAMED_MODEL,
            model=model,
            call_id=message,
            finish_reason=text_of(info.get("finish")),
            **usage(info.get("tokens"), info.get("cost")),
        )
        if created is not None and completed >= created:
            call.duration_seconds = completed - created
        return [call]

    def _part(self, run: Run, part: Part) -> list[Event]:
        if part.type == "tool":
            return tool_events(self.state.tools, run, part)
        if part.type == "retry":
            return self._retry(run, part.attempt, error_of(part.error))
        return []

    def _status(self, run: Run, status: Any) -> list[Event]:
        kind = status.get("type")
        if kind == "busy":
            return self._open(run)
        if kind == "retry":
            error = error_of({"data": {"message": status.get("message")}})
            return self._open(run) + self._retry(run, status.get("attempt"), error)
        return self._idle(run) if kind == "idle" else []

    def _retry(self, run: Run, attempt_value: object, error: ErrorFields) -> list[Event]:
        state = self.state
        attempt = attempt_of(attempt_value)
        if attempt is not None and state.attempts.get(run.trace_id) == attempt:
            return []
        replace(state.attempts, run.trace_id, attempt or 0)
        model = state.models.get(run.trace_id)
        retry = run.event(
            event_type="retry", operation=model or UNNAMED_MODEL, model=model, attempt=attempt
        )
        error.write(retry, "started")
        return [retry]

    def _open(self, run: Run) -> list[Event]:
        events = run.open(self.state.open_runs)
        if events:
            self.state.failures.pop(run.trace_id, None)
            self.state.attempts.pop(run.trace_id, None)
        return events

    def _failed(self, run: Run, error: ErrorFields, message: str | None = None) -> list[Event]:
        """A message's error, and the session's own record of it: one failure."""
        state = self.state
        events = self._open(run)
        if run.trace_id in state.failures:
            return events
        replace(state.failures, run.trace_id, error)
        model = state.models.get(run.trace_id)
        call = run.event(
            event_type="model_call",
            operation=model or UNNAMED_MODEL,
            model=model,
            call_id=message,
        )
        error.write(call, status_of_error(error))
        return [*events, call]

    def _idle(self, run: Run) -> list[Event]:
        error = self.state.failures.pop(run.trace_id, None)
        if error is None:
            return run.close(self.state.open_runs)
        return run.close(self.state.open_runs, status_of_error(error), error)


def _has_failed(info: Mapping[str, Any]) -> bool:
    """Whether a message has an error: beside the end of an answer only in the shape that it has."""
    error = info.get("error")
    return bool(error) and (isinstance(error, Mapping) or not text_of(info.get("finish")))


def _time_in(properties: _Properties, info: Mapping[str, Any]) -> float | None:
    """Return the latest time that a record tells."""
    times = mapping_of(info.get("time"))
    told = (properties.time, times.get("completed"), times.get("updated"), times.get("created"))
    return next((moment for value in told if (moment := parse_timestamp(value)) is not None), None)


DIALECT = Dialect(
    name="opencode_bus",
    framework="opencode",
    recognise=recognise,
    decoder=BusDecoder,
    disorder_seconds=1.0,  # a part's own times are older than the record that sends it
    is_unique=True,
    is_named=holds(b'"time"'),
    description='OpenCode events: ["event", {event}] arrays of a plugin, or bare bus events',
    written_by="OpenCode with a plugin that writes each event to a file",
)
