"""AutoGen 0.2's `runtime_logging` with the file logger: `autogen_logs/runtime.log`.

Sessions are named only where clients and agents are made; calls belong to the session named last.
The text lines in between (new session, what could not be logged) are no records. Nothing marks the
end of a chat, but each reply is told: an agent that calls its model and never replies has failed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, http_status_of
from lastsignal.core.aliases.fields import amount_of, count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import replace
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_FAILED = re.compile(r"error_code:(.*), config (\d+) failed")
# A completion is logged as its Python repr.
_TOKENS = {
    "input": re.compile(r"\bprompt_tokens=(\d+)"),
    "output": re.compile(r"\bcompletion_tokens=(\d+)"),
}
_FINISH = re.compile(r"\bfinish_reason='(\w+)'")
_ABSENT = msgspec.Raw(b"")


class _Line(msgspec.Struct, gc=False):
    invocation_id: Any = None
    wrapper_id: Any = None
    client_id: Any = None
    session_id: Any = None
    source_id: Any = None
    source_name: Any = None
    event_name: Any = None
    agent_name: Any = None
    request: Any = None
    response: Any = None
    is_cached: Any = None
    cost: Any = None
    start_time: Any = None
    end_time: Any = None
    timestamp: Any = None
    input_args: msgspec.Raw = _ABSENT
    returns: Any = None
    json_state: Any = None


class _ReplyState(msgspec.Struct, gc=False):
    final: Any = None
    reply_func_name: Any = None


class LoggerState(msgspec.Struct):
    """What later lines depend on."""

    session: str = ""
    failed: dict[str, int] = {}
    """Invocation → configurations that failed: the client goes on to the next one."""
    functions: int = 0
    turns: dict[str, str] = {}
    """Agent → its turn that is open."""
    started: int = 0


_decode = msgspec.json.Decoder(_Line).decode
_decode_reply = msgspec.json.Decoder(_ReplyState).decode


def recognise(value: Any) -> bool:
    """A line of the file logger, by the keys of its five kinds."""
    if not isinstance(value, dict) or "thread_id" not in value:
        return False
    return (
        ("invocation_id" in value and "wrapper_id" in value)
        or ("event_name" in value and "json_state" in value)
        or ("input_args" in value and "returns" in value)
        or ("session_id" in value and ("wrapper_id" in value or "client_id" in value))
    )


class FileLoggerDecoder:
    """Decodes the log of one session after another."""

    def __init__(self, source: str) -> None:
        self.state = LoggerState()

    def decode(self, record: bytes) -> Decoded:
        """Return the call that a line tells of; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if text_of(line.invocation_id) and line.wrapper_id is not None:
            return self._completion(line)
        if line.returns is not None or bytes(line.input_args):
            return self._function(line)
        if line.session_id is not None and not (line.wrapper_id is line.client_id is None):
            self.state.session = text_of(line.session_id) or ""
            return Drop("session_setup")
        if line.event_name == "reply_func_executed":
            return self._reply(line)
        if line.event_name is not None:
            return Drop("agent_event")
        raise NotThisDialect

    def _reply(self, line: _Line) -> Decoded:
        """A reply function was asked; the final one ends the agent's turn."""
        try:
            reply = _decode_reply((text_of(line.json_state) or "").encode("utf-8", "replace"))
        except (msgspec.MsgspecError, RecursionError):
            return Drop("agent_event")
        if reply.final is not True:
            return Drop("agent_event")
        events = self._turn(line, line.timestamp)
        end = self._event(line.timestamp, line)
        end.event_type, end.status, end.operation = "agent_end", "completed", "turn"
        end.call_id = self.state.turns.pop(end.agent or "", None)
        end.parent_id = None
        end.metadata = {"reply_function": text_of(reply.reply_func_name)}
        return [*events, end]

    def _turn(self, line: _Line, time: object) -> list[Event]:
        """Open the agent's turn unless it is open."""
        state, agent = self.state, text_of(line.source_name) or ""
        if agent in state.turns:
            return []
        state.started += 1
        replace(state.turns, agent, f"turn-{state.started}")
        start = self._event(time, line)
        start.event_type, start.operation = "agent_start", "turn"
        start.call_id, start.parent_id = state.turns[agent], None
        return [start]

    def _completion(self, line: _Line) -> Decoded:
        invocation = text_of(line.invocation_id) or ""
        before = self.state.failed.get(invocation, 0)
        response = text_of(line.response) or ""
        failed = _FAILED.fullmatch(response)
        turn = self._turn(line, line.start_time)
        model = text_of(mapping_of(line.request).get("model"))
        start = self._event(line.start_time, line)
        start.event_type, start.operation, start.model = "model_call", model or "model", model
        start.call_id = f"{invocation}/{before}" if before or failed else invocation
        start.attempt = before + 1 if before or failed else None
        ended_at = time_of(line.end_time)
        end = msgspec.structs.replace(start, status="completed")
        end.timestamp = ended_at
        if end.timestamp >= start.timestamp:
            end.duration_seconds = end.timestamp - start.timestamp
        events = [start, end]
        if before:
            events.insert(0, msgspec.structs.replace(start, event_type="retry", attempt=before))
        if failed is None:
            _write_usage(line, response, end)
        else:
            replace(self.state.failed, invocation, before + 1)
            _error(failed).write(end)
            end.metadata = {"config": count_of(failed[2])}
        return [*turn, *events]

    def _function(self, line: _Line) -> Decoded:
        self.state.functions += 1
        turn = self._turn(line, line.timestamp)
        start = self._event(line.timestamp, line)
        start.event_type, start.operation = "tool_call", "function"  # the log does not name it
        start.call_id = f"function-{self.state.functions}"
        start.arguments_hash = hash_arguments(line.input_args)
        end = msgspec.structs.replace(start, event_type="tool_result", status="completed")
        returned = line.returns
        if isinstance(returned, str):  # JSON text, of a text more often than not
            parsed = value_of(returned.encode("utf-8", "replace"))
            returned = parsed if isinstance(parsed, str | Mapping) else returned
        hidden = failure_in_output(returned)
        if hidden is not None:
            hidden.write(end)
        return [*turn, start, end]

    def _event(self, time: object, line: _Line) -> Event:
        timestamp = time_of(time)
        return Event(
            timestamp=timestamp,
            trace_id=self.state.session,
            event_type="model_call",
            status="started",
            agent=text_of(line.source_name),
            parent_id=self.state.turns.get(text_of(line.source_name) or ""),
        )


def _write_usage(line: _Line, response: str, end: Event) -> None:
    found = _FINISH.search(response)
    end.finish_reason = found[1] if found else None
    if count_of(line.is_cached):
        end.metadata = {"cached": True}  # repeats what an earlier call has used and paid
        return
    counts = {name: pattern.search(response) for name, pattern in _TOKENS.items()}
    end.input_tokens = count_of(counts["input"][1]) if counts["input"] else None
    end.output_tokens = count_of(counts["output"][1]) if counts["output"] else None
    end.cost_usd = amount_of(line.cost)


def _error(failed: re.Match[str]) -> ErrorFields:
    code = failed[1].strip()
    return ErrorFields(
        message=failed[0][:500],
        http_status=http_status_of(code),
        type=code if code and code != "None" and not code.isdecimal() else None,
    )


DIALECT = Dialect(
    name="autogen_file_logger",
    framework="autogen",
    recognise=recognise,
    decoder=FileLoggerDecoder,
    is_unique=True,
    description="AutoGen 0.2 runtime_logging file logger: invocation_id, wrapper_id, thread_id",
    default_paths=("autogen_logs/runtime.log",),
)
