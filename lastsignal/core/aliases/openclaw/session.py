"""The session files of pi, and of OpenClaw which is built on it: `sessions/*.jsonl`.

A tree of entries in the order in which they were written. Nothing records a retry, or that a turn
was given up: `giving_up` tells both from what follows a failure.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.giving_up import Streaks, after_failure, fail, give_up
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.openclaw.tool_results import judge_result, text_in
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run, remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import parse_timestamp, time_of

_ABSENT = msgspec.Raw(b"")
_ATTEMPTS = 4
"""The client's calls for one request, by default."""
_ROLES = frozenset({"user", "assistant", "toolResult"})
_ENTRIES = frozenset(
    "compaction custom custom_message model_change thinking_level_change branch_summary label "
    "session_info".split()
)
_CALLS_ON = frozenset({"toolUse", "tool_use", "tool_calls"})


class _Record(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    parentId: Any = msgspec.UNSET
    timestamp: Any = None
    customType: Any = None
    modelId: Any = None
    parentSession: Any = None
    tokensBefore: Any = None
    stopReason: Any = None
    errorMessage: Any = None
    message: msgspec.Raw = _ABSENT


class _Message(msgspec.Struct, gc=False):
    role: Any = None
    content: msgspec.Raw = _ABSENT
    timestamp: Any = None
    api: Any = None
    provider: Any = None
    model: Any = None
    usage: Any = None
    stopReason: Any = None
    errorMessage: Any = None
    toolCallId: Any = None
    toolName: Any = None
    isError: Any = None
    details: msgspec.Raw = _ABSENT


class SessionState(msgspec.Struct):
    """What must survive a restart to read the next entry."""

    session: str = ""
    forked_at: float | None = None
    """When the session was forked from another one; its file begins with that one's entries."""
    model: str | None = None
    open_runs: dict[str, float] = {}
    calls: dict[str, str] = {}
    streaks: Streaks = {}
    said: str = ""
    """The start of what the model said last: a command-line backend's answer is kept twice."""


_decode_record = msgspec.json.Decoder(_Record).decode
_decode_message = msgspec.json.Decoder(_Message).decode


def recognise(value: Any) -> bool:
    """The header, a message in an envelope, or another entry of the tree."""
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        return False
    if kind == "session":
        return isinstance(value.get("id"), str) and ("cwd" in value or "version" in value)
    if kind == "message":
        role = at(value, "message", "role")
        return isinstance(role, str) and role in _ROLES and "timestamp" in value
    if kind not in _ENTRIES or "timestamp" not in value:
        return False
    return "parentId" in value or (kind == "model_change" and "modelId" in value)


class SessionDecoder:
    """Decodes one entry after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: SessionState = SessionState()

    def decode(self, record: bytes) -> Decoded:
        """Return the entry's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        kind = line.type
        if self._is_copy(line):
            return Drop("copied_from_fork")
        if kind == "message":
            return self._message(line)
        if kind == "session":
            session = text_of(line.id)
            if session is None:
                raise NotThisDialect
            if session != self.state.session:
                is_fork = text_of(line.parentSession) is not None
                forked_at = parse_timestamp(line.timestamp) if is_fork else None
                self.state = SessionState(session=session, forked_at=forked_at)
            return Drop("session_header")
        if not isinstance(kind, str) or kind not in _ENTRIES:
            raise NotThisDialect
        if line.parentId is msgspec.UNSET and not self.state.session:
            raise NotThisDialect
        return self._entry(line, kind)

    def _is_copy(self, line: _Record) -> bool:
        """Whether an entry was written before the session was forked, and is told by its parent."""
        forked_at = self.state.forked_at
        if forked_at is None or (line.type != "message" and line.type not in _ENTRIES):
            return False
        written_at = parse_timestamp(line.timestamp)
        return written_at is not None and written_at < forked_at

    def _entry(self, line: _Record, kind: str) -> Decoded:
        run = self._run(line.timestamp)
        if kind == "compaction":
            tokens = count_of(line.tokensBefore)
            return [
                run.event(
                    event_type="audit",
                    operation="compaction",
                    status="completed",
                    metadata=None if tokens is None else {"tokens_before": tokens},
                )
            ]
        if kind == "model_change":
            self.state.model = text_of(line.modelId) or self.state.model
        if line.customType == "openclaw.sessions_yield":
            # The agent waits for its sub-agents: their answers begin a turn of their own.
            return run.close(self.state.open_runs) or Drop("session_entry")
        return Drop("session_entry")

    def _message(self, line: _Record) -> Decoded:
        try:
            message = _decode_message(line.message)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise NotThisDialect from None
        if line.timestamp is None and message.timestamp is None:
            raise NotThisDialect
        run = self._run(
            line.timestamp if parse_timestamp(line.timestamp) is not None else message.timestamp
        )
        if message.role == "assistant":
            return self._answer(run, line, message)
        if message.role == "toolResult":
            return [self._tool_result(run, message)]
        if message.role != "user" and not self.state.session:
            raise NotThisDialect
        return give_up(self.state.streaks, self.state.open_runs, run) or Drop("prompt")

    def _answer(self, run: Run, line: _Record, message: _Message) -> Decoded:
        state = self.state
        content = value_of(message.content)
        blocks = content if isinstance(content, list) else []
        calls = [block for block in blocks if at(block, "type") == "toolCall"]
        said = text_in(content)[:200]
        if message.api == "cli" and not calls and said and said == state.said:
            return run.close(state.open_runs) or Drop("repeated_answer")
        state.said = said
        reason = text_of(message.stopReason) or text_of(line.stopReason)
        model = text_of(message.model) or state.model
        if reason == "error":
            error = provider_error(text_of(message.errorMessage) or text_of(line.errorMessage))
            failed = _model_call(run, line, message, model, "error")
            error.write(failed)
            return fail(state.streaks, state.open_runs, run, failed, _ATTEMPTS)
        events = run.open(state.open_runs)
        events += after_failure(state.streaks, run, model)
        if reason == "aborted":
            error = ErrorFields(text_of(message.errorMessage) or text_of(line.errorMessage))
            failed = _model_call(run, line, message, model, reason)
            error.write(failed, "aborted")
            return [*events, failed, *run.close(state.open_runs, "aborted", error)]
        events.append(_model_call(run, line, message, model, reason))
        for call in calls:
            events += self._tool_call(run, call)
        if not calls and reason not in _CALLS_ON:
            events += run.close(state.open_runs)
        return events

    def _tool_call(self, run: Run, call: dict[str, Any]) -> list[Event]:
        call_id, name = text_of(call.get("id")), text_of(call.get("name"))
        if call_id and not remember(self.state.calls, call_id, name or ""):
            return []
        return [
            run.event(
                event_type="tool_call",
                status="started",
                operation=name,
                call_id=call_id,
                arguments_hash=hash_arguments(call.get("arguments")),
            )
        ]

    def _tool_result(self, run: Run, message: _Message) -> Event:
        call_id = text_of(message.toolCallId)
        name = text_of(message.toolName) or self.state.calls.get(call_id or "")
        end = run.event(event_type="tool_result", operation=name or None, call_id=call_id)
        judge_result(end, message.isError is True, message.content, value_of(message.details))
        return end

    def _run(self, timestamp: Any) -> Run:
        at_time = time_of(timestamp)
        session = self.state.session
        return Run(session, session or "session", None, "main", at_time)


def _model_call(
    run: Run, line: _Record, message: _Message, model: str | None, reason: str | None
) -> Event:
    usage = mapping_of(message.usage)
    cache_read, cache_write = count_of(usage.get("cacheRead")), count_of(usage.get("cacheWrite"))
    fresh = count_of(usage.get("input"))
    facts = {
        "provider": text_of(message.provider),
        "cache_read_tokens": cache_read or None,
        "cache_creation_tokens": cache_write or None,
    }
    return run.event(
        event_type="model_call",
        status="completed",
        operation=model or "model",
        model=model,
        call_id=text_of(line.id),
        input_tokens=None if fresh is None else fresh + (cache_read or 0) + (cache_write or 0),
        output_tokens=count_of(usage.get("output")),
        cost_usd=amount_of(at(usage, "cost", "total")),
        finish_reason=reason,
        metadata={name: fact for name, fact in facts.items() if fact is not None} or None,
    )


DIALECT = Dialect(
    name="pi_session",
    framework="openclaw",
    recognise=recognise,
    decoder=SessionDecoder,
    one_at_a_time=True,
    is_unique=True,
    is_copied=True,
    description="pi or OpenClaw session: a session header, then messages in envelopes",
    default_paths=(
        "~/.openclaw/agents/*/sessions/*.jsonl",
        "~/.pi/agent/sessions/**/*.jsonl",
    ),
)
