"""tau-bench's results: one task's conversation with its reward.

The messages are OpenAI's, without times; call ids may come again within one conversation. A
result whose run raised holds the error in `info`, and no messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import tell_message
from lastsignal.core.aliases.contract import Decoded, Dialect, NotThisDialect
from lastsignal.core.aliases.crashes import is_crash
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import mapping_of, number_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.trajectories import Trajectory

AGENT = "tau-bench"


class _Result(msgspec.Struct):
    task_id: Any
    reward: Any
    traj: msgspec.Raw
    info: Any = None
    trial: Any = None


_decode = msgspec.json.Decoder(_Result).decode


def recognise(value: Any) -> bool:
    """A result: the task, its reward and the trajectory."""
    return (
        isinstance(value, dict)
        and "task_id" in value
        and "reward" in value
        and isinstance(value.get("traj"), list)
    )


class TauBenchDecoder:
    """Decodes whole results; one source may hold many."""

    state = None

    def __init__(self, source: str) -> None:
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the conversation's events; see `contract.Decoder`."""
        try:
            result = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if bytes(result.traj)[:1] != b"[":
            raise NotThisDialect
        task, trial = text_of(result.task_id), text_of(result.trial)
        run = Trajectory(AGENT, f"{self._source}#task-{task or '?'}.{trial or 0}")
        run.open(metadata={"task_id": task, "trial": trial})
        for offset, data in elements_of(record, result.traj):
            message = value_of(data)
            if isinstance(message, dict):
                run.seek(offset)
                tell_message(run, message)
        _tell_end(run, mapping_of(result.info), number_of(result.reward))
        return run.finish()


def _tell_end(run: Trajectory, info: Mapping[str, Any], reward: float | None) -> None:
    text = text_of(info.get("error"))
    facts = None if reward is None else {"reward": reward}
    has_earned = reward is not None and reward > 0  # a run that raised earns nothing
    if text is not None:
        error, traceback = unwrap_error(text), text_of(info.get("traceback")) or ""
        if not has_earned and (traceback or is_crash(error)):
            run.crash(error, text, traceback)
        else:
            run.close("failed", error, metadata=facts)
    elif reward is not None and not has_earned:
        run.close("failed", ErrorFields(f"reward {reward:g}", None, "reward"), metadata=facts)
    else:
        run.close(metadata=facts)


DIALECT = Dialect(
    name="tau_bench",
    framework="tau_bench",
    recognise=recognise,
    decoder=TauBenchDecoder,
    is_unique=True,
    description="tau-bench results: task_id, trial, reward, traj",
    default_paths=("results/*.json",),
)
