"""Weave's calls: whole, as exported, or as the two requests that told of start and end.

An end names its call and nothing else of it, so what a start said is kept until then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import is_crash
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.otel.decoder import SpanDecoder
from lastsignal.core.aliases.otel.readings import Kind, Reading
from lastsignal.core.aliases.otel.spans import Span, span_time
from lastsignal.core.aliases.otel.surroundings import Surroundings
from lastsignal.core.aliases.provider_failures import is_of_provider
from lastsignal.core.aliases.session_runs import remember
from lastsignal.core.arguments import hash_arguments

_ABSENT = msgspec.Raw(b"")
_OP = re.compile(r"weave:///.*/op/([^:/]+)(?::[^/]*)?$")
_KINDS: dict[str, Kind] = {
    "agent": "agent",
    "guardrail": "audit",
    "llm": "model",
    "scorer": "chain",
    "search": "tool",
    "tool": "tool",
}
_ASKED = ("messages", "prompt", "contents", "input")
_CLIENT_OP = re.compile(
    r"(?:anthropic|bedrock|cerebras|cohere|google|groq|huggingface|litellm|mistral(?:ai)?|nvidia"
    r"|openai|vertexai)\.\w[\w.]*",
    re.IGNORECASE,
)
_NO_MODEL_OP = re.compile(r"\.(?:embed\w*|moderations?|rerank\w*|files|images?|runner|agents?)\b")
"""What the same clients do besides asking a model for an answer."""
_OWN = "weave"
"""The attribute under which a call's own fields are kept for `interpret`."""


class _Call(msgspec.Struct):
    id: Any = None
    op_name: Any = None
    display_name: Any = None
    project_id: Any = msgspec.UNSET
    trace_id: Any = msgspec.UNSET
    parent_id: Any = None
    started_at: Any = msgspec.UNSET
    ended_at: Any = msgspec.UNSET
    exception: Any = None
    attributes: Any = None
    summary: Any = msgspec.UNSET
    inputs: msgspec.Raw = _ABSENT
    output: msgspec.Raw = _ABSENT


class Started(msgspec.Struct, array_like=True):
    """What a call's start said that its end does not repeat."""

    name: str
    trace_id: str
    parent_id: str | None
    started_at: float | None
    kind: str
    model: str | None
    arguments_hash: str | None


class WeaveState(msgspec.Struct):
    """What later records depend on."""

    started: dict[str, Started] = {}
    spans: Surroundings = msgspec.field(default_factory=Surroundings)


_decode = msgspec.json.Decoder(_Call).decode


def recognise(value: Any) -> bool:
    """A call or its start; or its end, which names a project and how it ended."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return False
    if isinstance(value.get("op_name"), str):
        return "started_at" in value and ("trace_id" in value or "project_id" in value)
    return "ended_at" in value and "summary" in value and "project_id" in value


class WeaveDecoder:
    """Decodes calls in whatever pieces they come."""

    def __init__(self, source: str) -> None:
        self._state = WeaveState()
        self._spans = SpanDecoder(self._read, interpret)

    @property
    def state(self) -> WeaveState:
        """What must survive a restart."""
        return self._state

    @state.setter
    def state(self, state: WeaveState) -> None:
        self._state = state

    def decode(self, record: bytes) -> Decoded:
        """Return a call's events; see `contract.Decoder`."""
        call = _call(record)
        call_id = call.id
        is_end = not isinstance(call.op_name, str)
        if is_end and call_id not in self._state.started:
            return Drop("end_without_start")
        self._spans.state = self._state.spans  # whoever restores the state may put in another
        told = self._spans.decode(record)
        if is_end:
            del self._state.started[call_id]
        return told

    def _read(self, record: bytes) -> list[Span] | Drop:
        call = _call(record)
        call_id = call.id
        is_end = not isinstance(call.op_name, str)
        started = self._state.started.get(call_id) if is_end else None
        if started is None:
            started = _started(call)
            if span_time(call.ended_at) is None and call.exception is None:
                remember(self._state.started, call_id, started)
        error = _error(call.exception)
        attributes: dict[str, Any] = {_OWN: (started, call)}
        if error.type:
            attributes["error.type"] = error.type
        if error.http_status:
            attributes["http.response.status_code"] = error.http_status
        return [
            Span(
                name=started.name,
                trace_id=started.trace_id,
                span_id=call_id,
                parent_id=started.parent_id,
                start=started.started_at,
                end=span_time(call.ended_at),
                status="error" if error.message else "unset",
                status_message=error.message,
                attributes=attributes,
            )
        ]


def _call(record: bytes) -> _Call:
    try:
        call = _decode(record)
    except msgspec.ValidationError:
        raise NotThisDialect from None
    if not isinstance(call.id, str):
        raise NotThisDialect
    if isinstance(call.op_name, str):
        is_named = call.trace_id is not msgspec.UNSET or call.project_id is not msgspec.UNSET
        if is_named and call.started_at is not msgspec.UNSET:
            return call
    elif msgspec.UNSET not in (call.ended_at, call.summary, call.project_id):
        return call
    raise NotThisDialect


