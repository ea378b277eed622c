"""What `gemini --output-format stream-json` prints: `init` to `result`."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, text_of
from lastsignal.core.aliases.gemini.limits import limit_event, limit_in
from lastsignal.core.aliases.gemini.tool_results import judge_failure
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run, remember
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

AGENT = "gemini-cli"
_ABSENT = msgspec.Raw(b"")
_TYPES = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})
_CANCELLED = re.compile(r"(?:Fatal)?Cancel|(?:Operation|Request) cancel", re.IGNORECASE)


class _Record(msgspec.Struct, gc=False):
    type: Any = None
    timestamp: Any = None
    session_id: Any = None
    model: Any = None
    tool_name: Any = None
    tool_id: Any = None
    parameters: msgspec.Raw = _ABSENT
    status: Any = None
    severity: Any = None
    message: Any = None
    error: Any = None
    stats: Any = None
    role: Any = None
    content: msgspec.Raw = _ABSENT
    subtype: Any = msgspec.UNSET
    sessionID: Any = msgspec.UNSET
    """These are of Claude's and OpenCode's records, which share the words."""

    @property
    def is_of_stream(self) -> bool:
        """Whether it has what the stream gives a record of its type."""
        if self.subtype is not msgspec.UNSET or self.sessionID is not msgspec.UNSET:
            return False
        if self.type in ("tool_use", "tool_result"):
            return isinstance(self.tool_id, str)
        if self.type == "error":
            return self.severity is not None
        if self.type == "message":
            return isinstance(self.role, str) and bytes(self.content)[:1] == b'"'
        return self.type != "result" or self.status is not None


class StreamState(msgspec.Struct):
    """What must survive a restart to read the next record."""

    session: str = ""
    model: str | None = None
    open_runs: dict[str, float] = {}
    calls: dict[str, str] = {}
    told: bool = False
    """The run's failure has a record of its own: the result only repeats it."""


_decode_record = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A record of the stream; its words are common, so its own fields must be there."""
    if not isinstance(value, dict) or "timestamp" not in value:
        return False
    kind = value.get("type")
    if kind == "init":
        return isinstance(value.get("session_id"), str) and "model" in value
    if kind in ("tool_use", "tool_result"):
        return isinstance(value.get("tool_id"), str)
    if kind == "result":
        return "status" in value and ("stats" in value or "error" in value)
    if kind == "error":
        return "severity" in value and "message" in value
    return kind == "message" and "role" in value and isinstance(value.get("content"), str)


class StreamDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: StreamState = StreamState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        kind = line.type
        if not isinstance(kind, str) or kind not in _TYPES or not line.is_of_stream:
            raise NotThisDialect
        if kind == "init":
            self.state = StreamState(
                session=text_of(line.session_id) or "", model=text_of(line.model)
            )
        elif not self.state.session and text_of(line.tool_id) is None and line.stats is None:
            raise NotThisDialect  # words that many layouts have, and nothing of Gemini before them
        moment = time_of(line.timestamp)
        run = Run(
            self.state.session,
            self.state.session or "session",
            None,
            AGENT,
            moment,
        )
        return self._read(line, kind, run)

    def _read(self, line: _Record, kind: str, run: Run) -> Decoded:
        if kind == "init":
            return run.open(self.state.open_runs, model=self.state.model)
        if kind == "message":
            return Drop("message")
        if kind == "tool_use":
            return self._tool_use(line, run) or Drop("repeated_call")
        if kind == "tool_result":
            return self._tool_result(line, run)
        if kind == "error":
            return self._error(line, run) or Drop("notice")
        return self._result(line, run)

    def _tool_use(self, line: _Record, run: Run) -> list[Event]:
        call_id, name = text_of(line.tool_id), text_of(line.tool_name)
        if call_id and not remember(self.state.calls, call_id, name or ""):
            return []
        return [
            *run.open(self.state.open_runs),
            run.event(
                event_type="tool_call",
                status="started",
                operation=name,
                call_id=call_id,
                arguments_hash=hash_arguments(line.parameters),
            ),
        ]

    def _tool_result(self, line: _Record, run: Run) -> list[Event]:
        call_id = text_of(line.tool_id)
        name = self.state.calls.get(call_id or "") or None
        end = run.event(
            event_type="tool_result", status="completed", operation=name, call_id=call_id
        )
        if line.status == "error" or line.error:
            judge_failure("failed", line.error, None).write(end)
        return [end]

    def _error(self, line: _Record, run: Run) -> list[Event]:
        """A notice. Only the limits among them end the run."""
        text = text_of(line.message) or ""
        limit = limit_in(text)
        if limit is None or self.state.told:
            return []
        self.state.told = True
        return [*run.open(self.state.open_runs), limit_event(run, limit, text)]

    def _result(self, line: _Record, run: Run) -> list[Event]:
        state = self.state
        stats = mapping_of(line.stats)
        milliseconds = amount_of(stats.get("duration_ms"))
        seconds = None if milliseconds is None else milliseconds / 1000.0
        events = run.open(state.open_runs)
        if count_of(stats.get("total_tokens")):
            # The run's tokens: the only place that tells them, for all of its calls together.
            events.append(self._model_call(run, status="completed", **_tokens(stats)))
        if line.status == "success" or (line.status != "error" and not line.error):
            return events + run.close(state.open_runs, duration_seconds=seconds)
        error = provider_error(text_of(at(line.error, "message")) or text_of(line.error))
        error = ErrorFields(
            error.message, error.http_status, text_of(at(line.error, "type")) or error.type
        )
        if _CANCELLED.match(error.type or "") or _CANCELLED.match(error.message or ""):
            return events + run.close(state.open_runs, "aborted", error, duration_seconds=seconds)
        if not state.told:
            limit = limit_in(error.message or "", error.type)
            leaf = (
                self._model_call(run)
                if limit is None
                else limit_event(run, limit, error.message or "")
            )
            error.write(leaf)
            events.append(leaf)
        state.told = False
        return events + run.close(state.open_runs, "failed", error, duration_seconds=seconds)

    def _model_call(self, run: Run, **fields: Any) -> Event:
        model = self.state.model
        return run.event(
            event_type="model_call", operation=model or "gemini", model=model, **fields
        )


def _tokens(stats: Any) -> dict[str, Any]:
    cached = count_of(stats.get("cached"))
    return {
        "input_tokens": count_of(stats.get("input_tokens")),
        "output_tokens": count_of(stats.get("output_tokens")),
        "metadata": {"cache_read_tokens": cached} if cached else None,
    }


DIALECT = Dialect(
    name="gemini_stream",
    framework="gemini-cli",
    recognise=recognise,
    decoder=StreamDecoder,
    one_at_a_time=True,
    is_unique=True,
    description="Gemini CLI stream-json: init, tool_use, tool_result, result",
    written_by="`gemini -p … --output-format stream-json > FILE`",
)
