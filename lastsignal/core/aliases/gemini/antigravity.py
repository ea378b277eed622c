"""Antigravity: `brain/<id>/.system_generated/logs/transcript*.jsonl`, one step a line.

A planner's step is a model call; the steps after it are its tool calls, in order, each written when
it has ended. Nothing names a session: the file is one.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import count_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run, remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import parse_timestamp, time_of

AGENT = "antigravity"
_ABSENT = msgspec.Raw(b"")
_SOURCES = frozenset({"USER_EXPLICIT", "USER_IMPLICIT", "MODEL", "SYSTEM"})
_HEAD = 2000  # characters; what follows is the tool's output

# What Antigravity itself writes at the head of a step, before the tool's own words.
_HEADER = re.compile(r"\s*(?:(?:Created|Completed) At: [^\n]*\n?\s*)+")
_COMPLETED_AT = re.compile(r"Completed At: (\S+)")
_STEP_ERROR = re.compile(
    r"\s*Encountered error in step execution: (?:error executing cascade step: \w+: )?"
)
_EXIT_CODE = re.compile(r"\s*The command failed with exit code: (\d+)")
_BACKGROUND = "Tool is running as a background task"

_INVALID_CALL = re.compile(r"invalid tool call|parsing the tool call", re.IGNORECASE)
_DENIED = re.compile(r"tool call denied|denied (?:by|permission)|user (?:denied|rejected)", re.I)
_ERROR_KIND = re.compile(r"tool call error \((\w+)\) *")
_ERROR_MESSAGE = re.compile(r"Error Message: (?:model output error: )?([^\n]+)")
_RETRIES_LEFT = re.compile(r"Retries remaining: (\d{1,3})\b")
_RETRIES = 5


class _Step(msgspec.Struct, gc=False):
    step_index: Any = None
    source: Any = None
    type: Any = None
    status: Any = None
    created_at: Any = None
    content: msgspec.Raw = _ABSENT
    error: Any = None
    tool_calls: msgspec.Raw = _ABSENT


class AntigravityState(msgspec.Struct):
    """What must survive a restart to read the next step."""

    open_runs: dict[str, float] = {}
    pending: dict[str, str] = {}
    """The calls of the last planner's step: the index that each result should have → tool."""
    ended: dict[str, bool] = {}
    """Steps whose end is told → whether they failed: a background task's step comes again."""


_decode_step = msgspec.json.Decoder(_Step).decode


def recognise(value: Any) -> bool:
    """A step: its index, who made it, and how it ended."""
    return (
        isinstance(value, dict)
        and "step_index" in value
        and "status" in value
        and isinstance(source := value.get("source"), str)
        and source in _SOURCES
    )