def _started(call: _Call) -> Started:
    inputs = mapping_of(value_of(call.inputs))
    found = _OP.match(text_of(call.op_name) or "")
    name = found[1] if found else text_of(call.op_name) or "op"
    model = text_of(inputs.get("model"))
    parent_id = text_of(call.parent_id)
    return Started(
        name=name,
        trace_id=text_of(call.trace_id) or text_of(call.id) or "",
        parent_id=parent_id,
        started_at=span_time(call.started_at),
        kind=_kind(call, name, inputs) or ("" if parent_id else "agent"),
        model=model,
        arguments_hash=hash_arguments(inputs) if inputs else None,
    )


def _kind(call: _Call, name: str, inputs: Mapping[str, Any]) -> str | None:
    """Return the kind that a call has by its attributes, or by whose name and inputs it has.

    Without either the outermost call is the run; what else there is, is a step of it.
    """
    kind = text_of(at(call.attributes, "weave", "kind"))
    if kind in _KINDS:
        return kind
    if _CLIENT_OP.fullmatch(name) and not _NO_MODEL_OP.search(name):
        return "llm"
    asks = text_of(inputs.get("model")) and any(asked in inputs for asked in _ASKED)
    return "llm" if asks else None


def _has_answered(started: Started, call: _Call) -> bool:
    """Whether a step used tokens by itself: calls around a model's have its usage added up."""
    if started.kind or not mapping_of(at(call.summary, "usage")):
        return False
    known = sum(_outcomes(call))
    return known == 1 if known else started.model is not None


def _outcomes(call: _Call) -> tuple[int, int]:
    """Return how many calls went well and failed, of itself and all below; zeros if untold."""
    counts = mapping_of(at(call.summary, "status_counts"))
    return count_of(counts.get("success")) or 0, count_of(counts.get("error")) or 0


def _is_told_below(call: _Call, error: ErrorFields) -> bool:
    """Whether the exception of a whole call, which may come before those below it, is theirs."""
    if any(outcomes := _outcomes(call)):
        return outcomes[1] > 1
    return isinstance(call.op_name, str) and is_of_provider(error, error.message or "")


def _error(exception: object) -> ErrorFields:
    """Read an exception: its text, or JSON of its type, message and traceback in a text."""
    if isinstance(exception, str) and exception[:1] == "{":
        nested = value_of(exception.encode("utf-8", "replace"))
        if isinstance(nested, dict):
            return unwrap_error(nested)
    return unwrap_error(exception)


def _has_put_out(call: _Call) -> bool:
    """Whether it has a result beside its exception, as one has that broke off half-way."""
    return bytes(call.output) not in (b"", b"null")


def _is_contradicted(call: _Call) -> bool:
    """Whether it counts itself among the calls that went well, or what stands for its exception is
    no text, as all exceptions are."""
    known, failed = sum(_outcomes(call)), _outcomes(call)[1]
    is_well = at(call.summary, "weave", "status") == "success"
    return not isinstance(call.exception, str) or is_well or bool(known and not failed)


def interpret(span: Span) -> Reading:
    """Return what a call was: by the kind of its op, or by what it was asked."""
    started, call = span.attributes[_OWN]
    kind = "model" if _has_answered(started, call) else _KINDS.get(started.kind, "chain")
    error = _error(call.exception)
    usage = mapping_of(at(call.summary, "usage"))
    model = started.model or (next(iter(usage)) if len(usage) == 1 else None)
    # calls around a model's have its usage added up, and come before it
    used = usage.get(model or "") or next(iter(usage.values()), None) if kind == "model" else None
    used = mapping_of(used)
    is_tool = started.kind == "tool"
    is_contradicted = bool(error.message) and _is_contradicted(call)
    return Reading(
        kind=kind,
        operation="guardrail" if kind == "audit" else (kind == "model" and model) or started.name,
        agent=started.name if kind == "agent" else None,
        model=model if kind == "model" else None,
        input_tokens=count_of(used.get("prompt_tokens", used.get("input_tokens"))),
        output_tokens=count_of(used.get("completion_tokens", used.get("output_tokens"))),
        cost_usd=_cost(call.summary) if kind == "model" else None,
        arguments=started.arguments_hash if kind == "tool" else None,
        output=value_of(call.output) if is_tool else None,
        status="failed" if kind == "audit" and span.status == "error" else None,
        names_no_failure=_is_told_below(call, error)
        or not is_crash(error, is_doubted=_has_put_out(call)),
        is_contradicted=is_contradicted,
        repeats=True,  # attempts at one request are calls beside one another
        framework="weave",
    )


def _cost(summary: object) -> float | None:
    """Return what a call cost; its models stand under the names by which their answers call them,
    which may be longer than that by which one was asked."""
    costs = mapping_of(at(summary, "weave", "costs")).values()
    parts = [
        amount_of(at(cost, f"{side}_tokens_total_cost"))
        for cost in costs
        for side in ("prompt", "completion")
    ]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


DIALECT = Dialect(
    name="weave_calls",
    framework="weave",
    recognise=recognise,
    decoder=WeaveDecoder,
    disorder_seconds=5.0,  # requests are sent in batches from threads
    description="Weave calls: op_name, started_at, summary; or start and end apart",
    written_by="Weave's export of calls, or programs that write what `client.get_calls()` lists",
)
