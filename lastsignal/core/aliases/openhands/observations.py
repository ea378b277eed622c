"""How an OpenHands observation says that its action ended: flags first, then an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lastsignal.core.aliases.chat_messages import text_in
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at
from lastsignal.core.aliases.harness.shell_texts import ShellResult, exited

_HEADER = "[An error occurred during execution.]"
_STILL_RUNS = -1


def judge_observation(observation: Mapping[str, Any]) -> ShellResult:
    """Judge an observation of the SDK's, which has `is_error`, or what the first one had."""
    text = text_in(observation.get("content") or observation.get("output"))
    text = text.lstrip().removeprefix(_HEADER).lstrip()
    code = observation.get("exit_code", at(observation, "metadata", "exit_code"))
    if observation.get("timeout") is True:
        return ShellResult("failed", ErrorFields("command timed out", None, "TimeoutExpired"))
    if code == _STILL_RUNS:
        return ShellResult()
    result = exited(code, text)
    if observation.get("is_error") is True and result.status != "failed":
        said = unwrap_error(text)
        return ShellResult("failed", said if said.message else ErrorFields("error"))
    return result
