"""pydantic-ai's message history: requests and responses, each with its parts.

The history lacks the failure that ended a run: a run that ends well ends with a response that
asks for no tool. Tools that must be called again say so in an outcome, or in a part of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, error_in_text, first_line
from lastsignal.core.aliases.fields import (
    amount_of,
    at,
    attempt_of,
    count_of,
    list_of,
    mapping_of,
    text_of,
)
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, remember
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status
from lastsignal.core.timestamps import time_of

_CALLS = frozenset({"tool-call", "builtin-tool-call"})
_RETURNS = frozenset({"tool-return", "builtin-tool-return"})
_OUTCOMES: dict[str, Status] = {
    "failed": "failed",
    "retried": "failed",
    "denied": "aborted",
    "interrupted": "aborted",
}


class _Message(msgspec.Struct, gc=False):
    kind: Any
    parts: list[Any]
    timestamp: Any = None
    model_name: Any = None
    usage: Any = None
    finish_reason: Any = None
    run_id: Any = None
    failed_attempts: Any = None
    state: Any = None

    @property
    def known_parts(self) -> list[dict[str, Any]]:
        """The parts that are objects."""
        return [part for part in self.parts if isinstance(part, dict)]


class HistoryState(msgspec.Struct):
    """What later messages depend on."""

    open: dict[str, float] = {}
    retries: dict[str, int] = {}
    """Tool → how often it has been sent back in a row."""


_decode = msgspec.json.Decoder(_Message).decode


def recognise(value: Any) -> bool:
    """A request or a response made of parts."""
    return (
        isinstance(value, dict)
        and value.get("kind") in ("request", "response")
        and isinstance(value.get("parts"), list)
    )


class HistoryDecoder:
    """Decodes one message after another."""

    def __init__(self, source: str) -> None:
        self.state = HistoryState()
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the calls that a message tells of; see `contract.Decoder`."""
        try:
            message = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if message.kind not in ("request", "response"):
            raise NotThisDialect
        told = list(
            self._request(message) if message.kind == "request" else self._response(message)
        )
        return told or Drop("prompt")

    def _run(self, message: _Message, time: object) -> Run:
        at_time = time_of(time)
        run_id = text_of(message.run_id)
        return Run(run_id or "", run_id or "run", None, "agent", at_time)

    def _request(self, message: _Message) -> Iterator[Event]:
        for part in message.known_parts:
            run = self._run(message, part.get("timestamp", message.timestamp))
            kind = _kind_of(part)
            if kind == "user-prompt":
                yield from run.open(self.state.open)
            elif kind in _RETURNS:
                yield from run.open(self.state.open)
                yield from self._return(run, part)
            elif kind == "retry-prompt":
                yield from run.open(self.state.open)
                yield from self._retry_prompt(run, part)
        if message.state == "interrupted":
            run = self._run(message, message.timestamp)
            yield from run.close(self.state.open, "aborted", finish_reason="interrupted")

    def _response(self, message: _Message) -> Iterator[Event]:
        run = self._run(message, message.timestamp)
        yield from run.open(self.state.open)
        yield from self._attempts(run, message)
        model, usage = text_of(message.model_name), mapping_of(message.usage)
        yield run.event(
            event_type="model_call",
            status="aborted" if message.state == "interrupted" else "completed",
            operation=model or "model",
            model=model,
            input_tokens=count_of(usage.get("input_tokens", usage.get("request_tokens"))),
            output_tokens=count_of(usage.get("output_tokens", usage.get("response_tokens"))),
            cost_usd=amount_of(usage.get("cost")),
            finish_reason=text_of(message.finish_reason),
        )
        calls = False
        for part in message.known_parts:
            kind = _kind_of(part)
            if kind in _CALLS:
                calls = calls or kind == "tool-call"
                yield self._call(run, part)
            elif kind in _RETURNS:
                yield from self._return(run, part)
        if not calls and message.state in (None, "complete"):
            yield from run.close(self.state.open)

    @staticmethod
    def _attempts(run: Run, message: _Message) -> Iterator[Event]:
        """Models that failed before this one answered: each its own call, then the next try."""
        for number, attempt in enumerate(list_of(message.failed_attempts), 1):
            model = text_of(at(attempt, "model_name"))
            said = text_of(at(attempt, "error"))
            error = (
                error_in_text(said) if said else ErrorFields("response rejected", None, "rejected")
            )
            failed = run.event(event_type="model_call", operation=model or "model", model=model)
            error.write(failed)
            yield failed
            retry = run.event(event_type="retry", operation=model or "model", attempt=number)
            error.write(retry, "started")
            yield retry

    @staticmethod
    def _call(run: Run, part: Mapping[str, Any]) -> Event:
        return run.event(
            event_type="tool_call",
            status="started",
            operation=text_of(part.get("tool_name")),
            call_id=text_of(part.get("tool_call_id")),
            arguments_hash=hash_arguments(part.get("args")),
        )

    def _return(self, run: Run, part: Mapping[str, Any]) -> Iterator[Event]:
        outcome = part.get("outcome")
        status = _OUTCOMES.get(outcome, "completed") if isinstance(outcome, str) else "completed"
        content = part.get("content")
        error = NO_ERROR if status == "completed" else ErrorFields(_first_line(content), None, None)
        if status == "completed":
            hidden = failure_in_output(content, is_said_ok=outcome == "success")
            if hidden is not None:
                status, error = "failed", hidden
        tool = text_of(part.get("tool_name"))
        yield self._end(run, part, status, error)
        if outcome == "retried":
            yield from self._retry(run, tool, error, mapping_of(part.get("retry")))
        else:
            self.state.retries.pop(tool or "", None)

    def _retry_prompt(self, run: Run, part: Mapping[str, Any]) -> Iterator[Event]:
        """A call that must be made again, or an answer of the model that must be given again."""
        content, tool = part.get("content"), text_of(part.get("tool_name"))
        if isinstance(content, list):
            message = text_of(at(content, 0, "msg")) or "validation error"
            error = ErrorFields(f"validation error: {message}", None, "ValidationError")
        else:
            error = ErrorFields(_first_line(content), None, "ModelRetry")
        if tool is not None:
            yield self._end(run, part, "failed", error)
        yield from self._retry(run, tool, error, {})

    def _retry(
        self, run: Run, tool: str | None, error: ErrorFields, info: Mapping[str, Any]
    ) -> Iterator[Event]:
        name = tool or "model"
        count = self.state.retries.get(name, 0) + 1
        self.state.retries.pop(name, None)
        remember(self.state.retries, name, count)
        limit = count_of(info.get("max_retries"))
        retry = run.event(
            event_type="retry",
            operation=name,
            attempt=attempt_of(info.get("attempt")) or count,
            metadata=None if limit is None else {"max_attempts": limit},
        )
        error.write(retry, "started")
        yield retry

    @staticmethod
    def _end(run: Run, part: Mapping[str, Any], status: Status, error: ErrorFields) -> Event:
        end = run.event(
            event_type="tool_result",
            operation=text_of(part.get("tool_name")),
            call_id=text_of(part.get("tool_call_id")),
        )
        error.write(end, status)
        return end


def _kind_of(part: Mapping[str, Any]) -> str:
    kind = part.get("part_kind")
    return kind if isinstance(kind, str) else ""


def _first_line(content: object) -> str | None:
    return first_line(content) if isinstance(content, str) else None


DIALECT = Dialect(
    name="pydantic_ai_messages",
    framework="pydantic_ai",
    recognise=recognise,
    decoder=HistoryDecoder,
    is_unique=True,
    description="pydantic-ai message history: kind request or response, parts",
    written_by="programs that write `result.all_messages_json()`",
)
