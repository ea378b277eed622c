"""Qwen Code's chats: `~/.qwen/projects/<project>/chats/<session>.jsonl`.

A fork of Gemini CLI with records like Claude Code's: a record per message, its content in parts.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, http_status_of
from lastsignal.core.aliases.fields import at, count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.gemini.tool_results import (
    Judged,
    judge_call,
    judge_failure,
    judge_output,
)
from lastsignal.core.aliases.giving_up import Streaks, after_failure, fail, give_up
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run, name_by, remember, replace
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

AGENT = "qwen-code"
_ABSENT = msgspec.Raw(b"")
_ATTEMPTS = 5
"""The client's calls for one request, by default."""
_TYPES = frozenset({"user", "assistant", "tool_result", "system"})
_API_ERROR = re.compile(r"\s*\[API Error: ?(.*?)\]?\s*$", re.DOTALL)


class _Record(msgspec.Struct, gc=False):
    sessionId: Any = None
    uuid: Any = None
    timestamp: Any = None
    type: Any = None
    subtype: Any = None
    message: msgspec.Raw = _ABSENT
    model: Any = None
    usageMetadata: Any = None
    toolCallResult: msgspec.Raw = _ABSENT
    systemPayload: msgspec.Raw = _ABSENT


class QwenState(msgspec.Struct):
    """What must survive a restart to read the next record."""

    open_runs: dict[str, float] = {}
    records: dict[str, bool] = {}
    """Records that are told: a resumed chat may hold copies."""
    calls: dict[str, str] = {}
    models: dict[str, str] = {}
    streaks: Streaks = {}


_decode_record = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A message in parts, or one of the client's own system records."""
    if not isinstance(value, dict) or not isinstance(value.get("sessionId"), str):
        return False
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return False
    if kind == "system":
        return "systemPayload" in value
    return isinstance(at(value, "message", "parts"), list) or "toolCallResult" in value


class QwenDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: QwenState = QwenState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        return name_by(text_of(line.uuid), self._read(line))

    def _read(self, line: _Record) -> Decoded:
        session, kind = text_of(line.sessionId), line.type
        if session is None or not isinstance(kind, str) or kind not in _TYPES:
            raise NotThisDialect
        moment = time_of(line.timestamp)
        run = Run(session, session, None, AGENT, moment)
        uuid = text_of(line.uuid)
        if kind == "system":
            if not bytes(line.systemPayload) and not bytes(line.message):
                raise NotThisDialect
            if uuid and not remember(self.state.records, f"{session}/{uuid}", True):
                return Drop("copied_record")
            return self._system(run, line)
        parts = at(value_of(line.message), "parts")
        if not isinstance(parts, list) and not bytes(line.toolCallResult):
            raise NotThisDialect
        if uuid and not remember(self.state.records, f"{session}/{uuid}", True):
            return Drop("copied_record")
        parts = [part for part in list_of(parts) if isinstance(part, dict)]
        if kind == "assistant":
            return self._answer(run, line, parts)
        if kind == "tool_result" or any("functionResponse" in part for part in parts):
            return self._tool_results(run, line, parts) or Drop("malformed_record")
        return give_up(self.state.streaks, self.state.open_runs, run) or Drop("prompt")

    def _answer(self, run: Run, line: _Record, parts: list[dict[str, Any]]) -> list[Event]:
        state = self.state
        usage = mapping_of(line.usageMetadata)
        model = text_of(line.model)
        calls = [call for part in parts if isinstance(call := part.get("functionCall"), dict)]
        if model:
            replace(state.models, run.trace_id, model)
        events = run.open(state.open_runs)
        text = next((text for part in parts if isinstance(text := part.get("text"), str)), "")
        api_error = None if calls or usage else _API_ERROR.match(text)
        if api_error:
            # it stands in the chat when the client has given up
            events += self._failed(run, provider_error(api_error[1]))
            return events + give_up(state.streaks, state.open_runs, run)
        events += after_failure(state.streaks, run, model)
        events.append(_model_call(run, text_of(line.uuid), model, usage, bool(calls)))
        for call in calls:
            call_id, name = text_of(call.get("id")), text_of(call.get("name"))
            if call_id and not remember(state.calls, call_id, name or ""):
                continue
            events.append(
                run.event(
                    event_type="tool_call",
                    status="started",
                    operation=name,
                    call_id=call_id,
                    arguments_hash=hash_arguments(call.get("args")),
                )
            )
        if not calls:
            events += run.close(state.open_runs)
        return events

    def _tool_results(self, run: Run, line: _Record, parts: list[dict[str, Any]]) -> list[Event]:
        details = mapping_of(value_of(line.toolCallResult))
        responses = [
            response for part in parts if isinstance(response := part.get("functionResponse"), dict)
        ]
        if not responses and details:
            responses = [{}]
        events: list[Event] = []
        for response in responses:
            call_id = text_of(response.get("id")) or text_of(details.get("callId"))
            told = details if text_of(details.get("callId")) in (None, call_id) else {}
            name = self.state.calls.get(call_id or "") or text_of(response.get("name"))
            end = run.event(event_type="tool_result", operation=name, call_id=call_id)
            _judge(name, mapping_of(response.get("response")), told).write(end)
            events.append(end)
        return events

    def _system(self, run: Run, line: _Record) -> Decoded:
        payload = mapping_of(value_of(line.systemPayload))
        if line.subtype == "chat_compression":
            facts = {
                "tokens_before": count_of(at(payload, "info", "originalTokenCount")),
                "tokens_after": count_of(at(payload, "info", "newTokenCount")),
            }
            return [
                run.event(
                    event_type="audit",
                    operation="compaction",
                    status="completed",
                    metadata={name: count for name, count in facts.items() if count is not None},
                )
            ]
        told = mapping_of(payload.get("uiEvent"))
        if line.subtype != "ui_telemetry" or told.get("event.name") != "qwen-code.api_error":
            return Drop("telemetry_detail" if line.subtype == "ui_telemetry" else "system_notice")
        found = provider_error(text_of(told.get("error_message")) or text_of(told.get("error")))
        status = http_status_of(told.get("status_code")) or found.http_status
        kind = text_of(told.get("error_type")) or found.type
        model = text_of(told.get("model"))
        if model:
            replace(self.state.models, run.trace_id, model)
        return self._failed(run, ErrorFields(found.message or kind, status, kind))

    def _failed(self, run: Run, error: ErrorFields) -> list[Event]:
        state = self.state
        model = state.models.get(run.trace_id)
        failed = run.event(event_type="model_call", operation=model or "qwen", model=model)
        error.write(failed)
        return fail(state.streaks, state.open_runs, run, failed, _ATTEMPTS)


def _judge(name: str | None, response: Any, told: Any) -> Judged:
    """Judge a result by the client's own record of it, else by the response."""
    if told:
        judged = judge_call({"name": name, "status": told.get("status")})
        if judged is not None and judged.status != "completed":
            error = told.get("error") or response.get("error")
            return judge_failure(judged.status, error, told.get("resultDisplay"))
    if response.get("error"):
        return judge_failure("failed", response["error"], None)
    return judge_output(name, response.get("output"))


def _model_call(
    run: Run, uuid: str | None, model: str | None, usage: Any, has_calls: bool
) -> Event:
    thoughts = count_of(usage.get("thoughtsTokenCount")) or 0
    output = count_of(usage.get("candidatesTokenCount"))
    facts = {
        "cache_read_tokens": count_of(usage.get("cachedContentTokenCount")),
        "thinking_tokens": thoughts,
    }
    return run.event(
        event_type="model_call",
        status="completed",
        operation=model or "qwen",
        model=model,
        call_id=uuid,
        input_tokens=count_of(usage.get("promptTokenCount")),
        output_tokens=None if output is None else output + thoughts,
        finish_reason="tool_calls" if has_calls else None,
        metadata={name: count for name, count in facts.items() if count} or None,
    )


DIALECT = Dialect(
    name="qwen_session",
    framework="qwen-code",
    recognise=recognise,
    decoder=QwenDecoder,
    one_at_a_time=True,
    is_copied=True,
    description="Qwen Code chat: records of sessionId, uuid, type and message.parts",
    default_paths=("~/.qwen/projects/*/chats/*.jsonl", "~/.qwen/tmp/*/chats/*.jsonl"),
)
