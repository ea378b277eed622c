"""OpenTelemetry spans: OTLP/JSON with GenAI names, and the SDK's own with OpenInference."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from corpus.story import Failure, Step, Story

Line = tuple[float, dict[str, Any]]


def identifier(text: str, size: int) -> str:
    """Return a hexadecimal id that is always the same for a text."""
    return blake2b(text.encode(), digest_size=size).hexdigest()


def trace_of(story: Story) -> str:
    """Return the trace's id."""
    return identifier(story.trace, 16)


def write_otlp(story: Story) -> list[Line]:
    """Write one export request a span, each when it has ended."""
    trace, root = trace_of(story), identifier(f"{story.trace}/root", 8)
    lines: list[Line] = []

    def add(name: str, span: str, began: float, ended: float, **said: Any) -> None:
        error: Failure | None = said.get("error")
        attributes = dict(said["attributes"])
        events: list[dict[str, Any]] = []
        status: dict[str, Any] = {}
        if error is not None:
            status = {"code": 2, "message": error.text}
            attributes["error.type"] = error.kind
            facts = {"exception.type": error.kind, "exception.message": error.text}
            attached = {"name": "exception", "attributes": _pairs(facts)}
            events = [{"timeUnixNano": _nanoseconds(ended), **attached}]
        record = {
            "traceId": trace,
            "spanId": span,
            "parentSpanId": said.get("parent", root),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": _nanoseconds(began),
            "endTimeUnixNano": _nanoseconds(ended),
            "attributes": _pairs(attributes),
            "events": events,
            "status": status,
        }
        scopes = [{"scope": {"name": "agent"}, "spans": [record]}]
        lines.append((ended, {"resourceSpans": [{"scopeSpans": scopes}]}))

    for index, step in enumerate(story.steps):
        if step.ended is not None:
            name, attributes = _genai(step, story)
            span = identifier(f"{story.trace}/{index}", 8)
            add(name, span, step.began, step.ended, attributes=attributes, error=step.error)
    run = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": story.agent}
    name = f"invoke_agent {story.agent}"
    add(name, root, story.began, story.ended, attributes=run, error=story.error, parent="")
    return lines


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
    trace, root = f"0x{identifier(story.trace, 16)}", f"0x{identifier(f'{story.trace}/root', 8)}"
    lines: list[Line] = []

    def add(name: str, span: str, began: float, ended: float, **said: Any) -> None:
        error: Failure | None = said.get("error")
        status: dict[str, Any] = {"status_code": "OK"}
        events: list[dict[str, Any]] = []
        if error is not None:
            status = {"status_code": "ERROR", "description": f"{error.kind}: {error.text}"}
            facts = {"exception.type": error.kind, "exception.message": error.text}
            events = [{"name": "exception", "timestamp": _iso(ended), "attributes": facts}]
        record = {
            "name": name,
            "context": {"trace_id": trace, "span_id": span, "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": said.get("parent", root),
            "start_time": _iso(began),
            "end_time": _iso(ended),
            "status": status,
            "attributes": said["attributes"],
            "events": events,
            "links": [],
            "resource": {"attributes": {"service.name": "travel"}, "schema_url": ""},
        }
        lines.append((ended, record))

    for index, step in enumerate(story.steps):
        if step.ended is not None:
            name, attributes = _openinference(step, story)
            span = f"0x{identifier(f'{story.trace}/{index}', 8)}"
            add(name, span, step.began, step.ended, attributes=attributes, error=step.error)
    run = {"openinference.span.kind": "AGENT", "agent.name": story.agent}
    add(
        story.agent,
        root,
        story.began,
        story.ended,
        attributes=run,
        error=story.error,
        parent=None,
    )
    return lines


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
