"""Google ADK's events: of `adk run --jsonl`, or in the dump of a session.

An invocation is a run: the user's message begins it, the agent's final response ends it. Tools
that fail have no flag, only words of their own in their response.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields, first_line
from lastsignal.core.aliases.fields import count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, remember
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import UNTIMED, Event
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_USER = "user"
_CUT_OFF = "MAX_TOKENS"
_FILTERED = frozenset({"BLOCKLIST", "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII"})


class _Event(msgspec.Struct, gc=False, rename="camel"):
    invocation_id: Any = msgspec.UNSET
    author: Any = None
    actions: Any = msgspec.UNSET
    timestamp: Any = None
    content: Any = msgspec.UNSET
    partial: Any = None
    error_code: Any = None
    error_message: Any = None
    interrupted: Any = None
    finish_reason: Any = None
    model_version: Any = None
    usage_metadata: Any = None
    long_running_tool_ids: Any = None
    events: msgspec.Raw = _ABSENT
    app_name: Any = msgspec.UNSET

    @property
    def is_event(self) -> bool:
        """Whether it is an event of an invocation."""
        has_told = self.actions is not msgspec.UNSET or self.content is not msgspec.UNSET
        return self.invocation_id is not msgspec.UNSET and isinstance(self.author, str) and has_told


class AdkState(msgspec.Struct):
    """What later events depend on."""

    open: dict[str, float] = {}
    agents: dict[str, str] = {}
    """Invocation → the agent that answered it first."""
    calls: dict[str, str] = {}
    """Calls without a response → their tool."""


_decode = msgspec.json.Decoder(_Event).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def recognise(value: Any) -> bool:
    """An event of an invocation, or a session with its events."""
    if not isinstance(value, dict):
        return False
    events = value.get("events")
    if isinstance(events, list) and ("appName" in value or "app_name" in value):
        return not events or _is_event(events[0])
    return _is_event(value)


def _is_event(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("author"), str)
        and ("invocationId" in value or "invocation_id" in value)
        and ("actions" in value or "content" in value)
    )


class AdkDecoder:
    """Decodes one event after another, or a session at once."""

    def __init__(self, source: str) -> None:
        self.state = AdkState()

    def decode(self, record: bytes) -> Decoded:
        """Return what an event tells, or all events of a session; see `contract.Decoder`."""
        event = _read(record)
        if event is None:
            raise NotThisDialect
        elements = _elements(record, event)
        if elements is None:
            return self._event(event)
        told: list[Event] = []
        for offset, data in elements:
            inner = _read(data)
            found = self._event(inner) if inner is not None else Drop("malformed_record")
            for one in found if isinstance(found, list) else ():
                one.offset = offset
                told.append(one)
        return told or Drop("empty_document")

    def _event(self, event: _Event) -> Decoded:
        invocation, author = text_of(event.invocation_id), text_of(event.author)
        if event.partial is True:
            return Drop("stream_chunk")
        moment = time_of(event.timestamp)
        key = invocation or ""
        if author != _USER:
            remember(self.state.agents, key, author or "agent")
        run = Run(key, key or "run", None, self.state.agents.get(key, "agent"), UNTIMED)
        run = Run(key, run.run_id, None, run.agent, moment)
        if author == _USER:
            return Drop("user_input")
        told = run.open(self.state.open)
        for one in self._told(run, event):
            if one.event_type not in ("agent_start", "agent_end"):
                one.agent = author
            told.append(one)
        return told or Drop("state_update")

    def _told(self, run: Run, event: _Event) -> list[Event]:
        content = mapping_of(event.content)
        parts = [part for part in list_of(content.get("parts")) if isinstance(part, dict)]
        if text_of(event.error_code):
            return self._failure(run, event)
        told: list[Event] = []
        is_answer = content.get("role") == "model" or bool(mapping_of(event.usage_metadata))
        if is_answer:
            told.append(_model_call(run, event))
        asked = [_part(part, "functionCall", "function_call") for part in parts]
        given = [_part(part, "functionResponse", "function_response") for part in parts]
        told += [self._call(run, call) for call in asked if call]
        told += [self._response(run, response) for response in given if response]
        if event.interrupted is True:
            return told + run.close(self.state.open, "aborted", finish_reason="interrupted")
        is_final = is_answer and not any(asked) and not any(given)
        if is_final or list_of(event.long_running_tool_ids):
            reason = text_of(event.finish_reason)
            told += run.close(self.state.open, finish_reason=reason)
        return told

    def _call(self, run: Run, call: Mapping[str, Any]) -> Event:
        name, call_id = text_of(call.get("name")), text_of(call.get("id"))
        if call_id and name:
            remember(self.state.calls, call_id, name)
        return run.event(
            event_type="tool_call",
            status="started",
            operation=name,
            call_id=call_id,
            arguments_hash=hash_arguments(call.get("args")),
        )

    def _response(self, run: Run, response: Mapping[str, Any]) -> Event:
        call_id = text_of(response.get("id"))
        self.state.calls.pop(call_id or "", None)
        end = run.event(
            event_type="tool_result", operation=text_of(response.get("name")), call_id=call_id
        )
        failure = failure_in_output(response.get("response"))
        (failure or NO_ERROR).write(end, "failed" if failure else "completed")
        return end

    def _failure(self, run: Run, event: _Event) -> list[Event]:
        """Tell of an error: of a call that waits for its response, else of the model."""
        code = text_of(event.error_code) or "error"
        text = text_of(event.error_message) or code
        said = provider_error(text)
        error = ErrorFields(said.message or first_line(text), said.http_status, code)
        if (
            self.state.calls
            and event.finish_reason is None
            and code.endswith(("Error", "Exception"))
        ):
            call_id, tool = self.state.calls.popitem()
            end = run.event(event_type="tool_result", operation=tool, call_id=call_id)
            error.write(end)
        else:
            end = _model_call(run, event)
            if code == _CUT_OFF:  # it answered up to its limit: the turn came to nothing by that
                end.finish_reason = code
            else:
                error.write(end)
                end.error_class = "content_filter" if code in _FILTERED else None
        closed = run.close(self.state.open, "failed", error)
        for one in closed:
            one.error_class = end.error_class
        return [end, *closed]


def _read(data: bytes) -> _Event | None:
    """Return an event in either spelling, a session, or None for what is neither."""
    for spelling in (data, None):
        try:
            event = _decode(spelling or _in_camel_case(data))
        except msgspec.ValidationError:
            continue
        if event.is_event or _elements(data, event) is not None:
            return event
    return None


def _in_camel_case(data: bytes) -> bytes:
    """Return a record that was dumped by its fields' names, spelt as their aliases are."""
    fields = {}
    for name, value in _decode_fields(data).items():
        first, *rest = name.split("_")
        fields[first + "".join(part.title() for part in rest)] = value
    return _encode(fields)


