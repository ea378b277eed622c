"""LangSmith runs: run dicts of a tracer or an export, and the operations on them.

A run comes whole, with both times, or as a create line and a patch line, or in a batch of both.
Parents may come before or after their children, and a patch says little more than the run's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import contradict, is_crash
from lastsignal.core.aliases.fields import amount_of, count_of, list_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.langchain.messages import (
    call_facts,
    judge_error,
    model_facts,
    own_failure,
    tool_failure,
)
from lastsignal.core.aliases.langchain.run_records import (
    KnownRun,
    Run,
    decode_run,
    describe,
    kept_patch,
    runs_in,
    segments_of,
)
from lastsignal.core.aliases.leaf_errors import ToldFailures
from lastsignal.core.aliases.session_runs import remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import UNTIMED, Event, EventType
from lastsignal.core.timestamps import parse_timestamp, time_of

_STARTS: dict[str, EventType] = {
    "model": "model_call",
    "tool": "tool_call",
    "agent": "agent_start",
}
_ENDS: dict[str, EventType] = {
    "model": "model_call",
    "tool": "tool_result",
    "agent": "agent_end",
    "step": "tool_result",
}
_PATCH_KEYS = frozenset({"id", "end_time", "error", "outputs"})
# Frames of a model's or a tool's own run: an error that went through them has a record there.
_INNER_FRAMES = re.compile(
    r"langchain_core[/\\](?:language_models|tools|retrievers)\b|langsmith[/\\]wrappers[/\\]"
    r"|@langchain/core/dist/(?:language_models|tools|retrievers)\b"
)
_MAX_TRACEBACK = 100_000
_MAX_EARLY = 50


class RunsState(msgspec.Struct):
    """What later records depend on."""

    runs: dict[str, KnownRun] = {}
    told: ToldFailures = msgspec.field(default_factory=ToldFailures)
    attempts: dict[str, bool] = {}
    """Traces whose run attempt has been told: every run repeats it."""
    early: dict[str, bytes] = {}
    """What the latest patches say of runs that no record has described yet, by run."""


def recognise(value: Any) -> bool:
    """A run, a patch of one, or a batch of both."""
    if not isinstance(value, dict):
        return False
    batch = [*list_of(value.get("post")), *list_of(value.get("patch"))]
    if batch:
        return _is_single(batch[0])
    return _is_single(value)


def _is_single(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("run_type"), str):
        return "dotted_order" in value or "trace_id" in value or "start_time" in value
    if isinstance(value.get("dotted_order"), str):
        return True
    return value.keys() >= _PATCH_KEYS and isinstance(value["id"], str) and "type" not in value


class RunsDecoder:
    """Decodes runs in whatever pieces they come."""

    def __init__(self, source: str) -> None:
        self.state = RunsState()

    def decode(self, record: bytes) -> Decoded:
        """Return what the record tells for the first time; see `contract.Decoder`."""
        run = decode_run(record)
        found = runs_in(record, run) if run is not None else []
        if not any(inner.is_run for _, inner in found):
            raise NotThisDialect
        events: list[Event] = []
        reason = ""
        for offset, inner in found:
            decoded = self._run(inner)
            if isinstance(decoded, Drop):
                reason = decoded.reason
                continue
            for event in decoded:
                event.offset = offset
            events += decoded
        if len(found) > 1:
            events.sort(key=_in_order)
        return events or Drop(reason)

    def _run(self, run: Run) -> Decoded:
        segments = segments_of(run.dotted_order)
        run_id = text_of(run.id) or (segments[-1][1] if segments else None)
        if run_id is None:
            return Drop("run_without_id")
        known = self.state.runs.get(run_id)
        if known is None and self._comes_early(run, run_id, segments):
            return Drop("patch_before_its_run")
        if known is None:
            known = describe(run, run_id, segments)
            root = self.state.runs.get(known.trace_id)
            if known.agent is None and root is not None:
                known.agent = root.agent
            remember(self.state.runs, run_id, known)
        events: list[Event] = []
        reason = "run_update"
        if not known.is_started and (run.start_time is not None or run.run_type is not None):
            known.is_started = True
            events += self._start(run, run_id, known)
            reason = "structural_span"
        early = decode_run(self.state.early.pop(run_id, b"null"))
        if early is not None and run.end_time is None and not run.error:
            run = early
        if run.end_time is not None or run.error:
            reason = "repeated_run" if known.is_ended else "structural_span"
            if not known.is_ended:
                known.is_ended = True
                events += self._leaf(run, run_id, known, self._end(run, run_id, known))
        return events or Drop(reason)

    def _comes_early(self, run: Run, run_id: str, segments: list[tuple[float | None, str]]) -> bool:
        """Keep a patch of a run that is not known yet, unless it tells of a failure."""
        if isinstance(run.run_type, str) or run.error or run.end_time is None:
            return False
        patch = kept_patch(run) if describe(run, run_id, segments).kind == "step" else None
        if patch is None:
            return False
        early = self.state.early
        early.pop(run_id, None)
        early[run_id] = patch
        if len(early) > _MAX_EARLY:
            del early[next(iter(early))]
        return True

    def _start(self, run: Run, run_id: str, known: KnownRun) -> Iterator[Event]:
        metadata = run.metadata
        arguments_hash = hash_arguments(run.inputs) if known.kind == "tool" else None
        yield from self._run_attempt(known, metadata)
        if known.attempt is not None:
            retry = self._event(run_id, known, "retry", known.started_at)
            retry.attempt, retry.arguments_hash = known.attempt - 1, arguments_hash
            retry.error_message = self.state.told.inside_step(known.ancestors)
            yield retry
        if known.kind in _STARTS:
            start = self._event(run_id, known, _STARTS[known.kind], known.started_at)
            start.arguments_hash = arguments_hash
            start.metadata = call_facts(metadata) or None
            yield start

    def _run_attempt(self, known: KnownRun, metadata: dict[str, Any]) -> Iterator[Event]:
        """LangGraph's platform retries a whole run: every run inside says which attempt it is."""
        attempt = count_of(metadata.get("run_attempt")) or 1
        if attempt < 2 or not remember(self.state.attempts, known.trace_id, True):
            return
        name = known.operation if known.kind == "agent" else text_of(metadata.get("graph_id"))
        yield Event(
            timestamp=UNTIMED if known.started_at is None else known.started_at,
            trace_id=known.trace_id,
            event_type="retry",
            operation=name or "run",
            status="started",
            attempt=attempt - 1,
        )

    def _end(self, run: Run, run_id: str, known: KnownRun) -> Event:
        ended_at = parse_timestamp(run.end_time)
        end = self._event(run_id, known, _ENDS[known.kind], time_of(run.end_time))
        end.status = "completed"
        if run.error:
            status, error = judge_error(run.error)
            error.write(end, status)
        elif known.kind == "tool":
            failure = tool_failure(value_of(run.outputs), is_said_ok=run.status == "success")
            if failure is not None:
                status, error = failure
                error.write(end, status)
        elif known.kind == "model":
            _write_usage(run, end)
        started_at = known.started_at
        if started_at is not None and ended_at is not None and ended_at >= started_at:
            end.duration_seconds = ended_at - started_at
        return end

    def _leaf(self, run: Run, run_id: str, known: KnownRun, end: Event) -> list[Event]:
        """Decide what an end adds: a wrapper only what failed in itself."""
        told, message = self.state.told, end.error_message
        if known.kind in ("model", "tool"):
            if end.status == "failed" and told.is_passed_on(run_id, message, ()):
                end.status = "aborted"  # a tool that handed the work to an agent was cut short
            elif end.status == "failed":
                told.tell(message, known.ancestors)
            return [contradict(end)] if run.error and _has_finished(run, known) else [end]
        has_failed = end.status == "failed"
        is_passed_on = told.is_passed_on(run_id, message, known.ancestors)
        own = has_failed and not is_passed_on and not _came_from_inside(run.error)
        if own:
            told.tell_own(run_id, message, known.ancestors)
        elif has_failed:
            told.tell(message, known.ancestors)
        if own and _is_contradicted(run):
            return [contradict(end)]
        if known.kind == "agent":
            return [own_failure(end, run.error), end] if own and _has_died(run) else [end]
        return [end] if own else []

    def _event(
        self, run_id: str, known: KnownRun, event_type: EventType, timestamp: float | None
    ) -> Event:
        return Event(
            timestamp=UNTIMED if timestamp is None else timestamp,
            trace_id=known.trace_id,
            event_type=event_type,
            operation=known.operation,
            status="started",
            attempt=known.attempt,
            agent=known.agent,
            call_id=run_id,
            parent_id=self._parent(known),
            model=known.model,
        )

    def _parent(self, known: KnownRun) -> str | None:
        """Return the nearest enclosing run that has events: the others' ids lead nowhere."""
        for ancestor in reversed(known.ancestors):
            outer = self.state.runs.get(ancestor)
            if outer is not None and outer.kind in _STARTS:
                return ancestor
        return known.ancestors[0] if known.ancestors else None


