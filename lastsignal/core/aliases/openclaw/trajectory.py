"""OpenClaw's trajectories, `<session>.trajectory.jsonl`: one record per stage of a run.

They repeat what the session file beside them tells, so a run here is a trace of its own.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import is_crash
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import count_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, replace
from lastsignal.core.events import Event, Status
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_SCHEMA = "openclaw-trajectory"
_ENDS: dict[str, Status] = {
    "success": "completed",
    "cleanup": "completed",
    "error": "failed",
    "interrupted": "aborted",
}


class _Record(msgspec.Struct, gc=False):
    traceSchema: Any = None
    type: Any = None
    ts: Any = None
    seq: Any = None
    sessionId: Any = None
    runId: Any = None
    modelId: Any = None
    data: msgspec.Raw = _ABSENT


class TrajectoryState(msgspec.Struct):
    """What must survive a restart to read the next record."""

    open_runs: dict[str, float] = {}
    failed: dict[str, str] = {}
    """Runs whose model call failed → the error: the run's end only repeats it."""


_decode_record = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A record that names its schema."""
    return isinstance(value, dict) and value.get("traceSchema") == _SCHEMA


class TrajectoryDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: TrajectoryState = TrajectoryState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if line.traceSchema != _SCHEMA:
            raise NotThisDialect
        at_time = time_of(line.ts)
        trace = text_of(line.runId) or text_of(line.sessionId) or ""
        run = Run(trace, trace or "session", None, "openclaw", at_time)
        if line.type == "prompt.submitted":
            events = run.open(self.state.open_runs)
        elif line.type == "model.completed":
            events = self._model(line, run)
        elif line.type == "session.ended":
            events = self._end(line, run)
        else:
            return Drop("structural_span")
        for event in events:
            event.sequence = count_of(line.seq)
        return events or Drop("repeated_start")

    def _model(self, line: _Record, run: Run) -> list[Event]:
        data = mapping_of(value_of(line.data))
        usage = mapping_of(data.get("usage"))
        model = text_of(line.modelId)
        parts = [count_of(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite")]
        call = run.event(
            event_type="model_call",
            status="completed",
            operation=model or "model",
            model=model,
            input_tokens=None if parts[0] is None else sum(part or 0 for part in parts),
            output_tokens=count_of(usage.get("output")),
        )
        events = [*run.open(self.state.open_runs), call]
        error = _error_in(data)
        if data.get("timedOutByRunBudget") is True:
            message = error.message or "the run's time is used up"
            audit = run.event(event_type="audit", operation="time_limit")
            ErrorFields(message, error.http_status, error.type).write(audit)
            audit.metadata = {"limit_kind": "run_timeout"}
            replace(self.state.failed, run.run_id, message)
            return [*events, audit]
        if data.get("timedOut") is True or error.message:
            error = error if error.message else ErrorFields("the model call timed out")
            error.write(call)
            replace(self.state.failed, run.run_id, error.message or "")
        elif data.get("aborted") is True:
            call.status = "aborted"
        return events

    def _end(self, line: _Record, run: Run) -> list[Event]:
        data = mapping_of(value_of(line.data))
        status = _ENDS.get(text_of(data.get("status")) or "", "completed")
        told = self.state.failed.pop(run.run_id, None)
        error = NO_ERROR
        events = run.open(self.state.open_runs)
        if status == "failed":
            error = _error_in(data)
            if told is None and is_crash(error):
                leaf = run.event(event_type=leaf_type(error))
                if leaf.event_type == "model_call":
                    leaf.model = text_of(line.modelId)
                    leaf.operation = leaf.model or "model"
                error.write(leaf)
                events.append(leaf)
            elif not error.message:
                error = ErrorFields(told or None)
        return events + run.close(self.state.open_runs, status, error)


def _error_in(data: Any) -> ErrorFields:
    texts = (text_of(data.get(key)) for key in ("promptError", "terminalError", "error"))
    return provider_error(next((text for text in texts if text), None))


DIALECT = Dialect(
    name="openclaw_trajectory",
    framework="openclaw",
    recognise=recognise,
    decoder=TrajectoryDecoder,
    one_at_a_time=True,
    is_unique=True,
    description="OpenClaw trajectory: records that name the schema openclaw-trajectory",
    default_paths=("~/.openclaw/agents/*/sessions/*.trajectory.jsonl",),
)
