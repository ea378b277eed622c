"""SWE-agent's `.traj` files: `trajectory` (action, observation), `history` and `info`.

No step has a time or an id, and tokens are told once for the whole run. Some files hold nothing
but the history of messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import requested_calls, text_in
from lastsignal.core.aliases.contract import Decoded, Dialect, NotThisDialect
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields, first_line
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.harness.shell_texts import judge_observation
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event

AGENT = "SWE-agent"
_ABSENT = msgspec.Raw(b"")
_PROGRAM = re.compile(r"\s*(?:cd\s+\S+\s*(?:&&|;)\s*)*(\S{1,200})")
_AFTER_LIMIT = re.compile(r"submitted \((\w+)\)")
_LIMITS = {"exit_cost": "budget", "exit_total_execution_time": "time_limit"}
_OF_MODEL = {
    "exit_api": None,
    "exit_context": "ContextWindowExceeded",
    "exit_format": "FormatError",
}
"""What ended the run was the model's call or its answer → the type of that error."""
_CRASHES = frozenset({"exit_api", "exit_error", "exit_environment_error"})
_SAID = {
    "exit_api": "Exit due to retry error: the model's provider kept failing",
    "exit_cost": "Exit due to cost limit",
    "exit_context": "Exit due to context window",
    "exit_total_execution_time": "Exit due to total execution time exceeded",
    "exit_command_timeout": "Exit due to multiple consecutive command timeouts",
    "exit_format": "Exit due to repeated format/blocklist/bash syntax errors",
    "exit_forfeit": "Exiting due to forfeit",
    "exit_command": "The agent ran `exit`",
}
_CAUSE = re.compile(r"Exit due to [a-z ]{1,40}?error: ")


class _Document(msgspec.Struct):
    trajectory: msgspec.Raw = _ABSENT
    history: msgspec.Raw = _ABSENT
    info: Any = None
    replay_config: Any = None


class _Step(msgspec.Struct):
    action: Any = None
    observation: Any = None
    response: Any = None
    execution_time: Any = None


_decode = msgspec.json.Decoder(_Document).decode
_decode_step = msgspec.json.Decoder(_Step).decode


def recognise(value: Any) -> bool:
    """A trajectory of actions and observations, or a history of an agent's messages."""
    if not isinstance(value, dict):
        return False
    trajectory = value.get("trajectory")
    if trajectory == []:
        return "exit_status" in mapping_of(value.get("info")) or _is_message(
            at(value, "history", 0)
        )
    return _is_step(at(trajectory, 0)) or _is_message(at(value, "history", 0))


def _is_step(step: object) -> bool:
    return isinstance(step, dict) and "action" in step and "observation" in step


def _is_message(message: object) -> bool:
    return isinstance(at(message, "agent"), str) and isinstance(at(message, "role"), str)


class SweAgentDecoder:
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
        steps = elements_of(record, document.trajectory)
        if steps and not _is_step(value_of(steps[0][1])):
            steps = []
        history = [] if steps else elements_of(record, document.history)
        if history and not _is_message(value_of(history[0][1])):
            history = []
        info = mapping_of(document.info)
        is_empty = bytes(document.trajectory).split() == [b"[]"] and "exit_status" in info
        if not steps and not history and not is_empty:
            raise NotThisDialect
        reader = _Reader(info, _model(document.replay_config))
        reader.run.open()
        for number, (offset, data) in enumerate(steps, 1):
            reader.tell_step(number, offset, data, is_last=number == len(steps))
        for offset, data in history:
            reader.tell_message(mapping_of(value_of(data)), offset)
        reader.end()
        return reader.run.finish()


