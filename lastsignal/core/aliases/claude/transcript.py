"""Claude Code's session transcripts: `~/.claude/projects/<directory>/<session>.jsonl`.

Sub-agents write files of their own beside them, and the web client exports one document with the
same records under `loglines`. Retries are `system/api_error` records; a call that is given up
becomes an assistant record with `isApiErrorMessage`. Nothing marks the end of a session.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.claude.answers import AnswerState, end_answer, tell_answer
from lastsignal.core.aliases.claude.content import (
    AGENT,
    UNNAMED_MODEL,
    as_told,
    denials,
    failed_model_call,
    is_interruption,
    tool_calls,
    tool_results,
)
from lastsignal.core.aliases.claude.records import (
    Block,
    Line,
    Message,
    blocks_of,
    input_tokens,
    message_of,
)
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, attempt_of, count_of, mapping_of, text_of
from lastsignal.core.aliases.session_runs import Run, close_run, name_by, open_run, replace
from lastsignal.core.events import GOES_ON, Event, Status
from lastsignal.core.timestamps import time_of

SIDE_CARS = frozenset(
    "summary file-history-snapshot file-history-delta permission-mode mode last-prompt ai-title "
    "custom-title agent-name agent-color agent-setting queue-operation attachment progress tag "
    "pr-link bridge-session cost-state frame-link atis-latch attribution-snapshot "
    "content-replacement".split()
)
_SPEAKERS = frozenset({"user", "assistant"})
_TURN_ENDS = frozenset({"end_turn", "stop_sequence"})
_REFUSED = {
    "refusal": "content_filter",
    "model_context_window_exceeded": "context_length",
}
"""Reasons to stop that end the turn badly, and of what class that is."""
_LEAST_WINDOW = 190_000
"""Tokens that the smallest window of a model holds which can say that it is full, and some less."""
_SWITCHES = frozenset({"model_fallback", "model_refusal_fallback"})

_decode_line = msgspec.json.Decoder(Line).decode


class TranscriptState(AnswerState):
    """Adds what tells turns and sub-agents apart."""

    ended: dict[str, str] = msgspec.field(default_factory=dict)
    """The message that closed a run: its further lines do not open the next one."""
    saw_main: bool = False
    """A source with nothing but side-chain records is a sub-agent's own file."""


