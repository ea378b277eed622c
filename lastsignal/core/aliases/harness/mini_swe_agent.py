"""mini-swe-agent's trajectories: one document a run, `info` and `messages`.

Version 2 notes commands and their results in `extra`; version 1 has only the messages' texts, in
which the harness itself wrote the return code. The exit status names the exception that ended it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import text_in, write_usage
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import contradict, is_crash
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, limit_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.harness.shell_texts import (
    ShellResult,
    command_in,
    exited,
    format_error,
    is_format_error,
    judge_answer,
)
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event

AGENT = "mini-swe-agent"
TOOL = "bash"
_ABSENT = msgspec.Raw(b"")
_STOPPED_BY_USER = frozenset({"UserInterruption", "KeyboardInterrupt", "EOFError"})
_NOT_RUN = "action was not executed"


class _Document(msgspec.Struct):
    info: Any = None
    messages: msgspec.Raw = _ABSENT
    trajectory_format: Any = None
    instance_id: Any = None


_decode = msgspec.json.Decoder(_Document).decode


def recognise(value: Any) -> bool:
    """A trajectory that names its format, or whose `info` names the version."""
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    return _is_of_format(value.get("trajectory_format"), value.get("info"))


def _is_of_format(name: object, info: object) -> bool:
    if isinstance(name, str):
        return name.startswith(AGENT)
    return at(info, "mini_version") is not None


class MiniSweAgentDecoder:
    """Decodes whole trajectories."""

    state = None

    def __init__(self, source: str) -> None:
        pass

    def decode(self, record: bytes) -> Decoded:
        """Return the run's events; see `contract.Decoder`."""
        try:
            document = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        info = mapping_of(document.info)
        is_list = bytes(document.messages)[:1] == b"["
        if not is_list or not _is_of_format(document.trajectory_format, info):
            raise NotThisDialect
        reader = _Reader(info)
        instance = text_of(document.instance_id)
        reader.run.open(metadata={"instance_id": instance} if instance else None)
        for offset, data in elements_of(record, document.messages):
            message = value_of(data)
            if isinstance(message, dict):
                reader.tell(message, offset)
        reader.end()
        return reader.run.finish() or Drop("empty_document")


