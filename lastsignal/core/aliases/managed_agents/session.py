"""Anthropic's managed agents: the events of a session as the SDK records them.

A session is running until it is idle again: that is a run. One that waits for its user, to allow a
call or to answer it, goes on afterwards.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at, count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.managed_agents.records import (
    ClientCall,
    SessionEvent,
    read_record,
    recognise,
)
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, remember, replace
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_TOOL_USES = frozenset({"agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use"})
_TOOL_RESULTS = frozenset({"agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result"})
_FOREIGN_TOOLS = frozenset({"agent.mcp_tool_result", "user.custom_tool_result"})


class ManagedState(msgspec.Struct):
    """What must survive a restart to read the next event."""

    session: str = ""
    agent: str = "agent"
    model: str | None = None
    open_runs: dict[str, float] = {}
    seen: dict[str, bool] = {}
    """Ids of events that are told: a stream that reconnects sends some again."""
    calls: dict[str, str] = {}
    denied: dict[str, bool] = {}
    failed_request: str | None = None
    """A model request that failed: the event after it says why."""
    error: ErrorFields = NO_ERROR
    """The run's last failure."""
    retries: int = 0
    interrupted: bool = False


class ManagedDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: ManagedState = ManagedState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        found = read_record(record)
        if isinstance(found, ClientCall):
            return self._session(found)
        event_id = str(found.id)
        if not remember(self.state.seen, event_id, True):
            return Drop("repeated_event")
        return self._event(found, event_id)

    def _session(self, call: ClientCall) -> Decoded:
        """A call that makes a session, or sends to one."""
        state = self.state
        session = text_of(at(call.value, "id") if call.creates else at(call.value, 0))
        if session and session != state.session:
            self.state = state = ManagedState(session=session)
        if call.creates:
            state.agent = text_of(at(call.value, "agent", "name")) or state.agent
            state.model = text_of(at(call.value, "agent", "model", "id")) or state.model
        return Drop("client_call")

    def _event(self, event: SessionEvent, event_id: str) -> Decoded:
        state = self.state
        kind = event.type if isinstance(event.type, str) else ""
        at_time = time_of(event.processed_at)
        agent = text_of(event.agent_name) or state.agent
        run = Run(state.session, state.session or "session", None, agent, at_time)
        if kind == "session.error":
            return self._error(run, mapping_of(event.error))
        late = self._failed_request(run, NO_ERROR)
        decoded = self._read(run, event, kind, event_id)
        if late and isinstance(decoded, Drop):
            return late
        return decoded if isinstance(decoded, Drop) else late + decoded

    def _read(self, run: Run, event: SessionEvent, kind: str, event_id: str) -> Decoded:
        if kind.startswith("span.model_request"):
            return self._request(run, event, kind, event_id)
        if kind in _TOOL_USES:
            return self._tool_use(run, event, event_id)
        if kind in _TOOL_RESULTS:
            return [self._tool_result(run, event, kind)]
        if kind == "user.tool_confirmation" and event.result == "deny":
            call_id = text_of(event.tool_use_id)
            remember(self.state.denied, call_id or "", True)
            return [
                run.event(
                    event_type="audit",
                    operation="permission",
                    status="aborted",
                    call_id=call_id,
                    metadata={"tool_name": self.state.calls.get(call_id or "")},
                )
            ]
        if kind == "agent.thread_context_compacted":
            return [run.event(event_type="audit", operation="compaction", status="completed")]
        if kind == "user.interrupt":
            self.state.interrupted = bool(self.state.open_runs)
            return Drop("message")
        return self._status(run, event, kind)

    def _status(self, run: Run, event: SessionEvent, kind: str) -> Decoded:
        state = self.state
        if kind == "session.status_running":
            events = run.open(state.open_runs, model=state.model)
            if events:
                state.error, state.retries, state.interrupted = NO_ERROR, 0, False
            return events or Drop("session_status")
        if kind == "session.status_idle":
            reason = text_of(at(event.stop_reason, "type")) or text_of(event.stop_reason)
            if reason == "requires_action":
                return Drop("session_status")
            if reason == "retries_exhausted" and not state.error.message:
                # nothing has failed, and what is tried again has
                return _contradicted(run, state.open_runs, reason) or Drop("session_status")
            if reason == "retries_exhausted":
                return self._close_failed(run) or Drop("session_status")
            closed = run.close(state.open_runs, "aborted" if state.interrupted else "completed")
            state.interrupted = False
            return closed or Drop("session_status")
        if kind == "session.status_terminated":
            if event.stop_reason is not None:  # that is of a session which is idle
                return _contradicted(run, state.open_runs, "terminated") or Drop("session_status")
            return self._close_failed(run) or Drop("session_status")
        return Drop("message" if kind.startswith(("agent.", "user.")) else "session_status")

    def _close_failed(self, run: Run) -> list[Event]:
        """Close a run that failed; what failed has an event already, unless nothing told it."""
        state = self.state
        events: list[Event] = []
        if state.open_runs and not state.error.message:
            state.error = ErrorFields("the session was terminated")
            leaf = run.event(event_type="process_error")
            state.error.write(leaf)
            events.append(leaf)
        return events + run.close(state.open_runs, "failed", state.error)

    def _request(self, run: Run, event: SessionEvent, kind: str, event_id: str) -> Decoded:
        state = self.state
        if kind == "span.model_request_start":
            call = self._model_call(run, event_id, status="started")
            return [*run.open(state.open_runs, model=state.model), call]
        if kind != "span.model_request_end":
            return Drop("span_detail")
        call_id = text_of(event.model_request_start_id)
        if event.is_error is True:
            state.failed_request = call_id or event_id
            return Drop("failure_told_by_next_event")
        state.retries = 0
        usage = mapping_of(event.model_usage)
        read = count_of(usage.get("cache_read_input_tokens"))
        written = count_of(usage.get("cache_creation_input_tokens"))
        fresh = count_of(usage.get("input_tokens"))
        facts = {"cache_read_tokens": read, "cache_creation_tokens": written}
        return [
            self._model_call(
                run,
                call_id,
                status="completed",
                input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
                output_tokens=count_of(usage.get("output_tokens")),
                metadata={name: count for name, count in facts.items() if count} or None,
            )
        ]

    def _failed_request(self, run: Run, error: ErrorFields) -> list[Event]:
        call_id, self.state.failed_request = self.state.failed_request, None
        if call_id is None:
            return []
        error = error if error.message else ErrorFields("the model request failed")
        self.state.error = error
        call = self._model_call(run, call_id)
        error.write(call)
        return [call]

    def _error(self, run: Run, value: Any) -> Decoded:
        """An error of the session: it is being retried, or that has been given up."""
        state = self.state
        error = unwrap_error(value)
        kind = text_of(value.get("type")) or error.type
        error = ErrorFields(error.message or kind, error.http_status, kind)
        retry_status = text_of(at(value, "retry_status", "type")) or text_of(
            value.get("retry_status")
        )
        server = text_of(value.get("mcp_server_name"))
        is_mcp = kind is not None and kind.startswith("mcp_")
        events = run.open(state.open_runs, model=state.model)
        events += self._failed_request(run, NO_ERROR if is_mcp else error)
        operation = (server or "mcp") if is_mcp else (state.model or "model")
        if retry_status == "retrying":
            state.retries += 1
            retry = run.event(event_type="retry", operation=operation, attempt=state.retries)
            error.write(retry, "started")
            return [*events, retry]
        is_told = any(event.event_type == "model_call" for event in events)
        if is_mcp:
            failed = run.event(event_type="tool_result", operation=operation)
        elif is_told:
            return events
        else:
            failed = self._model_call(run, None)
        state.error = error
        error.write(failed)
        return [*events, failed]

    def _model_call(self, run: Run, call_id: str | None, **fields: Any) -> Event:
        model = self.state.model
        return run.event(
            event_type="model_call",
            operation=model or "model",
            model=model,
            call_id=call_id,
            **fields,
        )

    def _tool_use(self, run: Run, event: SessionEvent, event_id: str) -> list[Event]:
        name = text_of(event.name)
        replace(self.state.calls, event_id, name or "")
        if event.evaluated_permission == "deny":
            remember(self.state.denied, event_id, True)
        return [
            *run.open(self.state.open_runs, model=self.state.model),
            run.event(
                event_type="tool_call",
                status="started",
                operation=name,
                call_id=event_id,
                arguments_hash=hash_arguments(event.input),
            ),
        ]

    def _tool_result(self, run: Run, event: SessionEvent, kind: str) -> Event:
        call_id = (
            text_of(event.tool_use_id)
            or text_of(event.mcp_tool_use_id)
            or text_of(event.custom_tool_use_id)
        )
        name = self.state.calls.get(call_id or "") or None
        end = run.event(
            event_type="tool_result", status="completed", operation=name, call_id=call_id
        )
        content = value_of(event.content)
        text = next(
            (text for block in list_of(content) if (text := text_of(at(block, "text")))), ""
        )
        if event.is_error is True:
            denied = (call_id or "") in self.state.denied
            unwrap_error(text).write(end, "aborted" if denied else "failed")
        elif kind in _FOREIGN_TOOLS:
            # Only tools of other people: what the agent's own give back is content.
            hidden = failure_in_output(text, is_said_ok=event.is_error is False)
            if hidden is not None:
                hidden.write(end)
        return end


def _contradicted(run: Run, open_runs: dict[str, float], why: str) -> list[Event]:
    return [contradict(end) for end in run.close(open_runs, "failed", ErrorFields(why, None, why))]


DIALECT = Dialect(
    name="managed_agents",
    framework="anthropic-managed-agents",
    recognise=recognise,
    decoder=ManagedDecoder,
    description="Anthropic managed agents: recorded SDK calls, or session events (sevt_ ids)",
    written_by="programs that write what `client.beta.sessions.events` streams or lists",
)
