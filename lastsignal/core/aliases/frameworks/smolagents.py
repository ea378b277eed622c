"""smolagents' memory: the task, the steps of the agent, its plans.

A step holds the model's answer, the calls, and what failed. Where a tool failed the step has no
calls, only the answer that asked for them; where the model's call raised, it has nothing at all.
Up to version 1.13 a step has its times beside its number, and does not say whether it was the last:
of an agent that writes code that cannot be told, so each of its steps may have ended the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect, holds
from lastsignal.core.aliases.error_text import ErrorFields, first_line, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, count_of, list_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import NO_ERROR, Run
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

AGENT = "agent"
_MODEL_ERRORS = frozenset({"AgentGenerationError", "AgentParsingError"})
_PREFIX = re.compile(r"Error in generating model output:\s*")
_EXECUTING = re.compile(
    r"Error executing (?:tool|request to team member) '(\w+)' with arguments .*?\}: (\w+): (.*)",
    re.DOTALL,
)
_UNKNOWN_TOOL = re.compile(r"Unknown tool (\w+)")
_NAMED_TOOL = re.compile(r"[^\n']{0,60}\b(?:tool|team member) '(\w{1,100})'")
_NO_ANSWER = ErrorFields("the call of the model raised; its error is not in the memory")


_OLD_STEP = frozenset(
    {"step", "start_time", "end_time", "tool_calls", "error", "model_output", "observations"}
)
_FINAL, _CODE = "final_answer", "python_interpreter"
_NULL = msgspec.Raw(b"null")
_ABSENT = msgspec.Raw(b"")


class _Step(msgspec.Struct, gc=False):
    step_number: Any = msgspec.UNSET
    timing: Any = None
    step: Any = msgspec.UNSET
    start_time: Any = msgspec.UNSET
    end_time: Any = None
    duration: Any = None
    is_final_answer: Any = None
    tool_calls: Any = None
    error: Any = None
    token_usage: Any = None
    model_output: msgspec.Raw = _NULL
    model_output_message: msgspec.Raw = _NULL
    plan: msgspec.Raw = _ABSENT
    model_input_messages: msgspec.Raw = _ABSENT


class _Task(msgspec.Struct, forbid_unknown_fields=True):
    task: str
    task_images: msgspec.Raw = _ABSENT


class _Prompt(msgspec.Struct, forbid_unknown_fields=True):
    system_prompt: msgspec.Raw


class MemoryState(msgspec.Struct):
    """What later steps depend on."""

    open: dict[str, float] = {}
    runs: int = 0


_decode = msgspec.json.Decoder(_Step).decode
_decode_task = msgspec.json.Decoder(_Task).decode
_decode_prompt = msgspec.json.Decoder(_Prompt).decode


def recognise(value: Any) -> bool:
    """A step with its timing, a task, a plan or the system prompt of an agent's memory."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("timing"), dict):
        return "step_number" in value or ("plan" in value and "model_input_messages" in value)
    if value.keys() >= _OLD_STEP:
        return True
    if isinstance(value.get("task"), str):
        return value.keys() <= {"task", "task_images"}
    return value.keys() == {"system_prompt"}


def _is(decode: Callable[[bytes], object], record: bytes) -> bool:
    try:
        decode(record)
    except msgspec.ValidationError:
        return False
    return True