class _Reader:
    """Reads one document's messages in order."""

    def __init__(self, info: Mapping[str, Any]) -> None:
        self.run = Trajectory(AGENT)
        self._info = info
        self._model = text_of(at(info, "config", "model", "model_name"))
        self._waiting: list[str | None] = []
        self._answer: Event | None = None
        self._last: Mapping[str, Any] = {}

    def tell(self, message: Mapping[str, Any], offset: int) -> None:
        extra = mapping_of(message.get("extra"))
        self.run.seek(offset, extra.get("timestamp", message.get("timestamp")))
        self._last = message
        role = message.get("role")
        if role == "assistant" or message.get("object") == "response":
            self._tell_answer(message, extra)
        elif text_of(extra.get("interrupt_type")):
            self._tell_interrupt(message, extra)
        elif "returncode" in extra:
            self._tell_result(message, extra)
        elif role == "user" and self._answer is not None:
            self._tell_text(text_in(message.get("content")))

    def _tell_answer(self, message: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        event = self.run.add(
            "model_call", "completed", operation=self._model or "model", model=self._model
        )
        self._write_cost(event, message, extra)
        self._answer = event
        if "actions" not in extra:  # version 1: the command stands in the text
            command = command_in(text_in(message.get("content")))
            actions: list[Any] = [] if command is None else [{"command": command}]
        else:
            actions = list_of(extra["actions"])
        self._waiting = []
        for action in actions:
            self._tell_call(mapping_of(action))

    def _tell_call(self, action: Mapping[str, Any]) -> None:
        call_id = text_of(action.get("tool_call_id"))
        self._waiting.append(call_id)
        self.run.add(
            "tool_call",
            "started",
            operation=TOOL,
            call_id=call_id,
            arguments_hash=hash_arguments(text_of(action.get("command"))),
        )

    @staticmethod
    def _write_cost(event: Event, message: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        response = mapping_of(extra.get("response")) or message
        write_usage(event, response.get("usage"))
        event.cost_usd = amount_of(extra.get("cost"))
        event.finish_reason = text_of(at(response, "choices", 0, "finish_reason"))

    def _tell_interrupt(self, message: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        """An answer that could not be used, or a user who steps in."""
        text = text_in(message.get("content"))
        if extra["interrupt_type"] == "FormatError":
            event = self.run.add(
                "model_call",
                "failed",
                format_error(text),
                operation=self._model or "model",
                model=self._model,
            )
            self._write_cost(event, message, extra)
            return
        for call_id in self._waiting:
            self.run.add(
                "tool_result", "aborted", unwrap_error(text), operation=TOOL, call_id=call_id
            )
        self._waiting = []

    def _tell_result(self, message: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        code = extra["returncode"]
        if extra.get("exception_info") == _NOT_RUN:
            result = ShellResult("aborted", ErrorFields(_NOT_RUN))
        elif text_of(extra.get("exception_type")):
            said = unwrap_error(extra.get("exception") or extra.get("exception_info"))
            error = ErrorFields(said.message, None, text_of(extra["exception_type"]))
            result = ShellResult("failed", error)
        else:
            result = exited(code, text_of(extra.get("raw_output")) or "")
        call_id = text_of(message.get("tool_call_id")) or text_of(message.get("call_id"))
        self._finish_call(call_id, result)

    def _tell_text(self, text: str) -> None:
        """A message of version 1: what the harness answered to the last command."""
        if is_format_error(text) and self._answer is not None:
            format_error(text).write(self._answer)
            return
        result = judge_answer(text)
        if result is not None and self._waiting:
            self._finish_call(None, result)

    def _finish_call(self, call_id: str | None, result: ShellResult) -> None:
        if call_id in self._waiting:
            self._waiting.remove(call_id)
        elif self._waiting:
            call_id = self._waiting.pop(0)
        self.run.add(
            "tool_result",
            result.status,
            result.error,
            operation=TOOL,
            call_id=call_id,
            error_class=result.error_class,
            metadata=None if result.exit_code is None else {"exit_code": result.exit_code},
        )

    def end(self) -> None:
        """Add the run's end by its exit status; a run without one still goes on, or was killed."""
        status = text_of(self._info.get("exit_status"))
        if status is None:
            return
        if status.lower() == "submitted":
            if self._waiting:  # the command that submits ends the run before it is answered
                self._finish_call(None, ShellResult(exit_code=0))
            self.run.close(finish_reason=status)
        elif status in _STOPPED_BY_USER:
            self.run.close("aborted", ErrorFields(status, None, status), finish_reason=status)
        elif self._has_submitted():
            error = ErrorFields(status, None, status)
            contradict(self.run.close("failed", error, finish_reason=status))
        elif status in ("LimitsExceeded", "TimeExceeded"):
            self._tell_limit(status)
        elif status == "RepeatedFormatError" or not _is_class_name(status):
            self.run.close("failed", ErrorFields(status, None, status), finish_reason=status)
        else:
            self._tell_exception(status)

    def _has_submitted(self) -> bool:
        """Whether the last message says that the run has submitted: by its own status, or, before
        version 2, by being the submission. What ends a run otherwise leaves none."""
        if self._last.get("role") == "exit":
            status = text_of(mapping_of(self._last.get("extra")).get("exit_status"))
            return status is not None and status.lower() == "submitted"
        submission = text_of(self._info.get("submission"))
        return submission is not None and submission == text_in(self._last.get("content"))

    def _tell_exception(self, name: str) -> None:
        """Tell of what ended the run by its name; a word that nothing bears out is no crash."""
        said = text_of(self._info.get("exception_str"))
        traceback = text_of(self._info.get("traceback")) or ""
        found = unwrap_error(said or name)
        error = ErrorFields(found.message, found.http_status, name)
        if is_crash(error, is_doubted=not (said or traceback)):
            self.run.crash(error, said or name, traceback, self._model)
        else:
            self.run.close("failed", error, finish_reason=name)

    def _tell_limit(self, status: str) -> None:
        """Say which limit it was: the status does not, but the counts reached only one."""
        stats, limits = mapping_of(self._info.get("model_stats")), at(self._info, "config", "agent")
        steps, used = limit_of(at(limits, "step_limit")), limit_of(stats.get("api_calls"))
        budget, cost = amount_of(at(limits, "cost_limit")), amount_of(stats.get("instance_cost"))
        operation, facts = "step_limit", {"limit": steps, "used": used}
        if status == "TimeExceeded":
            seconds = limit_of(at(limits, "wall_time_limit_seconds"))
            operation, facts = "time_limit", {"limit": seconds}
        elif _is_reached(budget, cost) and not _is_reached(steps, used):
            operation, facts = "budget", {"budget_limit": budget, "total_cost_usd": cost}
        error = ErrorFields(status, None, status)
        metadata = {name: fact for name, fact in facts.items() if fact is not None}
        self.run.add("audit", "failed", error, operation=operation, metadata=metadata or None)
        self.run.close("failed", error, finish_reason=status)


def _is_reached(limit: float | None, used: float | None) -> bool:
    return bool(limit) and limit is not None and used is not None and used >= limit


def _is_class_name(status: str) -> bool:
    return status.isidentifier() and status[0].isupper() and not status.isupper()


DIALECT = Dialect(
    name="mini_swe_agent",
    framework="mini_swe_agent",
    recognise=recognise,
    decoder=MiniSweAgentDecoder,
    is_unique=True,
    description="mini-swe-agent .traj.json: trajectory_format, info.exit_status, messages",
    default_paths=("~/.config/mini-swe-agent/last_mini_run.traj.json",),
)
