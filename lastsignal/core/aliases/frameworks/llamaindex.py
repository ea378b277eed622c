"""LlamaIndex's instrumentation events, as a handler of one's own writes them, one a line.

Events name only their span, never its parent. A span that fails is dropped, and so is each span
around it, with the same words: the first that is dropped is the one that failed.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at, count_of, mapping_of, text_of
from lastsignal.core.aliases.leaf_errors import same_failure
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, EventType
from lastsignal.core.timestamps import time_of

_EVENT = re.compile(
    r"(?P<what>LLMChat|LLMCompletion|Embedding|SparseEmbedding|ReRank|Retrieval|AgentRunStep"
    r"|AgentChatWithStep|Query|StreamChat)(?P<edge>Start|End)Event"
)
_MODELS = frozenset({"LLMChat", "LLMCompletion", "Embedding", "SparseEmbedding", "ReRank"})
_RUNS = frozenset({"AgentChatWithStep", "Query"})
_BROKEN_ANSWER = "StreamChatErrorEvent"
_FAILURES = {
    "SpanDropEvent": "err_str",
    "ExceptionEvent": "exception",
    _BROKEN_ANSWER: "exception",
}
_SPAN_NAME = re.compile(r"(.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_NO_MODEL = (None, "unknown")


class _Line(msgspec.Struct, gc=False):
    class_name: Any = None
    id_: Any = msgspec.UNSET
    span_id: Any = msgspec.UNSET
    timestamp: Any = None
    tags: Any = None
    model_dict: Any = None
    model_name: Any = None
    err_str: Any = None
    exception: Any = None
    response: Any = None
    arguments: Any = None
    tool: Any = None


class OpenSpan(msgspec.Struct, array_like=True):
    """A span that has begun: what its end does not say."""

    kind: str
    operation: str
    model: str | None


class InstrumentationState(msgspec.Struct):
    """What later events depend on."""

    spans: dict[str, OpenSpan] = {}
    last_failure: str | None = None


_decode = msgspec.json.Decoder(_Line).decode


def recognise(value: Any) -> bool:
    """An event's class with its ids."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("class_name"), str)
        and value["class_name"].endswith("Event")
        and "id_" in value
        and "span_id" in value
    )


class InstrumentationDecoder:
    """Decodes one event after another."""

    def __init__(self, source: str) -> None:
        self.state = InstrumentationState()

    def decode(self, record: bytes) -> Decoded:
        """Return what an event tells; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        name = line.class_name
        if not isinstance(name, str) or not name.endswith("Event"):
            raise NotThisDialect
        if line.id_ is msgspec.UNSET or line.span_id is msgspec.UNSET:
            raise NotThisDialect
        if name in _FAILURES:
            return self._failure(line, getattr(line, _FAILURES[name])) or Drop("passed_on_error")
        if name == "AgentToolCallEvent":
            return [self._tool(line)]
        found = _EVENT.fullmatch(name)
        if found is None or found["what"] == "StreamChat":
            return Drop("stream_chunk" if "Progress" in name or "Delta" in name else "other_event")
        return self._edge(line, found["what"], found["edge"] == "Start") or Drop("structural_span")

    def _edge(self, line: _Line, what: str, is_start: bool) -> list[Event]:
        span_id = text_of(line.span_id) or ""
        if is_start:
            span = self._opened(line, what)
            self.state.spans.pop(span_id, None)
            remember(self.state.spans, span_id, span)
            return self._events(line, span, "started")
        known = self.state.spans.pop(span_id) if span_id in self.state.spans else None
        span = known or self._opened(line, what)
        events = self._events(line, span, "completed")
        if span.kind == "model":
            self.state.last_failure = None
        for event in events:
            if event.event_type == "model_call":
                _write_usage(event, line.response)
        return events

    @staticmethod
    def _opened(line: _Line, what: str) -> OpenSpan:
        if what in _MODELS:
            model = text_of(at(line.model_dict, "model_name")) or text_of(
                at(line.model_dict, "model")
            )
            model = model or text_of(line.model_name)
            model = None if model in _NO_MODEL else model
            return OpenSpan("model", model or _name_of(line.span_id), model)
        if what == "Retrieval":
            return OpenSpan("tool", _name_of(line.span_id), None)
        return OpenSpan("agent" if what in _RUNS else "step", _name_of(line.span_id), None)

    def _events(self, line: _Line, span: OpenSpan, status: Any) -> list[Event]:
        kinds: dict[str, tuple[EventType, EventType]] = {
            "model": ("model_call", "model_call"),
            "tool": ("tool_call", "tool_result"),
            "agent": ("agent_start", "agent_end"),
        }
        if span.kind not in kinds:
            return []
        kind = kinds[span.kind][0 if status == "started" else 1]
        event = _event(line, event_type=kind, status=status, operation=span.operation)
        event.model = span.model
        event.agent = span.operation if span.kind == "agent" else None
        return [event]

    def _tool(self, line: _Line) -> Event:
        """A tool's call, told as it begins; the event of its end does not exist."""
        event = _event(line, event_type="tool_call", status="started")
        event.operation = text_of(at(line.tool, "name"))
        event.call_id = text_of(line.id_)
        event.arguments_hash = hash_arguments(line.arguments)
        return event

    def _failure(self, line: _Line, raised: Any) -> list[Event]:
        span_id = text_of(line.span_id) or ""
        said = provider_error(raised) if isinstance(raised, str) else unwrap_error(raised)
        message = said.message or "exception"
        error = ErrorFields(message, said.http_status, said.type)
        span = self.state.spans.pop(span_id, None)
        last = self.state.last_failure
        is_told = last is not None and same_failure(last, message)
        self.state.last_failure = message
        if span is not None and span.kind in ("model", "tool") and not is_told:
            events = self._events(line, span, "failed")
        elif span is not None and span.kind == "agent":
            events = self._events(line, span, "failed")
            if not is_told and raised is not None:
                leaf = _event(line, event_type=leaf_type(error), operation=span.operation)
                events.insert(0, leaf)
        elif is_told or raised is None:
            return []
        else:
            of_model = line.class_name == _BROKEN_ANSWER
            leaf_is: EventType = "model_call" if of_model else leaf_type(error)
            events = [_event(line, event_type=leaf_is, operation=_name_of(line.span_id))]
            events[0].call_id = None
        for event in events:
            error.write(event)
        return events


def _event(line: _Line, **fields: Any) -> Event:
    moment = time_of(line.timestamp)
    return Event(timestamp=moment, call_id=text_of(line.span_id), **fields)


def _name_of(span_id: object) -> str:
    """`OpenAI.chat-<uuid>` → `OpenAI.chat`."""
    text = text_of(span_id) or "span"
    found = _SPAN_NAME.match(text)
    return found[1] if found else text


def _write_usage(event: Event, response: object) -> None:
    raw, extra = at(response, "raw"), mapping_of(at(response, "additional_kwargs"))
    usage = mapping_of(at(raw, "usage")) or extra
    event.input_tokens = count_of(usage.get("prompt_tokens", usage.get("input_tokens")))
    event.output_tokens = count_of(usage.get("completion_tokens", usage.get("output_tokens")))


DIALECT = Dialect(
    name="llamaindex_events",
    framework="llamaindex",
    recognise=recognise,
    decoder=InstrumentationDecoder,
    is_unique=True,
    description="LlamaIndex instrumentation events: class_name …Event, id_, span_id",
    written_by="a handler on LlamaIndex's dispatcher that writes each event, one a line",
)