class MemoryDecoder:
    """Decodes one step after another."""

    def __init__(self, source: str) -> None:
        self.state = MemoryState()
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return what a step tells; see `contract.Decoder`."""
        try:
            step = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if step.step is not msgspec.UNSET and step.start_time is not msgspec.UNSET:
            return self._step(_renewed(step))
        if isinstance(step.timing, dict):
            if step.step_number is not msgspec.UNSET:
                return self._step(step)
            if bytes(step.plan) and bytes(step.model_input_messages):
                return self._plan(step)
            raise NotThisDialect
        if _is(_decode_task, record):
            self.state.runs += 1
            return Drop("task")  # its run begins, with a time, in its first step
        if _is(_decode_prompt, record):
            return Drop("prompt")
        raise NotThisDialect

    def _run(self, time: object) -> Run:
        runs, moment = self.state.runs, time_of(time)
        return Run(
            f"{self._source}#{runs}" if runs > 1 else "",
            f"run-{runs}",
            None,
            AGENT,
            moment,
        )

    def _plan(self, step: _Step) -> list[Event]:
        run = self._run(at(step.timing, "end_time"))
        return [*run.open(self.state.open), _answer(run, step)]

    def _step(self, step: _Step) -> list[Event]:
        began, run = (
            self._run(at(step.timing, "start_time")),
            self._run(at(step.timing, "end_time")),
        )
        events = began.open(self.state.open)
        kind, error = text_of(at(step.error, "type")), _error(step.error)
        if kind == "AgentMaxStepsError":
            audit = run.event(event_type="audit", operation="step_limit")
            number = count_of(step.step_number)
            audit.metadata = None if number is None else {"limit": number - 1}
            error.write(audit)
            return [*events, audit, *run.close(self.state.open, "failed", error)]
        if kind in _MODEL_ERRORS or _is_empty(step):
            error = error if kind else _NO_ANSWER
            answer = _answer(run, step)
            error.write(answer)
            events.append(answer)
            if kind != "AgentParsingError":  # raised to whoever called the agent
                events += run.close(self.state.open, "failed", error)
            return events
        events += [_answer(run, step), *_calls(run, step, error)]
        if step.is_final_answer is True:
            events += run.close(self.state.open)
        return events


def _renewed(step: _Step) -> _Step:
    """Return a step of an old version as later ones write it."""
    names = {text_of(at(call, "function", "name")) for call in list_of(step.tool_calls)}
    times = {"start_time": step.start_time, "end_time": step.end_time, "duration": step.duration}
    return msgspec.structs.replace(
        step,
        step_number=step.step,
        timing=times,
        is_final_answer=_FINAL in names or (_CODE in names and step.error is None),
    )


def _is_empty(step: _Step) -> bool:
    """Whether a step ended without anything: a model that answers leaves at least its answer."""
    return (
        step.error is None
        and not step.tool_calls
        and step.token_usage is None
        and step.is_final_answer is not True
        and step.model_output == _NULL
        and step.model_output_message == _NULL
    )


def _answer(run: Run, step: _Step) -> Event:
    return run.event(
        event_type="model_call",
        status="completed",
        operation="model",
        input_tokens=count_of(at(step.token_usage, "input_tokens")),
        output_tokens=count_of(at(step.token_usage, "output_tokens")),
        duration_seconds=amount_of(at(step.timing, "duration")),
    )


def _calls(run: Run, step: _Step, error: ErrorFields) -> list[Event]:
    """Tell of a step's calls, which all ended with it; an error is that of the last."""
    calls = list_of(step.tool_calls)
    if error.message and not calls:
        calls = list_of(at(value_of(step.model_output_message), "tool_calls"))
    told = [_call(call) for call in calls if isinstance(call, dict)]
    if error.message and not told:
        told = [(None, None, None)]
    events: list[Event] = []
    for number, (name, call_id, arguments) in enumerate(told, 1):
        failed = bool(error.message) and number == len(told)
        named = _tool_in(step.error) if failed else None
        fields = {"operation": named or name or "tool", "call_id": call_id}
        events.append(
            run.event(event_type="tool_call", status="started", arguments_hash=arguments, **fields)
        )
        end = run.event(event_type="tool_result", **fields)
        (error if failed else NO_ERROR).write(end, "failed" if failed else "completed")
        events.append(end)
    return events


def _call(call: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    arguments = hash_arguments(at(call, "function", "arguments"))
    return text_of(at(call, "function", "name")), text_of(call.get("id")), arguments


def _tool_in(error: object) -> str | None:
    message = text_of(at(error, "message")) or ""
    found = _UNKNOWN_TOOL.match(message) or _NAMED_TOOL.match(message)
    return found[1] if found else None


def _error(error: object) -> ErrorFields:
    """Read an error; its type is the agent's own, the cause's words stand in the message."""
    said, kind = unwrap_error(error), text_of(at(error, "type"))
    if said.message is None:
        return NO_ERROR
    executing = _EXECUTING.match(text_of(at(error, "message")) or "")
    if executing:
        return ErrorFields(first_line(executing[3]) or executing[2], None, executing[2])
    inner = provider_error(_PREFIX.sub("", said.message, count=1))
    if kind in _MODEL_ERRORS:
        kind = inner.type or kind  # what the client raised says more than that it did
    return ErrorFields(inner.message or said.message, inner.http_status, kind)


DIALECT = Dialect(
    name="smolagents_memory",
    framework="smolagents",
    recognise=recognise,
    decoder=MemoryDecoder,
    is_unique=True,
    is_named=holds(b'"timing"', b'"start_time"'),
    description="smolagents memory steps: step_number, timing, tool_calls, error; task; plan",
    written_by="programs that write `agent.memory.get_full_steps()`",
)