def _write_usage(run: Run, end: Event) -> None:
    model_facts(value_of(run.outputs)).write(end)
    if end.input_tokens is None:
        end.input_tokens = count_of(run.prompt_tokens)
    if end.output_tokens is None:
        end.output_tokens = count_of(run.completion_tokens)
    end.cost_usd = amount_of(run.total_cost)


def _is_contradicted(run: Run) -> bool:
    """Whether beside its error stands a result, or that it ended well, or that it has not ended; or
    the error is of no such shape as the tracers write, which is a text."""
    is_well = run.ended_well or run.has_answered
    return is_well or run.end_time is None or not isinstance(run.error, str)


def _has_finished(run: Run, call: KnownRun) -> bool:
    """Whether beside its error a call has all that it was asked for, as an answer that came to its
    end and is no piece of one; or it has not ended."""
    if call.kind == "model" and run.end_time is not None:
        return run.ended_well or model_facts(value_of(run.outputs)).finish_reason is not None
    return _is_contradicted(run)


def _has_died(run: Run) -> bool:
    return is_crash(judge_error(run.error)[1], is_doubted=run.has_result)


def _came_from_inside(error: object) -> bool:
    return isinstance(error, str) and bool(_INNER_FRAMES.search(error, 0, _MAX_TRACEBACK))


def _in_order(event: Event) -> tuple[float, bool]:
    is_timed = event.timestamp == event.timestamp
    return event.timestamp if is_timed else float("inf"), event.event_type == "agent_end"


DIALECT = Dialect(
    name="langsmith_runs",
    framework="langchain",
    recognise=recognise,
    decoder=RunsDecoder,
    disorder_seconds=5.0,  # runs are written when they end, batches every few seconds
    description="LangSmith run dicts and batch operations: run_type, dotted_order; post and patch",
    written_by=(
        "LangSmith's runs, downloaded or listed by its client; the batches that clients send"
    ),
)
