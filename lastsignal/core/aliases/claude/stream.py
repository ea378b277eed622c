"""What `claude -p --output-format stream-json` and the Agent SDK print.

The run is said outright: `system/init` opens it and `result` closes it, with the verdict, the cost
and the calls that were denied. `--output-format json` prints the `result` alone. Retries are
`system/api_retry`. Nothing here carries a time.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.claude.content import (
    AGENT,
    UNNAMED_MODEL,
    ContentState,
    as_told,
    failed_model_call,
    model_call,
    tool_calls,
    tool_results,
)
from lastsignal.core.aliases.claude.records import ABSENT, Block, Line, blocks_of, message_of
from lastsignal.core.aliases.claude.result import Outcome, Result, outcome_of
from lastsignal.core.aliases.claude.sums import Spent
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect, holds
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.error_text import http_status_of, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, attempt_of, count_of, mapping_of, text_of
from lastsignal.core.aliases.session_runs import Run, close_run, open_run, remember, replace
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_CONTROL = frozenset(
    "stream_event control_request control_response control_cancel_request keep_alive auth_status "
    "rate_limit_event tool_use_summary prompt_suggestion streamlined_text tool_progress".split()
)


class StreamLine(Line):
    """A record of the stream: what the transcript does not have."""

    attempt: Any = None
    max_retries: Any = None
    retry_delay_ms: Any = None
    error_status: Any = None
    model: Any = None
    compact_metadata: Any = None
    subagent_retry: Any = None
    tool_name: Any = None
    tool_use_result: msgspec.Raw = ABSENT


class StreamState(ContentState):
    """Adds what the result needs to know of the run before it."""

    failed: dict[str, bool] = msgspec.field(default_factory=dict)
    """Runs whose failing call has a record of its own: the result only repeats it."""
    used: dict[str, Spent] = msgspec.field(default_factory=dict)
    """What sessions have used."""


_decode_line = msgspec.json.Decoder(StreamLine).decode
_decode_result = msgspec.json.Decoder(Result).decode


def recognise(value: Any) -> bool:
    """A record of the stream, or the one object of `--output-format json`."""
    if not isinstance(value, dict) or "sessionId" in value:
        return False
    kind = value.get("type")
    if kind == "system":
        return isinstance(value.get("subtype"), str) and "session_id" in value
    if kind == "result":
        return isinstance(value.get("subtype"), str) and not {
            "num_turns", "is_error", "total_cost_usd", "duration_ms"
        }.isdisjoint(value)  # fmt: skip
    if kind in ("user", "assistant"):
        message = value.get("message")
        return isinstance(message, dict) and "content" in message and "parts" not in message
    return isinstance(kind, str) and kind in _CONTROL and "session_id" in value


class StreamDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: StreamState = StreamState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_line(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        kind = line.type
        if not isinstance(kind, str) or line.sessionId is not None:
            raise NotThisDialect
        run = self._run_of(line)
        if kind == "system" and isinstance(line.subtype, str):
            return self._system(run, line)
        if kind == "result":
            return self._result(run, record)
        if kind in ("user", "assistant"):
            return self._spoken(run, line)
        if kind in _CONTROL:
            return self._control(run, line)
        if text_of(line.session_id) is None or kind == "init":  # which is Gemini CLI's
            raise NotThisDialect
        return Drop("control_message")

    def _system(self, run: Run, line: StreamLine) -> Decoded:
        if line.subtype == "init":
            model = text_of(line.model)
            if model:
                replace(self.state.models, run.run_id, model)
            return self._open(run) or Drop("repeated_init")
        if line.subtype == "api_retry":
            error = unwrap_error(line.error)
            status = http_status_of(line.error_status) or error.http_status
            return [*self._open(run), self._retry(run, vars_of(line), error.message, status)]
        if line.subtype == "compact_boundary":
            facts = {
                "trigger": text_of(at(line.compact_metadata, "trigger")),
                "tokens_before": count_of(at(line.compact_metadata, "pre_tokens")),
            }
            return [
                run.event(
                    event_type="audit", operation="compaction", status="completed", metadata=facts
                )
            ]
        return Drop("system_notice")

    def _control(self, run: Run, line: StreamLine) -> Decoded:
        retry = mapping_of(line.subagent_retry)
        if retry:
            category = text_of(retry.get("error_category"))
            return [self._retry(run, retry, category, http_status_of(retry.get("error_status")))]
        return Drop("stream_chunk" if line.type == "stream_event" else "control_message")

    def _retry(self, run: Run, facts: Any, error: str | None, http_status: int | None) -> Event:
        delay = amount_of(facts.get("retry_delay_ms"))
        metadata = {
            "delay_seconds": None if delay is None else delay / 1000.0,
            "max_attempts": count_of(facts.get("max_retries")),
        }
        return run.event(
            event_type="retry",
            status="started",
            operation=self.state.models.get(run.run_id) or UNNAMED_MODEL,
            attempt=attempt_of(facts.get("attempt")),
            error_message=error,
            error_type=error,
            http_status=http_status,
            metadata={name: value for name, value in metadata.items() if value is not None},
        )

    def _spoken(self, run: Run, line: StreamLine) -> Decoded:
        message = message_of(line.message)
        if message is None:
            return Drop("malformed_record")
        if bytes(message.parts):
            raise NotThisDialect
        blocks = blocks_of(message.content)
        if line.type == "user":
            line.toolUseResult = line.tool_use_result
            return self._tool_results(run, line, blocks) or Drop("prompt")
        if line.isApiErrorMessage is True or (line.error and message.model == "<synthetic>"):
            replace(self.state.failed, run.run_id, True)
            failed = failed_model_call(self.state, run, line, message)
            return [*self._open(run), as_told(failed)]
        events = self._open(run)
        if message.model != "<synthetic>":
            answer = model_call(self.state, run, message, line.uuid)
            self._spent(run).note(answer)
            events += answer
        events += tool_calls(self.state, run, blocks)
        events += tool_results(self.state, run, blocks, line)
        return events or Drop("further_block")

    def _tool_results(self, run: Run, line: Line, blocks: list[Block]) -> list[Event]:
        results = tool_results(self.state, run, blocks, line)
        events: list[Event] = []
        for result in results:
            # A sub-agent has no record of its end: it ends with the call that started it.
            sub_agent = self._sub_agent(run.trace_id, result.call_id or "", run.at)
            end = sub_agent.boundary(event_type="agent_end", status=result.status)
            end.error_message, end.error_type = result.error_message, result.error_type
            events += close_run(self.state.open_runs, end)
            events.append(result)
        return events

    def _result(self, run: Run, record: bytes) -> Decoded:
        try:
            result = _decode_result(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if result.num_turns is None and result.is_error is None and result.total_cost_usd is None:
            raise NotThisDialect  # another agent's `result`
        outcome = outcome_of(result)
        events = self._open(run)
        for denial in result.denied():
            events.append(
                run.event(
                    event_type="audit",
                    operation="permission",
                    status="aborted",
                    call_id=text_of(denial.get("tool_use_id")),
                    metadata={"tool_name": text_of(denial.get("tool_name"))},
                )
            )
        if outcome.leaf is not None and not (outcome.repeats and run.run_id in self.state.failed):
            events.append(run.event(**outcome.leaf))
        self.state.failed.pop(run.run_id, None)
        rest, cost = self._spent(run).settle(run, result.cost(), result.usage, result.modelUsage)
        events += rest
        events += close_run(self.state.open_runs, _end(run, result, outcome, cost))
        return events

    def _spent(self, run: Run) -> Spent:
        remember(self.state.used, run.trace_id, Spent())
        return self.state.used[run.trace_id]

    def _run_of(self, line: StreamLine) -> Run:
        session = text_of(line.session_id) or ""
        at_time = time_of(line.timestamp)
        caller = text_of(line.parent_tool_use_id)
        if caller:
            return self._sub_agent(session, caller, at_time)
        return Run(session, session or "session", None, AGENT, at_time)

    def _sub_agent(self, session: str, caller: str, at_time: float) -> Run:
        name = self.state.calls.get(caller) or "sub-agent"
        return Run(session, f"{caller}/agent", caller, name, at_time)

    def _open(self, run: Run) -> list[Event]:
        return open_run(
            self.state.open_runs, run.boundary(event_type="agent_start", status="started")
        )


def _end(run: Run, result: Result, outcome: Outcome, cost: float | None) -> Event:
    milliseconds = amount_of(result.duration_ms)
    end = run.boundary(
        event_type="agent_end",
        status=outcome.status,
        error_message=outcome.error.message,
        error_type=outcome.error.type,
        http_status=outcome.error.http_status,
        duration_seconds=None if milliseconds is None else milliseconds / 1000.0,
        cost_usd=cost,  # no model call carries a cost here, so nothing is counted twice
        metadata=outcome.facts,
    )
    return contradict(end) if outcome.is_contradicted else end


def vars_of(line: StreamLine) -> dict[str, Any]:
    """The retry facts of a record, by the names that a sub-agent's retry has too."""
    return {
        "attempt": line.attempt,
        "max_retries": line.max_retries,
        "retry_delay_ms": line.retry_delay_ms,
    }


DIALECT = Dialect(
    name="claude_stream",
    framework="claude-code",
    recognise=recognise,
    decoder=StreamDecoder,
    one_at_a_time=True,
    is_unique=True,
    is_named=holds(b'"uuid"', b'"id"', b'"tool_use_id"', b'"duration_ms"', b'"init"'),
    description="Claude Code stream-json or Agent SDK messages: system/init to result",
    written_by=(
        "`claude -p --output-format stream-json --verbose … > FILE`; programs on the Agent SDK"
    ),
)