def recognise(value: Any) -> bool:
    """A record of a transcript, or a document of them."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("loglines"), list):
        return True
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _SPEAKERS:
        message = value.get("message")
        if "sessionId" not in value and ("session_id" in value or "timestamp" not in value):
            return False
        return "parts" not in message if isinstance(message, dict) else "parentUuid" in value
    if kind == "system":
        return (
            isinstance(value.get("subtype"), str)
            and ("sessionId" in value or ("timestamp" in value and "session_id" not in value))
            and "systemPayload" not in value
        )
    return kind in SIDE_CARS and not {
        "sessionId",
        "messageId",
        "leafUuid",
        "uuid",
        "snapshot",
    }.isdisjoint(value)


class TranscriptDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: TranscriptState = TranscriptState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_line(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if bytes(line.loglines)[:1] == b"[":
            return self._document(record, line.loglines)
        return name_by(text_of(line.uuid), self._record(line))

    def _document(self, record: bytes, loglines: msgspec.Raw) -> Decoded:
        events: list[Event] = []
        for offset, element in elements_of(record, loglines):
            try:
                line = _decode_line(element)
                decoded = name_by(text_of(line.uuid), self._record(line))
            except (msgspec.MsgspecError, NotThisDialect, UnicodeError, RecursionError):
                continue
            for event in [] if isinstance(decoded, Drop) else decoded:
                event.offset = offset
                events.append(event)
        return events or Drop("empty_document")

    def _record(self, line: Line) -> Decoded:
        kind = line.type
        if not isinstance(kind, str) or line.is_anothers:
            raise NotThisDialect
        if kind == "system":
            return self._system(line)
        if kind not in _SPEAKERS:
            if kind in SIDE_CARS or text_of(line.sessionId):
                return Drop("side_car")
            raise NotThisDialect
        message = message_of(line.message)
        if message is None:
            return Drop("malformed_record")
        if bytes(message.parts) or (line.sessionId is None and line.session_id is not None):
            raise NotThisDialect
        if line.forkedFrom is not None:
            return Drop("copied_from_fork")
        run = self._run_of(line)
        if kind == "assistant":
            return self._assistant(run, line, message, blocks_of(message.content))
        return self._user(run, line, message, blocks_of(message.content))

    def _assistant(self, run: Run, line: Line, message: Message, blocks: list[Block]) -> Decoded:
        if line.isApiErrorMessage is True:
            failed = failed_model_call(self.state, run, line, message)
            return [*self._open(run), as_told(failed), *self._close(run, "failed", error_of=failed)]
        if message.model == "<synthetic>":
            return Drop("synthetic_message")
        message_id = text_of(message.id) or ""
        calls = tool_calls(self.state, run, blocks)
        has_ended = bool(message_id) and self.state.ended.get(run.run_id) == message_id
        events = self._open(run) if calls or not has_ended else []
        if events and has_ended:  # by a line that was not its last
            events[0].metadata = {GOES_ON: True}
        answer = tell_answer(self.state, run, message, line.requestId or line.uuid, blocks)
        if answer and answer[-1].status == "completed" and answer[-1].event_type == "model_call":
            answer[-1].cost_usd = amount_of(line.costUSD)  # as clients before version 1 tell it
        events += answer
        events += calls
        events += tool_results(self.state, run, blocks, line)
        reason = text_of(message.stop_reason)
        if reason in _REFUSED:
            events += self._refusal(run, reason, message)
        elif self._ends_turn(message, blocks):
            events += self._close(run, "completed")
        if run.run_id not in self.state.open_runs:
            replace(self.state.ended, run.run_id, message_id)
        return events or Drop("further_block")

    def _user(self, run: Run, line: Line, message: Message, blocks: list[Block]) -> Decoded:
        results = tool_results(self.state, run, blocks, line)
        events = [*end_answer(self.state, run), *results, *denials(run, results)]
        if is_interruption(line, message, blocks):
            events += self._close(run, "aborted")
        if events:
            return events
        return Drop(
            "meta_message" if line.isMeta is True or line.isCompactSummary is True else "prompt"
        )

    def _system(self, line: Line) -> Decoded:
        if not isinstance(line.subtype, str) or (
            line.sessionId is None and line.session_id is not None
        ):
            raise NotThisDialect
        run = self._run_of(line)
        ended = end_answer(self.state, run)
        told = self._notice(run, line)
        return (ended or told) if isinstance(told, Drop) else ended + told

    def _notice(self, run: Run, line: Line) -> Decoded:
        if line.subtype == "api_error":
            return [*self._open(run), self._retry(run, line)]
        if line.subtype == "turn_duration":
            milliseconds = amount_of(line.durationMs)
            seconds = None if milliseconds is None else milliseconds / 1000.0
            return self._close(run, "completed", duration_seconds=seconds) or Drop("turn_end")
        if line.subtype == "compact_boundary":
            facts = {
                "trigger": text_of(at(line.compactMetadata, "trigger")),
                "tokens_before": count_of(at(line.compactMetadata, "preTokens")),
                "tokens_after": count_of(at(line.compactMetadata, "postTokens")),
            }
            return [
                run.event(
                    event_type="audit", operation="compaction", status="completed", metadata=facts
                )
            ]
        if line.subtype in _SWITCHES:
            return [run.event(event_type="audit", operation=line.subtype, status="completed")]
        if line.subtype == "permission_denied":
            message = unwrap_error(line.content or line.error).message
            return [
                run.event(
                    event_type="audit",
                    operation="permission",
                    status="aborted",
                    error_message=message,
                )
            ]
        return Drop("system_notice")

    def _retry(self, run: Run, line: Line) -> Event:
        error = unwrap_error(line.error)
        delay = amount_of(line.retryInMs)
        facts = {
            "delay_seconds": None if delay is None else delay / 1000.0,
            "max_attempts": count_of(line.maxRetries),
        }
        return run.event(
            event_type="retry",
            status="started",
            operation=self.state.models.get(run.run_id) or UNNAMED_MODEL,
            attempt=attempt_of(line.retryAttempt),
            error_message=error.message,
            error_type=error.type,
            http_status=error.http_status,
            metadata={name: value for name, value in facts.items() if value is not None},
        )

    def _refusal(self, run: Run, reason: str, message: Message) -> list[Event]:
        # The API answers with success, so no call failed: its reason to stop is on the answer.
        told = run.event(event_type="model_call", error_message=reason, error_type=reason)
        told.error_class = _REFUSED[reason]
        ends = self._close(run, "failed", error_of=told)
        is_doubted = reason != "refusal" and _is_small(message.usage)
        return [contradict(end) for end in ends] if is_doubted else ends

    def _ends_turn(self, message: Message, blocks: list[Block]) -> bool:
        """Is this the turn's last message? Decided on its answer, not on the thinking before it."""
        reason = message.stop_reason
        speaks = not blocks or any(block.type == "text" for block in blocks)
        if isinstance(reason, str):
            self.state.saw_stop_reason = True
            return speaks and reason in _TURN_ENDS
        return (
            speaks and not self.state.saw_stop_reason and not any(block.is_call for block in blocks)
        )

    def _run_of(self, line: Line) -> Run:
        session = text_of(line.sessionId) or ""
        moment = time_of(line.timestamp)
        if line.isSidechain is not True:
            self.state.saw_main = True
            return Run(session, session or "session", None, AGENT, moment)
        agent_id = text_of(line.agentId)
        run_id = f"{session}/{agent_id or 'sidechain'}"
        agent = text_of(line.attributionAgent) or agent_id or "sidechain"
        if self.state.saw_main:
            return Run(session, run_id, session or "session", agent, moment)
        # A sub-agent's own file is a trace of its own: files are read in no fixed order.
        return Run(run_id if agent_id else session, run_id, None, agent, moment)

    def _open(self, run: Run) -> list[Event]:
        return open_run(
            self.state.open_runs, run.boundary(event_type="agent_start", status="started")
        )

    def _close(
        self,
        run: Run,
        status: Status,
        error_of: Event | None = None,
        duration_seconds: float | None = None,
    ) -> list[Event]:
        end = run.boundary(event_type="agent_end", status=status, duration_seconds=duration_seconds)
        if error_of is not None:
            end.error_message, end.error_type = error_of.error_message, error_of.error_type
            end.http_status, end.error_class = error_of.http_status, error_of.error_class
        return close_run(self.state.open_runs, end)


def _is_small(usage: object) -> bool:
    """Whether an answer's tokens are far below what any model's window holds."""
    used = (input_tokens(usage) or 0) + (count_of(mapping_of(usage).get("output_tokens")) or 0)
    return 0 < used < _LEAST_WINDOW


DIALECT = Dialect(
    name="claude_transcript",
    framework="claude-code",
    recognise=recognise,
    decoder=TranscriptDecoder,
    one_at_a_time=True,
    is_unique=True,
    is_copied=True,
    description="Claude Code session transcript: records with sessionId, uuid and parentUuid",
    default_paths=("~/.claude/projects/**/*.jsonl",),
)