def _elements(data: bytes, session: _Event) -> list[tuple[int, bytes]] | None:
    """Return a session's events; None for what is no session."""
    if session.app_name is msgspec.UNSET or bytes(session.events)[:1] != b"[":
        return None
    elements = elements_of(data, session.events)
    if not elements:
        return []
    first = _read(elements[0][1])
    return elements if first is not None and first.is_event else None


def _part(part: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((found for name in names if (found := mapping_of(part.get(name)))), {})


def _model_call(run: Run, event: _Event) -> Event:
    usage = mapping_of(event.usage_metadata)
    model = text_of(event.model_version)
    answered = count_of(usage.get("candidatesTokenCount", usage.get("candidates_token_count")))
    thought = count_of(usage.get("thoughtsTokenCount", usage.get("thoughts_token_count")))
    return run.event(
        event_type="model_call",
        status="completed",
        operation=model or "model",
        model=model,
        input_tokens=count_of(usage.get("promptTokenCount", usage.get("prompt_token_count"))),
        output_tokens=None if answered is None else answered + (thought or 0),
        finish_reason=text_of(event.finish_reason),
    )


DIALECT = Dialect(
    name="google_adk",
    framework="google_adk",
    recognise=recognise,
    decoder=AdkDecoder,
    is_unique=True,
    description="Google ADK events or sessions: invocationId, author, actions",
    written_by="`adk run --jsonl`; programs that write the runner's events, or a session, as JSON",
)