class _Reader:
    """Reads one document's steps in order."""

    def __init__(self, info: Mapping[str, Any], model: str | None) -> None:
        self.run = Trajectory(AGENT)
        self._info = info
        self._model = model
        self._answer: Event | None = None
        self._operation: str | None = None
        self._call_id: str | None = None
        self._last_words = ""
        self._is_submitted = False

    def tell_step(self, number: int, offset: int, data: bytes, is_last: bool) -> None:
        """Tell of one step: the model's answer, the command, what came of it."""
        try:
            step = _decode_step(data)
        except msgspec.ValidationError:
            return
        self.run.seek(offset)
        action, observation = text_of(step.action) or "", text_of(step.observation) or ""
        words = text_of(step.response) or ""
        if action.startswith("exit_") or (is_last and not action and words.startswith("Exit")):
            self._last_words = words  # the harness's own step, which ends the run
            return
        if not action.strip():
            error = ErrorFields("no action in the answer", None, "FormatError")
            self._answer = self._add_answer()
            error.write(self._answer)
            return
        self._answer = self._add_answer()
        self._start(action, f"step-{number}")
        self._finish(observation, amount_of(step.execution_time))

    def tell_message(self, message: Mapping[str, Any], offset: int) -> None:
        """Tell of one message of a history; what stands before the first answer is the task."""
        self.run.seek(offset)
        text = text_in(message.get("content"))
        if message.get("is_demo") is True:
            return
        if message.get("role") == "assistant":
            self._answer = self._add_answer()
            action = text_of(message.get("action"))
            if action:
                call_id = next((found for _, found, _ in requested_calls(message)), None)
                self._start(action, call_id)
        elif self._operation is not None and message.get("role") in ("user", "tool"):
            self._finish(text, None)

    def _add_answer(self) -> Event:
        return self.run.add(
            "model_call", "completed", operation=self._model or "model", model=self._model
        )

    def _start(self, action: str, call_id: str | None) -> None:
        found = _PROGRAM.match(action)
        self._operation = found[1] if found else "shell"
        self._call_id = call_id
        self.run.add(
            "tool_call",
            "started",
            operation=self._operation,
            call_id=call_id,
            arguments_hash=hash_arguments(action.strip()),
        )

    def _finish(self, observation: str, seconds: float | None) -> None:
        result = judge_observation(observation)
        self.run.add(
            "tool_result",
            result.status,
            result.error,
            operation=self._operation,
            call_id=self._call_id,
            error_class=result.error_class,
            duration_seconds=seconds,
        )
        self._is_submitted = self._operation == "submit" and result.status == "completed"
        self._operation = None

    def end(self) -> None:
        """Add the run's end by its exit status; a run without one still goes on, or was killed."""
        self._write_totals()
        status = text_of(self._info.get("exit_status"))
        if status is None:
            if not self._info and self._is_submitted:
                self.run.close()
            return
        if status == "submitted":
            self.run.close(finish_reason=status)
            return
        if text_of(self._info.get("submission")) and not status.startswith("submitted"):
            # what is submitted after a limit or an error is said to be: `submitted (exit_cost)`
            error = ErrorFields(_SAID.get(status, status), None, status)
            contradict(self.run.close("failed", error, finish_reason=status))
            return
        after_limit = _AFTER_LIMIT.match(status)
        self._tell_exit(after_limit[1] if after_limit else status, status)

    def _tell_exit(self, reason: str, status: str) -> None:
        said = (
            self._last_words if self._last_words.startswith("Exit") else _SAID.get(reason, reason)
        )
        error = ErrorFields(first_line(said), None, reason)
        if reason in _CRASHES:
            cause = _CAUSE.sub("", said, count=1)
            error = ErrorFields(first_line(cause), None, reason)
            if reason not in _OF_MODEL:
                self.run.crash(error, cause, model=self._model)
                return
        if reason in _LIMITS:
            cost = amount_of(at(self._info, "model_stats", "instance_cost"))
            facts = {"total_cost_usd": cost} if cost and reason == "exit_cost" else None
            self.run.add("audit", "failed", error, operation=_LIMITS[reason], metadata=facts)
        elif reason == "exit_format" and self._answer and self._answer.status == "failed":
            pass  # the answer that could not be read has been told
        elif reason in _OF_MODEL:
            error = ErrorFields(error.message, None, _OF_MODEL[reason] or reason)
            model = self._model
            self.run.add("model_call", "failed", error, operation=model or "model", model=model)
        elif reason == "exit_command_timeout":
            self.run.add("tool_result", "failed", error, operation=self._latest_operation())
        self.run.close("failed", error, finish_reason=status)

    def _latest_operation(self) -> str:
        calls = (e for e in reversed(self.run.events) if e.event_type == "tool_call")
        return next((e.operation for e in calls if e.operation), "shell")

    def _write_totals(self) -> None:
        """Put the run's tokens on its last answer: no other place tells them."""
        stats = mapping_of(self._info.get("model_stats"))
        if self._answer is None:
            return
        self._answer.input_tokens = count_of(stats.get("tokens_sent")) or None
        self._answer.output_tokens = count_of(stats.get("tokens_received")) or None
        self._answer.cost_usd = amount_of(stats.get("instance_cost")) or None


def _model(config: object) -> str | None:
    """Return the model that the replay configuration (JSON in a text) names."""
    found = value_of(config.encode("utf-8", "replace")) if isinstance(config, str) else config
    name = text_of(at(found, "agent", "model", "name"))
    return None if name in ("replay", "human", "human_thought") else name


DIALECT = Dialect(
    name="swe_agent",
    framework="swe_agent",
    recognise=recognise,
    decoder=SweAgentDecoder,
    is_unique=True,
    description="SWE-agent .traj: trajectory of action and observation, history, info.exit_status",
    default_paths=("trajectories/**/*.traj",),
)
