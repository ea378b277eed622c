"""Inspect's eval logs (`.json`), the members of its archives (`.eval`), and single samples.

The eval itself is a run whose verdict is the log's status; each sample is a run of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import unwrap_error
from lastsignal.core.aliases.fields import at, mapping_of, status_of, text_of
from lastsignal.core.aliases.inspect_ai.samples import is_eval_error, sample_events, time_of
from lastsignal.core.aliases.inspect_ai.transcript import add_error
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.events import Event

_ABSENT = msgspec.Raw(b"")
_SAMPLE_KEYS = frozenset({"id", "epoch", "input", "target"})
_TOLD_IN_SAMPLE = ("events", "messages", "transcript")


class _Log(msgspec.Struct):
    eval: Any = None
    plan: Any = msgspec.UNSET
    status: Any = msgspec.UNSET
    error: Any = None
    stats: Any = None
    results: msgspec.Raw = _ABSENT
    samples: msgspec.Raw = _ABSENT
    id: Any = msgspec.UNSET
    epoch: Any = msgspec.UNSET
    events: msgspec.Raw = _ABSENT
    messages: msgspec.Raw = _ABSENT
    transcript: msgspec.Raw = _ABSENT
    input: msgspec.Raw = _ABSENT
    target: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Log).decode


def recognise(value: Any) -> bool:
    """A log or its header, the start of a journal, a sample, or the summary of one."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("eval"), dict) and "task" in value["eval"]:
        return "plan" in value or "status" in value
    return value.keys() >= _SAMPLE_KEYS


class InspectDecoder:
    """Decodes whole logs and whole samples."""

    state = None

    def __init__(self, source: str) -> None:
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the events of a log or a sample; see `contract.Decoder`."""
        try:
            log = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        spec = mapping_of(log.eval)
        if "task" in spec and (log.plan is not msgspec.UNSET or log.status is not msgspec.UNSET):
            return self._log(record, log, spec)
        if msgspec.UNSET in (log.id, log.epoch) or not bytes(log.input) or not bytes(log.target):
            raise NotThisDialect
        if not any(bytes(getattr(log, name)) for name in _TOLD_IN_SAMPLE):
            return Drop("sample_summary")
        return sample_events(record, self._source, "sample") or Drop("malformed_record")

    def _log(self, record: bytes, log: _Log, spec: Mapping[str, Any]) -> Decoded:
        if log.status is msgspec.UNSET:
            return Drop("eval_header")
        task, model = text_of(spec.get("task")) or "eval", text_of(spec.get("model"))
        samples: list[Event] = []
        for offset, data in elements_of(record, log.samples):
            samples += sample_events(data, self._source, task, offset, model)
        eval_id = text_of(spec.get("eval_id")) or text_of(spec.get("task_id"))
        run = Trajectory(task, eval_id or self._source, "eval")
        run.seek(0, at(log.stats, "started_at") or spec.get("created"))
        run.open(metadata=_facts(spec))
        run.seek(0, at(log.stats, "completed_at"))
        self._end(run, log, samples)
        return sorted([*run.finish(), *samples], key=time_of)

    @staticmethod
    def _end(run: Trajectory, log: _Log, samples: list[Event]) -> None:
        status = status_of(log.status)
        error = unwrap_error(log.error)
        if error.message and (status == "completed" or not is_eval_error(log.error)):
            contradict(run.close("failed", error))
        elif status == "failed":
            told = any(e.event_type == "agent_end" and e.status == "failed" for e in samples)
            if error.message and bytes(log.samples) and not told:
                add_error(run, "eval", error, log.error)
            run.close("failed", error)
        elif status in ("completed", "aborted"):
            run.close(status, NO_ERROR)


def _facts(spec: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: text_of(spec.get(name)) for name in ("model", "task_id", "run_id")}
    return {name: value for name, value in found.items() if value is not None}


DIALECT = Dialect(
    name="inspect_log",
    framework="inspect_ai",
    recognise=recognise,
    decoder=InspectDecoder,
    is_unique=True,
    description="Inspect AI logs: eval, plan, status, samples; single samples of an .eval archive",
    default_paths=("logs/*.eval", "logs/*.json"),
)
