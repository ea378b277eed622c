"""AgentChat's messages → the calls that they tell of.

The same messages stand alone in a dump of a team's stream, in a `TaskResult`, and in the payloads
of the core's event log. A message is told once, by its id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Drop
from lastsignal.core.aliases.error_text import unwrap_error
from lastsignal.core.aliases.fields import count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import remember, replace
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

ABSENT = msgspec.Raw(b"")
_MAX_LOGGED = 100
_DROPPED = {
    "ToolCallSummaryMessage": "repeated_result",
    "ModelClientStreamingChunkEvent": "stream_chunk",
    "UserInputRequestedEvent": "user_input",
}


class Message(msgspec.Struct, gc=False):
    """A message or an agent event; texts stay undecoded."""

    source: Any = None
    type: Any = None
    id: Any = None
    models_usage: Any = None
    created_at: Any = None
    content: msgspec.Raw = ABSENT
    results: Any = None
    retry_attempt: Any = None
    code_blocks: msgspec.Raw = ABSENT
    result: Any = None

    @property
    def kind(self) -> str:
        """The message's type, empty where it has none."""
        return self.type if isinstance(self.type, str) else ""

    @property
    def agent(self) -> str | None:
        """Who speaks."""
        return text_of(self.source)

    @property
    def is_answer(self) -> bool:
        """Whether it closes its speaker's turn: a chat message, not an event on the way to one."""
        return self.kind.endswith("Message") or self.kind.startswith("StructuredMessage")

    @property
    def hands_on_failures(self) -> bool:
        """Whether the answer is nothing but what failed tools have said."""
        results = list_of(self.results)
        is_summary = self.kind == "ToolCallSummaryMessage" and bool(results)
        return is_summary and all(mapping_of(one).get("is_error") is True for one in results)

    @property
    def is_task(self) -> bool:
        """Whether it is what a user asks the team to do."""
        return self.agent == "user" and self.is_answer and not self.models_usage


class Place(msgspec.Struct):
    """Where a message's events belong."""

    trace_id: str = ""
    run_id: str | None = None


class MessageState(msgspec.Struct):
    """What later messages depend on."""

    seen: dict[str, bool] = {}
    logged_usage: list[tuple[int | None, int | None]] = []
    """Token counts of model calls that the core logged: their messages repeat them."""
    requested: dict[str, int] = {}
    """Tools asked for in messages: the core logs their execution once more."""
    code_runs: dict[str, str] = {}
    codes: int = 0

    def is_new(self, message: Message) -> bool:
        """Whether a message is told for the first time; old versions give it no id."""
        message_id = text_of(message.id)
        return message_id is None or remember(self.seen, message_id, True)

    def note_usage(self, tokens: tuple[int | None, int | None]) -> None:
        """Note the tokens of a model call that has an event."""
        self.logged_usage.append(tokens)
        del self.logged_usage[:-_MAX_LOGGED]

    def has_logged(self, tokens: tuple[int | None, int | None]) -> bool:
        """Whether a message's usage is that of a model call which has an event."""
        if tokens not in self.logged_usage:
            return False
        self.logged_usage.remove(tokens)
        return True

    def expects(self, tool: str | None) -> bool:
        """Whether a tool's execution is told by messages too."""
        waiting = self.requested.get(tool or "", 0)
        if waiting:
            replace(self.requested, tool or "", waiting - 1)
        return waiting > 0


_decode = msgspec.json.Decoder(Message).decode


def decode_message(data: bytes | msgspec.Raw) -> Message | None:
    """Return a message, None where it is no JSON object."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def message_events(message: Message, place: Place, state: MessageState) -> Decoded:
    """Return the calls that a message tells of."""
    events = [*_model_call(message, place, state), *_calls(message, place, state)]
    return events or Drop(_DROPPED.get(message.kind, "message"))


def message_event(message: Message, place: Place, **fields: Any) -> Event:
    """Make an event at a message's time and place."""
    timestamp = time_of(message.created_at)
    return Event(
        timestamp=timestamp,
        trace_id=place.trace_id,
        parent_id=place.run_id,
        agent=message.agent,
        **fields,
    )


def _model_call(message: Message, place: Place, state: MessageState) -> Iterator[Event]:
    usage = mapping_of(message.models_usage)
    if not usage:
        return
    tokens = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
    if state.has_logged(tokens):
        return
    event = message_event(message, place, event_type="model_call", status="completed")
    event.operation = message.agent  # a message does not say which model wrote it
    event.input_tokens, event.output_tokens = tokens
    yield event


def _calls(message: Message, place: Place, state: MessageState) -> Iterator[Event]:
    if message.kind == "ToolCallRequestEvent":
        for call in list_of(value_of(message.content)):
            yield _request(message, mapping_of(call), place, state)
    elif message.kind == "ToolCallExecutionEvent":
        for result in list_of(value_of(message.content)):
            yield _result(message, mapping_of(result), place)
    elif message.kind == "CodeGenerationEvent":
        yield from _code_run(message, place, state)
    elif message.kind == "CodeExecutionEvent":
        yield _code_result(message, place, state)


def _request(message: Message, call: Any, place: Place, state: MessageState) -> Event:
    event = message_event(message, place, event_type="tool_call", status="started")
    event.operation, event.call_id = text_of(call.get("name")), text_of(call.get("id"))
    event.arguments_hash = hash_arguments(call.get("arguments"))
    name = event.operation or ""
    replace(state.requested, name, state.requested.get(name, 0) + 1)
    return event


def _result(message: Message, result: Any, place: Place) -> Event:
    event = message_event(message, place, event_type="tool_result", status="completed")
    event.operation, event.call_id = text_of(result.get("name")), text_of(result.get("call_id"))
    content = result.get("content")
    if result.get("is_error") is True:
        unwrap_error(content or "tool failed").write(event)
    else:
        hidden = failure_in_output(content, is_said_ok=result.get("is_error") is False)
        if hidden is not None:
            hidden.write(event)
    return event


def _code_run(message: Message, place: Place, state: MessageState) -> Iterator[Event]:
    """A coding agent writes a program and runs it; after a failure it tries again."""
    state.codes += 1
    call_id = f"code-{state.codes}"
    replace(state.code_runs, message.agent or "", call_id)
    start = message_event(message, place, event_type="tool_call", status="started")
    start.operation, start.call_id = "code_execution", call_id
    start.arguments_hash = hash_arguments(message.code_blocks)
    attempt = count_of(message.retry_attempt) or 0
    if attempt > 0:
        start.attempt = attempt + 1
        yield msgspec.structs.replace(start, event_type="retry", attempt=attempt)
    yield start


def _code_result(message: Message, place: Place, state: MessageState) -> Event:
    end = message_event(message, place, event_type="tool_result", status="completed")
    end.operation = "code_execution"
    end.call_id = state.code_runs.pop(message.agent or "", None)
    code = mapping_of(message.result).get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool) and 0 < abs(code) < 2**31:
        unwrap_error(f"exit code {code}").write(end)
        end.metadata = {"exit_code": code}
    return end
