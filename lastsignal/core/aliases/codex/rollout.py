"""Codex's session rollouts: `~/.codex/sessions/<date>/rollout-<time>-<session>.jsonl`.

Each record wraps a payload; the first versions wrote bare items after a header, and the first
`codex exec` an envelope with `msg`. Errors of the model are left out of rollouts on purpose.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.codex.messages import decode_message, follow_message
from lastsignal.core.aliases.codex.outputs import Judgement, judge_output
from lastsignal.core.aliases.codex.session import AGENT, Session, SessionState
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import at, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_TYPES = frozenset(
    "session_meta turn_context response_item event_msg compacted world_state".split()
)
_BARE = frozenset(
    "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output "
    "local_shell_call".split()
)


class _Record(msgspec.Struct, gc=False):
    timestamp: Any = None
    type: Any = None
    record_type: Any = None
    id: Any = None
    instructions: Any = msgspec.UNSET
    step: Any = msgspec.UNSET
    """Of LangGraph's records, which have a timestamp, a type and a payload, too."""
    payload: msgspec.Raw = _ABSENT
    msg: msgspec.Raw = _ABSENT


class Item(msgspec.Struct, gc=False):
    """A `response_item`: what the model sent or was sent."""

    type: Any = None
    id: Any = None
    role: Any = None
    phase: Any = None
    name: Any = None
    call_id: Any = None
    status: Any = None
    content: msgspec.Raw = _ABSENT
    arguments: msgspec.Raw = _ABSENT
    input: msgspec.Raw = _ABSENT
    action: msgspec.Raw = _ABSENT
    output: msgspec.Raw = _ABSENT


_decode_record = msgspec.json.Decoder(_Record).decode
_decode_item = msgspec.json.Decoder(Item).decode


def recognise(value: Any) -> bool:
    """A wrapped record, a header or bare item of the first versions, or an envelope."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if isinstance(kind, str):
        if kind in _TYPES:
            return "timestamp" in value and isinstance(value.get("payload"), dict)
        return kind in _BARE and _is_bare(kind, value)
    if value.get("record_type") == "state":
        return True
    message = value.get("msg")
    if isinstance(message, dict):
        return (
            isinstance(message.get("type"), str)
            and isinstance(value.get("id"), str)
            and len(value) == 2
        )
    return isinstance(value.get("id"), str) and "timestamp" in value and "instructions" in value


def _is_bare(kind: str, value: dict[str, Any]) -> bool:
    if kind == "message":
        content = value.get("content")
        parts = {"input_text", "output_text"}
        return (
            isinstance(content, list)
            and "role" in value
            and any(
                isinstance(part, dict)
                and isinstance(part.get("type"), str)
                and part["type"] in parts
                for part in content
            )
        )
    if kind == "reasoning":
        return isinstance(value.get("summary"), list)
    return isinstance(value.get("call_id"), str)


class RolloutDecoder:
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
        if line.step is not msgspec.UNSET:
            raise NotThisDialect
        at_time = time_of(line.timestamp)
        if isinstance(line.type, str):
            return self._typed(line, line.type, at_time, record)
        if line.record_type == "state":
            return Drop("session_state")
        message = value_of(line.msg)
        if isinstance(message, dict):
            return decode_message(self._session, at_time, message)
        if (
            isinstance(line.id, str)
            and line.timestamp is not None
            and line.instructions is not msgspec.UNSET
        ):
            self._begin(line.id, at_time, {})
            return Drop("session_header")
        raise NotThisDialect

    def _typed(self, line: _Record, kind: str, at_time: float, record: bytes) -> Decoded:
        if kind in _BARE and not bytes(line.payload):
            if kind == "message" and not recognise(value_of(record)):
                raise NotThisDialect
            return self._item(record, at_time)
        payload = bytes(line.payload)
        if payload[:1] != b"{" or line.timestamp is None:
            raise NotThisDialect
        if kind == "session_meta":
            meta = mapping_of(value_of(payload))
            return self._begin(
                text_of(meta.get("id")) or text_of(meta.get("session_id")), at_time, meta
            )
        if self._session.is_copy(at_time):
            return self._copied(kind, payload, at_time)
        if kind == "response_item":
            return self._item(payload, at_time)
        if kind == "event_msg":
            return decode_message(self._session, at_time, mapping_of(value_of(payload)))
        if kind == "turn_context":
            self._take_context(payload)
            return Drop("turn_context")
        if kind == "compacted":
            return [
                self._session.event(
                    at_time, event_type="audit", operation="compaction", status="completed"
                )
            ]
        return Drop("other_item")

    def _copied(self, kind: str, payload: bytes, at_time: float) -> Drop:
        """Take from what was copied only what the session's own records go on with."""
        if kind == "turn_context":
            self._take_context(payload)
        elif kind == "event_msg":
            follow_message(self._session, at_time, mapping_of(value_of(payload)))
        return Drop("copied_from_fork")

    def _take_context(self, payload: bytes) -> None:
        self.state.model = text_of(at(value_of(payload), "model")) or self.state.model

    def _begin(self, session: str | None, at_time: float, meta: Any) -> Decoded:
        """Begin a session; one that was forked repeats the header and the records of its parent."""
        state = self.state
        if session != state.session and self._session.is_in_one_go(at_time):
            state.forked = True  # two headers: older versions do not say so
        if self._session.is_copy(at_time):
            return Drop("copied_from_fork")
        if session and session != state.session:
            agent = text_of(meta.get("agent_nickname")) or text_of(meta.get("agent_role")) or AGENT
            forked = text_of(meta.get("forked_from_id")) is not None
            self._session.state = SessionState(
                session=session, started_at=at_time, forked=forked, copied_at=at_time, agent=agent
            )
        return Drop("session_header")

    def _item(self, data: bytes, at_time: float) -> Decoded:
        try:
            item = _decode_item(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return Drop("malformed_record")
        kind = item.type if isinstance(item.type, str) else ""
        call_id = text_of(item.call_id) or text_of(item.id)
        if kind == "message":
            return self._message(item, at_time) or Drop("message")
        if kind.endswith("_call_output") or kind.endswith("_search_output"):
            judged = judge_output(bytes(item.output))
            return self._session.result(at_time, call_id, judged) or Drop("repeated_result")
        if kind.endswith("_call"):
            return self._call(item, kind, call_id, at_time) or Drop("repeated_call")
        return Drop("other_item")

    def _call(self, item: Item, kind: str, call_id: str | None, at_time: float) -> list[Event]:
        arguments = next(
            (raw for raw in (item.arguments, item.input, item.action) if bytes(raw)), None
        )
        name = text_of(item.name) or kind.removesuffix("_call")
        events = self._session.call(at_time, call_id, name, arguments)
        if events and item.status == "completed" and item.call_id is None:
            # Tools that run at the provider: one record is both start and end.
            events += self._session.result(at_time, call_id, Judgement())
        return events

    def _message(self, item: Item, at_time: float) -> list[Event]:
        """An answer closes the turn where the session does not say so itself."""
        if item.role != "assistant":
            return []
        events = self._session.open(at_time)
        if not self.state.says_turns and item.phase in (None, "final_answer"):
            events += self._session.close(at_time, "completed")
        return events


DIALECT = Dialect(
    name="codex_rollout",
    framework="codex",
    recognise=recognise,
    decoder=RolloutDecoder,
    one_at_a_time=True,
    is_unique=True,
    is_copied=True,
    description="Codex session rollout: records of timestamp, type and payload",
    default_paths=("~/.codex/sessions/**/rollout-*.jsonl",),
)
