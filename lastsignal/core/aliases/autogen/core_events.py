"""AutoGen core's event log (logger `autogen_core.events`): one JSON object behind a log prefix.

A message is logged when it is sent and again when it is delivered, and a failure three times: as
the error that the agent publishes, as the exception of its handler, as that error's delivery. A
failed model call has no event of its own, and a tool that raises has no `ToolCall`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.autogen.agent_ids import is_manager, name_of, team_of
from lastsignal.core.aliases.autogen.messages import (
    ABSENT,
    Message,
    MessageState,
    Place,
    decode_message,
    message_events,
)
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect, holds
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import at, count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import replace
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import parse_timestamp, time_of

_KEYS_OF: dict[str, str] = {
    "LLMCall": "prompt_tokens",
    "LLMStreamStart": "messages",
    "LLMStreamEnd": "prompt_tokens",
    "ToolCall": "tool_name",
    "Message": "payload",
    "MessageDropped": "payload",
    "MessageHandlerException": "handling_agent",
    "AgentConstructionException": "exception",
}
_MODEL_FRAME = re.compile(r"\bin _call_llm\b|model_client\.create(?:_stream)?\(")
_UNREADABLE = "Message could not be serialized"


class _Line(msgspec.Struct, gc=False):
    type: str
    payload: Any = None
    sender: Any = None
    receiver: Any = None
    delivery_stage: Any = None
    handling_agent: Any = None
    exception: Any = msgspec.UNSET
    agent_id: Any = None
    tool_name: Any = None
    call_id: Any = None
    arguments: msgspec.Raw = ABSENT
    result: Any = None
    response: msgspec.Raw = ABSENT
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Payload(msgspec.Struct, gc=False):
    message: msgspec.Raw = ABSENT
    messages: msgspec.Raw = ABSENT
    response: msgspec.Raw = ABSENT
    error: Any = None


class TeamRun(msgspec.Struct, array_like=True):
    """A team's run: what its end repeats of its start."""

    call_id: str
    name: str


class CoreState(msgspec.Struct):
    """What later events depend on."""

    messages: MessageState = msgspec.field(default_factory=MessageState)
    runs: dict[str, TeamRun] = {}
    """Team → the run that is open."""
    starts: int = 0
    told: dict[str, bool] = {}
    """Agent and message of a published error → whether its handler's exception is still to come."""
    streams: dict[str, str] = {}
    calls: int = 0


_decode = msgspec.json.Decoder(_Line).decode
_decode_payload = msgspec.json.Decoder(_Payload).decode