class AntigravityDecoder:
    """Decodes one step after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: AntigravityState = AntigravityState()

    def decode(self, record: bytes) -> Decoded:
        """Return the step's events; see `contract.Decoder`."""
        try:
            step = _decode_step(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if step.step_index is None or not isinstance(step.source, str):
            raise NotThisDialect
        if step.source not in _SOURCES:
            raise NotThisDialect
        kind = text_of(step.type) or ""
        if step.status == "RUNNING" and kind == "PLANNER_RESPONSE":
            return Drop("progress")
        moment = time_of(step.created_at)
        run = Run("", "session", None, AGENT, moment)
        events: Decoded = self._read(step, kind, run)
        if isinstance(events, list):
            for event in events:
                event.sequence = count_of(step.step_index)
        return events

    def _read(self, step: _Step, kind: str, run: Run) -> Decoded:
        if kind == "PLANNER_RESPONSE":
            return self._planned(step, run)
        if kind == "ERROR_MESSAGE":
            return self._error(step, run)
        if kind == "CHECKPOINT":
            return [run.event(event_type="audit", operation="compaction", status="completed")]
        if step.source != "MODEL":
            return Drop("message")
        return self._ended(step, kind, run)

    def _planned(self, step: _Step, run: Run) -> Decoded:
        index = count_of(step.step_index)
        if not remember(self.state.ended, f"plan/{index}", False):
            return Drop("repeated_step")
        calls = value_of(step.tool_calls)
        calls = (
            [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        )
        events = run.open(self.state.open_runs)
        events.append(
            run.event(
                event_type="model_call",
                status="completed",
                operation=AGENT,
                call_id=f"plan/{index}",
                finish_reason="tool_calls" if calls else None,
            )
        )
        self.state.pending = {}
        for number, call in enumerate(calls[:1000], 1):
            call_id = str((index or 0) + number)
            name = text_of(call.get("name"))
            self.state.pending[call_id] = name or ""
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
            events += run.close(self.state.open_runs)
        return events

    def _claim(self, step: _Step) -> tuple[str | None, str | None]:
        """Return the call that a step ends: by its index, else the oldest that is open."""
        index = text_of(step.step_index) or ""
        pending = self.state.pending
        claimed = index if index in pending or not pending else next(iter(pending))
        return claimed or None, pending.pop(claimed, None) or None

    def _ended(self, step: _Step, kind: str, run: Run) -> Decoded:
        index = text_of(step.step_index) or ""
        content = value_of(step.content)
        head = content[:_HEAD] if isinstance(content, str) else ""
        completed = _COMPLETED_AT.search(head[:200])
        header = _HEADER.match(head)
        body = head[header.end() :] if header else head
        failed = step.status == "ERROR"
        background = step.status == "RUNNING"
        if background and not body.startswith(_BACKGROUND):
            return Drop("progress")
        if index in self.state.ended and (self.state.ended[index] or not failed):
            return Drop("repeated_step")
        self.state.ended.pop(index, None)
        remember(self.state.ended, index, failed)
        call_id, name = self._claim(step)
        end = run.event(
            event_type="tool_result",
            status="completed",
            operation=name or kind.lower() or None,
            call_id=call_id,
            metadata={"background": True} if background else None,
        )
        moment = parse_timestamp(completed[1]) if completed else None
        if moment is not None and not end.timestamp > moment:
            end.timestamp = moment
        exit_code = _EXIT_CODE.match(body)
        if failed:
            error = unwrap_error(step.error) if step.error else ErrorFields()
            text = _STEP_ERROR.sub("", body, count=1)
            (error if error.message else provider_error(text)).write(end)
        elif exit_code:
            ErrorFields(f"Exit code: {exit_code[1]}").write(end)
            end.metadata = {"exit_code": int(exit_code[1])}
        return [end]

    def _error(self, step: _Step, run: Run) -> Decoded:
        """A call that could not be read, or a call of the model that was given up."""
        text = text_of(step.error) or ""
        content = value_of(step.content)
        words = content[:_HEAD] if isinstance(content, str) else text
        told = _ERROR_MESSAGE.search(text or words)
        message = told[1].strip() if told else text or _HEADER.sub("", words, count=1)
        events = run.open(self.state.open_runs)
        if _INVALID_CALL.search(words) or _INVALID_CALL.search(text) or _DENIED.search(message):
            operation = self._invalid_call(step, run, message, events)
        else:
            operation = AGENT
            failed = run.event(event_type="model_call", operation=AGENT)
            provider_error(message).write(failed)
            events.append(failed)
        found = _RETRIES_LEFT.search(text) or _RETRIES_LEFT.search(words)
        left = int(found[1]) if found else None
        failure = events[-1]
        if left and left < _RETRIES:
            events.append(_retry(run, operation, failure, _RETRIES - left))
        elif left == 0 or failure.event_type == "model_call":
            error = ErrorFields(failure.error_message, failure.http_status, failure.error_type)
            events += run.close(self.state.open_runs, "failed", error)
        return events

    def _invalid_call(self, step: _Step, run: Run, message: str, events: list[Event]) -> str | None:
        call_id, name = self._claim(step)
        kind = _ERROR_KIND.search(message)
        error = unwrap_error(message[kind.end() :] if kind else message)
        end = run.event(event_type="tool_result", operation=name, call_id=call_id)
        error_type = kind[1] if kind else error.type
        denied = _DENIED.search(message) is not None
        ErrorFields(error.message, error.http_status, error_type).write(
            end, "aborted" if denied else "failed"
        )
        events.append(end)
        return name


def _retry(run: Run, operation: str | None, failure: Event, attempt: int) -> Event:
    return run.event(
        event_type="retry",
        status="started",
        operation=operation,
        attempt=attempt,
        error_message=failure.error_message,
        error_type=failure.error_type,
        http_status=failure.http_status,
        metadata={"max_attempts": _RETRIES},
    )


DIALECT = Dialect(
    name="antigravity",
    framework="antigravity",
    recognise=recognise,
    decoder=AntigravityDecoder,
    disorder_seconds=5.0,
    is_unique=True,
    description="Antigravity transcript: records of step_index, source, type and status",
    default_paths=("~/.gemini/antigravity/brain/*/.system_generated/logs/transcript*.jsonl",),
)
