"""OpenTelemetry spans: OTLP/JSON with GenAI names, and the SDK's own with OpenInference."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from corpus.story import Failure, Step, Story

Line = tuple[float, dict[str, Any]]
Said = tuple[str, dict[str, Any]]
"""A span's name and attributes."""


def identifier(text: str, size: int) -> str:
    """Return a hexadecimal id that is always the same for a text."""
    return blake2b(text.encode(), digest_size=size).hexdigest()


def trace_of(story: Story) -> str:
    """Return the trace's id."""
    return identifier(story.trace, 16)


@dataclass(frozen=True)
class _Span:
    """A span before it is spelled in one of the encodings."""

    name: str
    span_id: str
    parent_id: str | None
    began: float
    ended: float
    attributes: dict[str, Any]
    error: Failure | None


def _spans(story: Story, said: Callable[[Step, Story], Said], run: Said) -> Iterator[_Span]:
    """Yield a run's spans: each call that has ended, and the agent around them."""
    root = identifier(f"{story.trace}/root", 8)
    for index, step in enumerate(story.steps):
        if step.ended is not None:
            span_id = identifier(f"{story.trace}/{index}", 8)
            name, facts = said(step, story)
            yield _Span(name, span_id, root, step.began, step.ended, facts, step.error)
    yield _Span(run[0], root, None, story.began, story.ended, run[1], story.error)


def write_otlp(story: Story) -> list[Line]:
    """Write one export request a span, each when it has ended."""
    run = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": story.agent}
    spans = _spans(story, _genai, (f"invoke_agent {story.agent}", run))
    return [(span.ended, _as_otlp(span, trace_of(story))) for span in spans]


def _as_otlp(span: _Span, trace: str) -> dict[str, Any]:
    attributes, status = dict(span.attributes), {}
    events: list[dict[str, Any]] = []
    if span.error is not None:
        status = {"code": 2, "message": span.error.text}
        attributes["error.type"] = span.error.kind
        facts = {"exception.type": span.error.kind, "exception.message": span.error.text}
        attached = {"name": "exception", "attributes": _pairs(facts)}
        events = [{"timeUnixNano": _nanoseconds(span.ended), **attached}]
    record = {
        "traceId": trace,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id or "",
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": _nanoseconds(span.began),
        "endTimeUnixNano": _nanoseconds(span.ended),
        "attributes": _pairs(attributes),
        "events": events,
        "status": status,
    }
    scopes = [{"scope": {"name": "agent"}, "spans": [record]}]
    return {"resourceSpans": [{"scopeSpans": scopes}]}


def _genai(step: Step, story: Story) -> tuple[str, dict[str, Any]]:
    if step.kind == "tool":
        return f"execute_tool {step.name}", {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": step.name,
            "gen_ai.tool.call.arguments": json.dumps(step.arguments),
            "gen_ai.tool.call.result": step.output,
        }
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": step.name,
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": story.prompt}]),
    }
    if step.attempt:
        attributes["http.request.resend_count"] = step.attempt
    if step.error is not None:
        if step.error.http_status is not None:
            attributes["http.response.status_code"] = step.error.http_status
        return f"chat {step.name}", attributes
    attributes["gen_ai.usage.input_tokens"] = step.input_tokens
    attributes["gen_ai.usage.output_tokens"] = step.output_tokens
    attributes["gen_ai.response.finish_reasons"] = [step.finish]
    return f"chat {step.name}", attributes


def _pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}


def _nanoseconds(at: float) -> str:
    return str(round(at * 1000) * 1_000_000)


def write_openinference(story: Story) -> list[Line]:
    """Write spans as the SDK's console exporter does, with OpenInference's attributes."""
    run = {"openinference.span.kind": "AGENT", "agent.name": story.agent}
    spans = _spans(story, _openinference, (story.agent, run))
    return [(span.ended, _as_sdk(span, trace_of(story))) for span in spans]


def _as_sdk(span: _Span, trace: str) -> dict[str, Any]:
    status: dict[str, Any] = {"status_code": "OK"}
    events: list[dict[str, Any]] = []
    if span.error is not None:
        text = f"{span.error.kind}: {span.error.text}"
        status = {"status_code": "ERROR", "description": text}
        facts = {"exception.type": span.error.kind, "exception.message": span.error.text}
        events = [{"name": "exception", "timestamp": _iso(span.ended), "attributes": facts}]
    return {
        "name": span.name,
        "context": {"trace_id": f"0x{trace}", "span_id": f"0x{span.span_id}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": f"0x{span.parent_id}" if span.parent_id else None,
        "start_time": _iso(span.began),
        "end_time": _iso(span.ended),
        "status": status,
        "attributes": span.attributes,
        "events": events,
        "links": [],
        "resource": {"attributes": {"service.name": "travel"}, "schema_url": ""},
    }


def _openinference(step: Step, story: Story) -> tuple[str, dict[str, Any]]:
    if step.kind == "tool":
        return step.name, {
            "openinference.span.kind": "TOOL",
            "tool.name": step.name,
            "input.value": json.dumps(step.arguments),
            "output.value": step.output,
        }
    attributes: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "llm.model_name": step.name,
        "input.value": story.prompt,
    }
    if step.error is None:
        attributes["llm.token_count.prompt"] = step.input_tokens
        attributes["llm.token_count.completion"] = step.output_tokens
    return "ChatCompletion", attributes


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
