"""What `codex exec --json` prints: threads, turns and items, without times."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.codex.messages import error_events, error_of
from lastsignal.core.aliases.codex.outputs import Judgement, exited
from lastsignal.core.aliases.codex.session import AGENT, Session, SessionState
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import unwrap_error
from lastsignal.core.aliases.fields import mapping_of, status_of, text_of
from lastsignal.core.aliases.session_runs import replace
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_TYPES = frozenset(
    "thread.started turn.started turn.completed turn.failed item.started item.updated "
    "item.completed".split()
)
_SPOKEN = frozenset({"agent_message", "reasoning", "todo_list"})


class _Record(msgspec.Struct, gc=False):
    type: Any = None
    thread_id: Any = None
    timestamp: Any = None
    usage: Any = None
    error: Any = None
    message: Any = None
    item: msgspec.Raw = _ABSENT


class _Item(msgspec.Struct, gc=False):
    id: Any = None
    type: Any = None
    item_type: Any = None  # the name of `type` in the first versions
    status: Any = None
    exit_code: Any = None
    error: Any = None
    server: Any = None
    tool: Any = None
    command: msgspec.Raw = _ABSENT
    arguments: msgspec.Raw = _ABSENT
    query: msgspec.Raw = _ABSENT
    changes: msgspec.Raw = _ABSENT


_decode_record = msgspec.json.Decoder(_Record).decode
_decode_item = msgspec.json.Decoder(_Item).decode


def recognise(value: Any) -> bool:
    """A record whose type is one of the stream's own words."""
    return isinstance(value, dict) and isinstance(kind := value.get("type"), str) and kind in _TYPES


class ExecDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self._session = Session()

    @property
    def state(self) -> SessionState:
        """What must survive a restart."""
        return self._session.state

    @state.setter
    def state(self, state: SessionState) -> None:
        self._session.state = state

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        kind = line.type
        at_time = time_of(line.timestamp)
        if kind == "error":
            return self._error(line, at_time)
        if not isinstance(kind, str) or kind not in _TYPES:
            raise NotThisDialect
        if kind == "thread.started":
            self._begin(text_of(line.thread_id) or "")
            return Drop("session_header")
        if kind == "turn.started":
            self.state.turn += 1
            return self._session.open(at_time) or Drop("repeated_turn")
        if kind == "turn.completed":
            return self._usage(line, at_time) + self._session.close(at_time, "completed")
        if kind == "turn.failed":
            return self._failed(line, at_time)
        return self._item(kind, line, at_time)

    def _begin(self, thread: str) -> None:
        """Begin a thread, or go on with one: its turns and its sums go on, too."""
        old = self.state
        sums = old.total_input, old.total_output, old.total_cached
        replace(old.left, old.session, (old.turn, *sums))
        state = self._session.state = SessionState(session=thread, left=old.left)
        state.turn, state.total_input, state.total_output, state.total_cached = (
            state.left.get(thread, (0, 0, 0, 0)) if thread else (0, 0, 0, 0)
        )

    def _error(self, line: _Record, at_time: float) -> Decoded:
        if not isinstance(line.message, str) or not (self.state.session or self.state.turn):
            raise NotThisDialect  # a word that many layouts have, and nothing of Codex before it
        payload = {"type": "error", "message": line.message}
        return error_events(self._session, at_time, error_of(payload), payload)

    def _failed(self, line: _Record, at_time: float) -> Decoded:
        fields = line.error if isinstance(line.error, dict) else {"message": text_of(line.error)}
        error = error_of(fields)
        events = self._session.failed_call(at_time, error)
        return events + self._session.open(at_time) + self._session.close(at_time, "failed", error)

    def _usage(self, line: _Record, at_time: float) -> list[Event]:
        """The turn's tokens, for all of its calls together: by how much the thread's have grown."""
        usage = mapping_of(line.usage)
        events = self._session.open(at_time)
        if not usage:
            return events
        used = self._session.grown(usage)
        if not any(used.values()) and any(usage.values()):
            return events  # nothing was asked in this turn
        cached = used["cached_input_tokens"]
        return [
            *events,
            self._session.event(
                at_time,
                event_type="model_call",
                status="completed",
                operation=AGENT,
                input_tokens=used["input_tokens"],
                output_tokens=used["output_tokens"],
                metadata={"cache_read_tokens": cached} if cached else None,
            ),
        ]

    def _item(self, kind: str, line: _Record, at_time: float) -> Decoded:
        try:
            item = _decode_item(line.item)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return Drop("malformed_record")
        name = text_of(item.type) or text_of(item.item_type) or ""
        if name == "error":
            return Drop("non_fatal_notice")
        if name in _SPOKEN or "assistant_message" in name:
            return self._session.open(at_time) or Drop("message")
        if kind == "item.updated":
            return Drop("progress")
        call_id = f"{self.state.turn}/{text_of(item.id) or name}"
        arguments = next(
            (raw for raw in (item.command, item.arguments, item.query, item.changes) if bytes(raw)),
            None,
        )
        events = self._session.call(at_time, call_id, text_of(item.tool) or name or None, arguments)
        if kind == "item.completed":
            events += self._session.result(at_time, call_id, _judge(item))
        return events or Drop("repeated_call")


def _judge(item: _Item) -> Judgement:
    status = status_of(item.status) or "completed"
    code = (
        item.exit_code if isinstance(item.exit_code, int) and item.exit_code is not True else None
    )
    if status == "aborted":
        return Judgement("aborted", unwrap_error(text_of(item.status)))
    if code:
        return exited(code, f"Exit code: {code}")
    error = unwrap_error(item.error)
    if status == "failed" or error.message:
        return Judgement("failed", error)
    return Judgement(exit_code=code)


DIALECT = Dialect(
    name="codex_exec",
    framework="codex",
    recognise=recognise,
    decoder=ExecDecoder,
    one_at_a_time=True,
    description="codex exec --json: thread.started, turn.*, item.*",
    written_by="`codex exec --json … > FILE`",
)
