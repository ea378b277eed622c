"""Trajectories in Harbor's interchange format (ATIF), which many harnesses convert theirs to.

No step says that a call failed, and nothing says how the run ended: the trial's result, a file of
its own, does. Both belong to one trial, whose folder they lie in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import text_in, write_usage
from lastsignal.core.aliases.contract import Decoded, Dialect, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.fields import amount_of, at, count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.arguments import hash_arguments

_TRIAL = re.compile(r"(?:^|/)([^/]+)/(?:(?:steps/[^/]+/)?agent/trajectory[^/]*|result)\.json$")


class _Document(msgspec.Struct):
    steps: msgspec.Raw
    session_id: Any = None
    schema_version: Any = None
    agent: Any = None
    final_metrics: Any = None


_decode = msgspec.json.Decoder(_Document).decode


def trial_of(source: str) -> str | None:
    """Return the trial that a source's place names."""
    found = _TRIAL.search(source.replace("\\", "/"))
    return found[1] if found else None


def recognise(value: Any) -> bool:
    """A trajectory that names its schema, or an early one: agent, session and steps."""
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return False
    return _is_known(
        value.get("schema_version"), at(value, "agent", "name"), value.get("session_id")
    )


def _is_known(schema: object, agent: object, session: object) -> bool:
    if isinstance(schema, str):
        return schema.startswith("ATIF-")
    return isinstance(agent, str) and isinstance(session, str)


class AtifDecoder:
    """Decodes whole trajectories."""

    state = None

    def __init__(self, source: str) -> None:
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the run's events; see `contract.Decoder`."""
        try:
            document = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        agent = mapping_of(document.agent)
        if bytes(document.steps)[:1] != b"[" or not _is_known(
            document.schema_version, agent.get("name"), document.session_id
        ):
            raise NotThisDialect
        # A session may go on in further files, so its id alone does not name this run.
        trial = trial_of(self._source)
        reader = _Reader(
            text_of(agent.get("name")) or "agent", trial or "", text_of(agent.get("model_name"))
        )
        session = text_of(document.session_id)
        reader.run.open(metadata={"session_id": session} if session else None)
        for offset, data in elements_of(record, document.steps):
            step = value_of(data)
            if isinstance(step, dict):
                reader.tell(step, offset)
        reader.tell_sums(mapping_of(document.final_metrics))
        reader.run.close()
        return reader.run.finish()


class _Reader:
    """Reads one trajectory's steps in order."""

    def __init__(self, agent: str, trace_id: str, model: str | None) -> None:
        self.run = Trajectory(agent, trace_id)
        self._model = model
        self._names: dict[str, str] = {}
        self._goes_on = False

    def tell(self, step: Mapping[str, Any], offset: int) -> None:
        """Tell of one step; what was copied from an earlier trajectory was told there."""
        if step.get("is_copied_context") is True:
            self._goes_on = True
            return
        self.run.seek(offset, step.get("timestamp"))
        if step.get("source", step.get("role")) in ("agent", "assistant"):
            self._tell_answer(step)
        results = at(step, "observation", "results") or step.get("results")
        for result in list_of(results):
            self._tell_result(mapping_of(result))

    def tell_sums(self, sums: Mapping[str, Any]) -> None:
        """Tell of what was used in all, where no step has told its part of it; those of one that
        goes on from an earlier trajectory are that one's, too."""
        if self._goes_on:
            return
        found = {
            "input_tokens": count_of(sums.get("total_prompt_tokens")),
            "output_tokens": count_of(sums.get("total_completion_tokens")),
            "cost_usd": amount_of(sums.get("total_cost_usd")),
        }
        untold: dict[str, Any] = {
            name: amount
            for name, amount in found.items()
            if amount and not any(getattr(event, name) for event in self.run.events)
        }
        if untold:
            self.run.add("audit", "completed", operation="usage", **untold)

    def _tell_answer(self, step: Mapping[str, Any]) -> None:
        metrics = mapping_of(step.get("metrics"))
        if step.get("llm_call_count") != 0:
            model = text_of(step.get("model_name")) or self._model
            event = self.run.add("model_call", "completed", operation=model or "model", model=model)
            write_usage(event, metrics)
            event.cost_usd = amount_of(metrics.get("cost_usd"))
        for call in list_of(step.get("tool_calls")):
            name, call_id = text_of(at(call, "function_name")), text_of(at(call, "tool_call_id"))
            if name is None:
                continue
            self._names[call_id or ""] = name
            self.run.add(
                "tool_call",
                "started",
                operation=name,
                call_id=call_id,
                arguments_hash=hash_arguments(at(call, "arguments")),
            )

    def _tell_result(self, result: Mapping[str, Any]) -> None:
        """Tell of a result that names its call; a terminal's screen answers none."""
        call_id = text_of(result.get("source_call_id"))
        name = self._names.get(call_id or "")
        if name is None:
            return
        failure = failure_in_output(text_in(result.get("content")))
        self.run.add(
            "tool_result",
            "failed" if failure else "completed",
            failure or NO_ERROR,
            operation=name,
            call_id=call_id,
        )


DIALECT = Dialect(
    name="atif",
    framework="harbor",
    recognise=recognise,
    decoder=AtifDecoder,
    is_unique=True,
    description="Harbor's ATIF trajectories: schema_version ATIF-…, agent, steps",
    default_paths=("jobs/**/agent/trajectory.json",),
)