def recognise(value: Any) -> bool:
    """An event of the core: its type, and a key that only this type has."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    key = _KEYS_OF.get(value["type"])
    return key is not None and key in value


class CoreEventsDecoder:
    """Decodes the event log of one program."""

    def __init__(self, source: str) -> None:
        self.state = CoreState()

    def decode(self, record: bytes) -> Decoded:
        """Return what the event tells for the first time; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        match line.type:
            case "Message":
                return self._message(line)
            case "LLMCall" | "LLMStreamEnd":
                return [self._model_call(line)]
            case "LLMStreamStart":
                return [self._stream_start(line)]
            case "ToolCall":
                return self._tool_call(line)
            case "MessageHandlerException" | "AgentConstructionException":
                return self._exception(line)
            case "MessageDropped":
                event = self._event(line.receiver, event_type="audit", status="aborted")
                event.operation = "message_dropped"
                return [event]
            case _:
                raise NotThisDialect

    # -- messages --------------------------------------------------------------------------

    def _message(self, line: _Line) -> Decoded:
        payload = text_of(line.payload)
        if payload is None or payload == "{}":
            return Drop("control_message")
        if payload == _UNREADABLE:
            return self._unreadable(line)
        try:
            parsed = _decode_payload(payload.encode("utf-8", "replace"))
        except (msgspec.MsgspecError, RecursionError):
            return Drop("message")
        if isinstance(parsed.error, dict) and not bytes(parsed.message):
            return self._published_error(line, parsed.error)
        if bytes(parsed.messages):
            return self._start(line, parsed)
        if bytes(parsed.response):
            return Drop("repeated_message")
        return self._chat_message(line, decode_message(parsed.message), parsed.error)

    def _start(self, line: _Line, payload: _Payload) -> Decoded:
        """A team starts: nobody sends its task, and it is passed on to every agent."""
        if line.sender is not None or not _is_sent(line):
            return Drop("repeated_message")
        state = self.state
        team, name = team_of(line.receiver), name_of(line.receiver)
        state.starts += 1
        run = TeamRun(f"{team or 'run'}/{state.starts}", (name or "team").removesuffix("Manager"))
        replace(state.runs, team, run)
        start = self._event(line.receiver, event_type="agent_start", status="started")
        start.call_id, start.parent_id = run.call_id, None
        start.operation = start.agent = run.name
        asked_at = time_of(at(value_of(payload.messages), 0, "created_at"))
        start.timestamp = asked_at
        return [start]

    def _chat_message(self, line: _Line, message: Message | None, error: Any) -> Decoded:
        if message is None or not message.kind:
            return Drop("message")
        if not self.state.messages.is_new(message):
            return Drop("repeated_message")
        team = team_of(line.sender)
        if message.kind == "StopMessage" and is_manager(line.sender):
            has_failed = isinstance(error, dict)
            stop_reason = text_of(value_of(message.content))
            at_time = parse_timestamp(message.created_at)
            return self._run_end(
                line, ErrorFields() if not has_failed else _read(error), stop_reason, at_time
            )
        place = Place(team, self._run_id(team))
        return message_events(message, place, self.state.messages)

    def _unreadable(self, line: _Line) -> Decoded:
        """The log cannot write the manager's word that the team is done: only that it came."""
        topic = text_of(line.receiver) or ""
        if _is_sent(line) and is_manager(line.sender) and topic.startswith("output_topic"):
            return self._run_end(line, ErrorFields(), None, None)
        return Drop("unreadable_message")

    def _run_end(
        self, line: _Line, error: ErrorFields, stop_reason: str | None, ended_at: float | None
    ) -> Decoded:
        run = self.state.runs.pop(team_of(line.sender), None)
        if run is None:
            return Drop("repeated_end")
        end = self._event(line.sender, event_type="agent_end")
        end.call_id, end.operation, end.agent = run.call_id, run.name, run.name
        error.write(end, "failed" if error.message else "completed")
        if ended_at is not None:
            end.timestamp = ended_at
        end.finish_reason = stop_reason[:200] if stop_reason else None
        return [end]

    # -- failures --------------------------------------------------------------------------

    def _published_error(self, line: _Line, error: Any) -> Decoded:
        fields, key = _read(error), f"{line.sender}|{_read(error).message}"
        if not _is_sent(line) and key in self.state.told:
            return Drop("repeated_error")
        replace(self.state.told, key, True)
        failure = self._failure(line.sender, fields)
        if _MODEL_FRAME.search(text_of(error.get("traceback")) or ""):
            failure.event_type = "model_call"
        ended = self._run_end(line, fields, None, None)
        return [failure] if isinstance(ended, Drop) else [failure, *ended]

    def _exception(self, line: _Line) -> Decoded:
        if line.exception is msgspec.UNSET:  # one that was raised is written, if only as ""
            raise NotThisDialect
        agent_id = line.handling_agent or line.agent_id
        fields = provider_error(text_of(line.exception))
        key = f"{agent_id}|{fields.message}"
        if self.state.told.get(key):
            self.state.told[key] = False
            return Drop("repeated_error")
        return [self._failure(agent_id, fields)]

    def _failure(self, agent_id: object, error: ErrorFields) -> Event:
        event = self._event(agent_id, event_type=leaf_type(error))
        event.operation = event.agent = name_of(agent_id)
        error.write(event)
        return event

    # -- calls -----------------------------------------------------------------------------

    def _model_call(self, line: _Line) -> Event:
        response = mapping_of(value_of(line.response))
        event = self._event(line.agent_id, event_type="model_call", status="completed")
        event.agent = name_of(line.agent_id)
        event.model = text_of(response.get("model"))
        event.operation = event.model or event.agent
        event.call_id = text_of(response.get("id"))
        if line.type == "LLMStreamEnd":
            started = self.state.streams.pop(str(line.agent_id), None)
            event.call_id, event.operation = started or event.call_id, event.agent
        event.input_tokens = count_of(line.prompt_tokens)
        event.output_tokens = count_of(line.completion_tokens)
        event.finish_reason = text_of(at(response, "choices", 0, "finish_reason"))
        self.state.messages.note_usage((event.input_tokens, event.output_tokens))
        return event

    def _stream_start(self, line: _Line) -> Event:
        event = self._event(line.agent_id, event_type="model_call", status="started")
        self.state.calls += 1
        event.call_id = f"stream-{self.state.calls}"
        replace(self.state.streams, str(line.agent_id), event.call_id)
        event.operation = event.agent = name_of(line.agent_id)
        return event

    def _tool_call(self, line: _Line) -> Decoded:
        operation = text_of(line.tool_name)
        if self.state.messages.expects(operation):
            return Drop("repeated_call")
        self.state.calls += 1
        start = self._event(line.agent_id, event_type="tool_call", status="started")
        start.operation, start.agent = operation, name_of(line.agent_id)
        start.call_id = text_of(line.call_id) or f"tool-{self.state.calls}"
        start.arguments_hash = hash_arguments(line.arguments)
        end = msgspec.structs.replace(start, event_type="tool_result", status="completed")
        hidden = failure_in_output(line.result)
        if hidden is not None:
            hidden.write(end)
        return [start, end]

    def _event(self, agent_id: object, **fields: Any) -> Event:
        team = team_of(agent_id)
        return Event(trace_id=team, parent_id=self._run_id(team), **fields)

    def _run_id(self, team: str) -> str | None:
        run = self.state.runs.get(team)
        return run.call_id if run else None


def _read(error: Any) -> ErrorFields:
    """Read `{error_type, error_message, traceback}`."""
    fields = provider_error(text_of(error.get("error_message")))
    return ErrorFields(
        message=fields.message or text_of(error.get("error_type")),
        http_status=fields.http_status,
        type=text_of(error.get("error_type")) or fields.type,
    )


def _is_sent(line: _Line) -> bool:
    return isinstance(line.delivery_stage, str) and line.delivery_stage.endswith("SEND")


DIALECT = Dialect(
    name="autogen_core_events",
    framework="autogen",
    recognise=recognise,
    decoder=CoreEventsDecoder,
    is_unique=True,
    is_named=holds(b"created_at", b"call_id", b'"response"'),
    description="AutoGen core event log: type LLMCall, ToolCall, Message, MessageHandlerException",
    written_by="a file handler on the logger `autogen_core.events`",
)
