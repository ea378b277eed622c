"""Harbor's `result.json`: how a trial ended, in which phase, and with which reward.

Its sums of tokens are those of the trajectory, which tells them call by call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, first_line
from lastsignal.core.aliases.fields import at, list_of, mapping_of, number_of, text_of
from lastsignal.core.aliases.harness.atif import trial_of
from lastsignal.core.aliases.trajectories import Trajectory

_OF_PROVIDER = frozenset(
    {"AgentAuthenticationError", "ContextWindowExceededError", "OutputTokenExceededError"}
)
_TIMED_OUT = {
    "AgentTimeoutError": "agent",
    "AgentSetupTimeoutError": "agent_setup",
    "EnvironmentStartTimeoutError": "environment",
    "VerifierTimeoutError": "verifier",
}


class _Result(msgspec.Struct):
    trial_name: Any
    agent_info: Any
    task_name: Any = None
    verifier_result: Any = msgspec.UNSET
    exception_info: Any = msgspec.UNSET
    started_at: Any = None
    finished_at: Any = None
    step_results: Any = None


_decode = msgspec.json.Decoder(_Result).decode


def recognise(value: Any) -> bool:
    """A trial's result: its name, its agent, and what was noted of the end."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("trial_name"), str)
        and isinstance(value.get("agent_info"), dict)
        and ("exception_info" in value or "verifier_result" in value)
    )


class TrialResultDecoder:
    """Decodes whole results."""

    state = None

    def __init__(self, source: str) -> None:
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the trial's beginning and end; see `contract.Decoder`."""
        try:
            result = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        name, agent = result.trial_name, result.agent_info
        is_noted = result.verifier_result is not msgspec.UNSET
        is_noted = is_noted or result.exception_info is not msgspec.UNSET
        if not isinstance(name, str) or not isinstance(agent, dict) or not is_noted:
            raise NotThisDialect
        trace_id = trial_of(self._source) or name
        run = Trajectory(text_of(agent.get("name")) or "agent", trace_id, "trial")
        run.seek(0, result.started_at)
        task = text_of(result.task_name)
        run.open(metadata={"task": task} if task else None)
        run.seek(0, result.finished_at)
        _tell_end(run, result, text_of(at(agent, "model_info", "name")))
        return run.finish()


def _tell_end(run: Trajectory, result: _Result, model: str | None) -> None:
    raised = [result.exception_info]
    raised += [at(step, "exception_info") for step in list_of(result.step_results)]
    exception: Mapping[str, Any] = next((e for e in raised if isinstance(e, dict)), {})
    kind = text_of(exception.get("exception_type"))
    if kind is None:
        _tell_reward(run, at(result.verifier_result, "rewards"))
        return
    text = text_of(exception.get("exception_message")) or kind
    error = ErrorFields(first_line(text) or kind, None, kind)
    if kind in _TIMED_OUT:
        facts = {"phase": _TIMED_OUT[kind]}
        run.add("audit", "failed", error, operation="time_limit", metadata=facts)
        run.close("failed", error)
    elif kind in ("CancelledError", "KeyboardInterrupt"):
        run.close("aborted", error)
    elif kind in _OF_PROVIDER or kind.startswith("Api"):
        run.add("model_call", "failed", error, operation=model or "model", model=model)
        run.close("failed", error)
    else:
        run.crash(error, text, text_of(exception.get("exception_traceback")) or "", model)


def _tell_reward(run: Trajectory, rewards: object) -> None:
    found = {name: number_of(value) for name, value in mapping_of(rewards).items()}
    known = {name: value for name, value in found.items() if value is not None}
    if known and all(value <= 0 for value in known.values()):
        run.close("failed", ErrorFields("reward 0", None, "reward"), metadata=dict(known))
    else:
        run.close(metadata=dict(known) or None)


DIALECT = Dialect(
    name="harbor_trial",
    framework="harbor",
    recognise=recognise,
    decoder=TrialResultDecoder,
    is_unique=True,
    description="Harbor's result.json of a trial: trial_name, agent_info, exception_info",
    default_paths=("jobs/*/*/result.json",),
)
