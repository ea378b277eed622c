"""What the messages of a chat tell of an agent's work, whoever speaks.

A speaker with a name is an agent, and its message an answer of its model. Only what a harness
itself wrote (exit codes, tool results) tells of failures: never what was said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lastsignal.core.aliases.chat_messages import tell_answer, tell_message, text_in
from lastsignal.core.aliases.error_text import ErrorFields, first_line, unwrap_error
from lastsignal.core.aliases.fields import at, text_of
from lastsignal.core.aliases.harness.shell_texts import command_in, judge_answer
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.arguments import hash_arguments

CODE = "code_execution"
_SHELL = "bash"
_EXECUTED = re.compile(
    r"exitcode: (-?\d{1,9}) \(execution (?:failed|succeeded)\)\s*(?:Code output:)?\s*"
)
_NO_CODE = "There is no code from the last "
_TIMEOUT_CODE = 124  # of coreutils' timeout, which AutoGen reports for code that it stopped
_MAX_OUTPUT = 20_000
_SUBMITS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")


def tell_turn(run: Trajectory, message: Mapping[str, Any]) -> str | None:
    """Add what a message tells; return why it tells nothing."""
    text = text_in(message.get("content"))[:_MAX_OUTPUT]
    name, role = text_of(message.get("name")), message.get("role")
    executed = _EXECUTED.match(text)
    if executed and role != "tool":
        _tell_execution(run, int(executed[1]), text[executed.end() :], name)
        return None
    if isinstance(message.get("tool"), dict):
        _tell_tool_use(run, message["tool"])
        return None
    if role == "user":
        return _tell_user(run, message, text, name)
    before = len(run.events)
    if not tell_message(run, message):
        return "message"
    if role == "assistant":
        answer = run.events[before]
        if name:
            answer.operation = answer.agent = name
        if len(run.events) == before + 1:
            _tell_command(run, command_in(text))
    return None


def _tell_command(run: Trajectory, command: str | None) -> None:
    """Add a command that stands in the text; the one that submits ends the run, unanswered."""
    if command is None:
        return
    if any(mark in command for mark in _SUBMITS):
        run.close(finish_reason="submitted")
    else:
        run.add("tool_call", "started", operation=_SHELL, arguments_hash=hash_arguments(command))


def _tell_user(
    run: Trajectory, message: Mapping[str, Any], text: str, name: str | None
) -> str | None:
    """A user's message is a task, the answer to a command, or an agent's in a group chat."""
    result = judge_answer(text)
    if result is not None:
        event = run.add("tool_result", result.status, result.error, operation=_SHELL)
        event.error_class = result.error_class
        event.metadata = {"exit_code": result.exit_code}
        return None
    if tell_message(run, message):
        return None
    if name is None or name.lower() in ("user", "human"):
        return "user_input"
    if text.startswith(_NO_CODE):
        return "no_code_to_run"
    answer = tell_answer(run, {})
    answer.operation = answer.agent = name
    return None


def _tell_execution(run: Trajectory, code: int, output: str, name: str | None) -> None:
    event = run.add("tool_result", "completed", operation=CODE, metadata={"exit_code": code})
    if name:
        event.agent = name
    if code == 0:
        return
    said = unwrap_error(output) if output.lstrip().startswith("Traceback") else ErrorFields()
    if code == _TIMEOUT_CODE:
        said = ErrorFields(first_line(output) or "timeout", None, "TimeoutExpired")
    ErrorFields(said.message or f"exit code {code}", None, said.type).write(event)
    event.error_class = "timeout" if code == _TIMEOUT_CODE else "tool_error"


def _tell_tool_use(run: Trajectory, tool: Mapping[str, Any]) -> None:
    """Add a tool's use that the log notes once it is done, without its result."""
    name = text_of(tool.get("tool")) or text_of(tool.get("name"))
    run.add(
        "tool_call",
        "started",
        operation=name,
        arguments_hash=hash_arguments(at(tool, "args") or at(tool, "arguments")),
    )
    run.add("tool_result", "completed", operation=name)
