"""OpenAI Agents SDK: traces and spans as its processors and exporters see them.

A trace is written when it starts, spans when they end, children first. The trace has no end of its
own: its outermost span ends it. Newer versions wrap each run and each turn in a `custom` span that
sums up its usage, which the model spans inside have told already, where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.elements import locate
from lastsignal.core.aliases.fields import count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.openai_agents.records import (
    OBJECTS,
    Failure,
    Span,
    TraceRun,
    decode_batch,
    decode_span,
    error_of,
    recognise,
)
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.session_runs import replace
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, EventType
from lastsignal.core.timestamps import time_of

_MODELS = frozenset({"generation", "response", "transcription", "speech"})
_HANDLED = "(non-fatal)"
"""The tool's error went to the model: the run goes on."""


class SpansState(msgspec.Struct):
    """What parents, which are written after their children, depend on."""

    traces: dict[str, TraceRun] = {}
    failed: dict[str, Failure] = {}
    """Span → the failure inside it."""
    with_models: dict[str, bool] = {}
    """Spans that have a model call inside."""


class AgentsDecoder:
    """Decodes the traces of one program."""

    def __init__(self, source: str) -> None:
        self.state = SpansState()

    def decode(self, record: bytes) -> Decoded:
        """Return a span's start and end; see `contract.Decoder`."""
        try:
            return self._one(decode_span(record))
        except msgspec.ValidationError:
            pass
        try:
            batch = decode_batch(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        return self._batch(record, batch.data)

    def _batch(self, record: bytes, spans: list[msgspec.Raw]) -> Decoded:
        events: list[Event] = []
        reasons: list[str] = []
        for offset, data in locate(record, spans):
            try:
                decoded = self._one(decode_span(data))
            except (msgspec.ValidationError, NotThisDialect):
                continue
            if isinstance(decoded, Drop):
                reasons.append(decoded.reason)
                continue
            for event in decoded:
                event.offset = offset
            events += decoded
        if not events and not reasons:
            raise NotThisDialect
        return events or Drop(reasons[-1])

    def _one(self, span: Span) -> Decoded:
        if span.object not in OBJECTS or not text_of(span.id):
            raise NotThisDialect
        if span.object == "trace":
            return [self._trace(span)]
        kind = span.span_data.type
        if kind == "agent":
            events = self._agent(span)
        elif isinstance(kind, str) and kind in _MODELS:
            events = self._model(span)
        elif kind == "function":
            events = self._tool(span)
        elif kind == "guardrail":
            events = self._guardrail(span)
        elif kind == "mcp_tools" and span.error:
            events = self._mcp_tools(span)
        else:
            events = self._wrapper(span)
        if not text_of(span.parent_id) and span.ended_at is not None:
            events += self._outermost(span)
        return events or Drop("structural_span")

    # -- runs ------------------------------------------------------------------------------

    def _trace(self, span: Span) -> Event:
        trace_id = text_of(span.id) or ""
        name = text_of(span.workflow_name) or "workflow"
        replace(self.state.traces, trace_id, TraceRun(name))
        start = Event(
            trace_id=trace_id,
            event_type="agent_start",
            operation=name,
            status="started",
            call_id=trace_id,
        )
        start.metadata = {"group_id": text_of(span.group_id)} if text_of(span.group_id) else None
        return start

    def _outermost(self, span: Span) -> list[Event]:
        """The span without a parent ends its trace's run, where the trace was announced."""
        trace = self.state.traces.get(text_of(span.trace_id) or "")
        if trace is None:
            return []
        end = self._event(span, "agent_end", span.ended_at)
        end.parent_id, end.operation = None, trace.name
        end.call_id = end.trace_id
        events = [end]
        if trace.runs:
            end.call_id = f"{end.trace_id}/{trace.runs + 1}"
            start = msgspec.structs.replace(end, event_type="agent_start", status="started")
            start.timestamp = self._event(span, "agent_start", span.started_at).timestamp
            events.insert(0, start)
        trace.runs += 1
        failure = self.state.failed.get(text_of(span.id) or "")
        end.status = "failed" if failure is not None else "completed"
        if failure is not None:
            end.error_message = failure.message or None
            if failure.is_contradicted:
                contradict(end)
        return events

    def _agent(self, span: Span) -> list[Event]:
        start, end = self._pair(span, "agent_start", "agent_end")
        start.operation = end.operation = text_of(span.span_data.name)
        start.agent = end.agent = start.operation
        if end.parent_id is None and end.trace_id in self.state.traces:
            start.parent_id = end.parent_id = end.trace_id
        if span.ended_at is None:
            return [start]
        if not span.error:
            return [start, end]
        error_of(span.error).write(end)
        return [start, *self._own_failure(span, end), end]

    def _own_failure(self, span: Span, end: Event) -> list[Event]:
        """Judge a wrapper's error: a limit, a failure of its own, or one told inside it."""
        span_id = text_of(span.id) or ""
        is_passed_on = span_id in self.state.failed
        told = Failure(end.error_message or "", is_contradicted=not span.tells_of_crash)
        if told.is_contradicted:
            contradict(end)
        replace(self.state.failed, span_id, told)
        self._pass_on(span, told)
        data = mapping_of(mapping_of(span.error).get("data"))
        tool = text_of(data.get("tool_name"))
        failure = msgspec.structs.replace(
            end, event_type="process_error", call_id=None, parent_id=span_id, duration_seconds=None
        )
        if span.error_label.startswith("Max turns exceeded"):
            failure.event_type, failure.operation = "audit", "turn_limit"
            limit = count_of(data.get("max_turns"))
            failure.metadata = {"limit": limit} if limit is not None else None
        elif is_passed_on:
            return []
        elif "tripwire triggered" in span.error_label:
            failure.event_type, failure.operation = "audit", "guardrail"
            failure.metadata = {"guardrail": text_of(data.get("guardrail"))}
        elif tool is not None:  # the model asked for a tool that there is not
            failure.event_type, failure.operation = "tool_result", tool
        elif not span.tells_of_crash:
            return []
        else:
            failure.event_type = leaf_type(error_of(span.error), data.get("error"))
        return [failure]

    def _wrapper(self, span: Span) -> list[Event]:
        """A run, a turn, a handoff, a custom span: at most it hands a failure on."""
        events = self._untold_model_call(span)
        failure = self.state.failed.get(text_of(span.id) or "")
        if failure is not None:
            self._pass_on(span, failure)
        elif span.error and span.wraps:
            end = self._event(span, "agent_end", span.ended_at)
            error_of(span.error).write(end)
            events += self._own_failure(span, end)
        return events

    def _untold_model_call(self, span: Span) -> list[Event]:
        """A model of the user's own may write no span: then its turn alone tells what it used."""
        usage = mapping_of(span.wraps.get("usage"))
        is_told = (text_of(span.id) or "") in self.state.with_models
        if is_told or not usage or span.span_data.name != "turn":
            return []
        call = self._event(span, "model_call", span.started_at)
        call.status, call.operation = "completed", "model"
        call.agent = text_of(span.wraps.get("agent_name"))
        _write_usage(usage, call)
        return [call]

    # -- calls -----------------------------------------------------------------------------

    def _model(self, span: Span) -> list[Event]:
        start, end = self._pair(span, "model_call", "model_call")
        data = span.span_data
        model = text_of(data.model)
        for event in (start, end):
            event.operation, event.model = model or text_of(data.type), model
        _write_usage(mapping_of(data.usage), end)
        replace(self.state.with_models, text_of(span.parent_id) or "", True)
        self._judge(span, end)
        return [start, end] if span.ended_at is not None else [start]

    def _tool(self, span: Span) -> list[Event]:
        start, end = self._pair(span, "tool_call", "tool_result")
        start.operation = end.operation = text_of(span.span_data.name)
        start.arguments_hash = hash_arguments(value_of(span.span_data.input))
        self._judge(span, end)
        if not span.error:
            hidden = failure_in_output(value_of(span.span_data.output))
            if hidden is not None:
                hidden.write(end)
        return [start, end] if span.ended_at is not None else [start]

    def _mcp_tools(self, span: Span) -> list[Event]:
        start, end = self._pair(span, "tool_call", "tool_result")
        server = text_of(span.span_data.server)
        start.operation = end.operation = f"mcp:{server}" if server else "mcp"
        self._judge(span, end)
        return [start, end]

    def _guardrail(self, span: Span) -> list[Event]:
        if span.span_data.triggered is not True:
            return []
        audit = self._event(span, "audit", span.ended_at)
        audit.operation, audit.status = "guardrail", "failed"
        name = text_of(span.span_data.name)
        audit.error_message = f"guardrail triggered: {name or 'unnamed'}"
        audit.metadata = {"guardrail": name}
        self._pass_on(span, Failure(audit.error_message))
        return [audit]

    def _judge(self, span: Span, end: Event) -> None:
        """Settle a call's status, and whether what encloses it fails by it."""
        of_model = end.event_type == "model_call"
        if not span.error:
            parent = text_of(span.parent_id) or ""
            before = self.state.failed.get(parent)
            if of_model and before is not None and before.of_model:
                del self.state.failed[parent]  # it was tried again, and it worked
            return
        error = error_of(span.error)
        # A tool that handed the work to an agent was cut short: the failure is the agent's.
        is_told = (text_of(span.id) or "") in self.state.failed
        is_stopped = "cancelled" in span.error_label.lower()
        error.write(end, "aborted" if is_stopped or is_told else "failed")
        ends_more = _HANDLED not in span.error_label and not is_stopped
        if ends_more and span.error_label:  # the SDK labels all that a run may fail by
            self._pass_on(span, Failure(error.message or "", of_model))

    def _pass_on(self, span: Span, failure: Failure) -> None:
        parent = text_of(span.parent_id)
        if parent:
            replace(self.state.failed, parent, failure)

    def _pair(self, span: Span, starts: EventType, ends: EventType) -> tuple[Event, Event]:
        start = self._event(span, starts, span.started_at)
        end = self._event(span, ends, span.ended_at)
        end.status = "completed"
        if end.timestamp >= start.timestamp:
            end.duration_seconds = end.timestamp - start.timestamp
        return start, end

    @staticmethod
    def _event(span: Span, event_type: EventType, time: object) -> Event:
        timestamp = time_of(time)
        return Event(
            timestamp=timestamp,
            trace_id=text_of(span.trace_id) or "",
            event_type=event_type,
            status="started",
            call_id=text_of(span.id),
            parent_id=text_of(span.parent_id),
        )


def _write_usage(usage: Mapping[str, Any], call: Event) -> None:
    call.input_tokens = count_of(usage.get("input_tokens", usage.get("prompt_tokens")))
    call.output_tokens = count_of(usage.get("output_tokens", usage.get("completion_tokens")))


DIALECT = Dialect(
    name="openai_agents",
    framework="openai_agents",
    recognise=recognise,
    decoder=AgentsDecoder,
    disorder_seconds=5.0,  # the exporter's interval; spans are written when they end
    is_unique=True,
    description="OpenAI Agents SDK traces and spans: object trace or trace.span, span_data",
    written_by="a tracing processor that writes `trace.export()` and `span.export()`, one a line",
)
