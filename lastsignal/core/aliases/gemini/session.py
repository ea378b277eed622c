"""Gemini CLI's saved chats: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, once one `.json`.

A message is written again, under the same id, whenever it grows: a tool call is first seen
scheduled and at last with its result. Each event is told at the first record that shows it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import count_of, list_of, mapping_of, text_of
from lastsignal.core.aliases.gemini.limits import limit_event, limit_in
from lastsignal.core.aliases.gemini.tool_results import judge_call
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run, remember, replace
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import parse_timestamp, time_of

AGENT = "gemini-cli"
_ABSENT = msgspec.Raw(b"")
_SPEAKERS = frozenset({"user", "gemini", "info", "error", "warning", "message_update"})
_CHANGES = ("$set", "$rewindTo", "$patch")

# What the client itself says of a turn, in messages of its own.
_API_ERROR = re.compile(r"\s*[✕✖]?\s*\[API Error: ?(.*?)\]?\s*$", re.DOTALL)
_CANCELLED = re.compile(r"\s*(?:Request cancelled|User cancelled the request)")
_COMMANDS = ("/", "?", "!")
"""What a prompt begins with that goes to the client itself, or to a shell."""
_OF_PROVIDER = frozenset("connection overloaded quota rate_limit server_error".split())
_COMPRESSED = re.compile(
    r".{0,40}(?:chat history (?:was|has been) compressed|compressed from)", re.I
)


class _Record(msgspec.Struct, gc=False):
    sessionId: Any = None
    projectHash: Any = None
    kind: Any = None
    messages: msgspec.Raw = _ABSENT
    set: msgspec.Raw = msgspec.field(default=_ABSENT, name="$set")
    rewind: Any = msgspec.field(default=None, name="$rewindTo")
    patch: msgspec.Raw = msgspec.field(default=_ABSENT, name="$patch")
    id: Any = None
    type: Any = None
    timestamp: Any = None
    content: msgspec.Raw = _ABSENT
    toolCalls: msgspec.Raw = _ABSENT
    tokens: Any = None
    model: Any = None


class GeminiState(msgspec.Struct):
    """What must survive a restart to read the next record."""

    session: str = ""
    agent: str = AGENT
    open_runs: dict[str, float] = {}
    counted: dict[str, bool] = {}
    """Messages that are told: calls of the model, and what the client said."""
    calls: dict[str, bool] = {}
    """Tool calls that are told → whether their end is too."""
    is_asked: bool = False
    """The latest prompt has no answer yet."""


_decode_record = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """The header, a message, a change to an earlier one, or the whole chat."""
    if not isinstance(value, dict):
        return False
    if any(change in value for change in _CHANGES):
        return len(value) <= 2
    if isinstance(value.get("sessionId"), str):
        messages = value.get("messages")
        if isinstance(messages, list):
            return bool(messages) and _is_message(messages[0])
        return "projectHash" in value
    return _is_message(value)


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("id"), str)
        and isinstance(kind := value.get("type"), str)
        and kind in _SPEAKERS
        and ("content" in value or "toolCalls" in value)
        and "sessionId" not in value
    )


class SessionDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state: GeminiState = GeminiState()

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        session = text_of(line.sessionId)
        if session and (bytes(line.messages)[:1] == b"[" or line.projectHash is not None):
            return self._header(record, line, session)
        if bytes(line.set):
            changed = mapping_of(value_of(line.set))
            if "messages" in changed:
                return self._messages(record, msgspec.Raw(bytes(line.set))) or Drop("change")
            return Drop("change")
        if line.rewind is not None or bytes(line.patch):
            return Drop("change")
        if session or text_of(line.id) is None:
            raise NotThisDialect
        return self._message(line, whole=False)

    def _header(self, record: bytes, line: _Record, session: str) -> Decoded:
        state = self.state
        if session != state.session:
            self.state = state = GeminiState(session=session)
        if line.kind == "subagent":
            state.agent = "sub-agent"
        events: list[Event] = []
        for offset, element in elements_of(record, line.messages):
            events += self._element(offset, element)
        return events or Drop("session_header")

    def _messages(self, record: bytes, changes: msgspec.Raw) -> list[Event]:
        try:
            inner = _decode_record(bytes(changes))
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return []
        events: list[Event] = []
        for offset, element in elements_of(record, inner.messages):
            events += self._element(offset, element)
        return events

    def _element(self, offset: int, element: bytes) -> list[Event]:
        try:
            decoded = self._message(_decode_record(element), whole=True)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, NotThisDialect):
            return []
        if isinstance(decoded, Drop):
            return []
        for event in decoded:
            event.offset = offset
        return decoded

    def _message(self, line: _Record, whole: bool) -> Decoded:
        kind = line.type
        if not isinstance(kind, str) or kind not in _SPEAKERS:
            raise NotThisDialect
        state = self.state
        if kind != "gemini" and not state.session and not state.counted:
            raise NotThisDialect  # words that many layouts have, and nothing of Gemini before them
        at_time = time_of(line.timestamp)
        run = Run(state.session, state.session or "session", None, state.agent, at_time)
        if kind in ("gemini", "message_update"):
            return self._answer(run, line, whole) or Drop("repeated_message")
        if kind == "user":
            if remember(state.counted, f"prompt/{text_of(line.id)}", True):
                state.is_asked = not _text(line.content).startswith(_COMMANDS)
            return Drop("prompt")
        key = f"notice/{text_of(line.id)}"
        if not remember(state.counted, key, True):
            return Drop("repeated_message")
        return self._notice(run, kind, _text(line.content)) or Drop("notice")

    def _answer(self, run: Run, line: _Record, whole: bool) -> list[Event]:
        state = self.state
        message = text_of(line.id) or ""
        state.is_asked = False
        calls = [call for call in list_of(value_of(line.toolCalls)) if isinstance(call, dict)]
        tokens = mapping_of(line.tokens)
        closing = not calls and bool(_text(line.content).strip())
        ended = f"end/{message}" in state.counted
        events: list[Event] = []
        if (tokens or whole) and remember(state.counted, message, True):
            if not (closing and ended):
                events += run.open(state.open_runs)
            events.append(_model_call(run, message, text_of(line.model), tokens, bool(calls)))
        for call in calls:
            events += self._tool_call(run, call)
        if closing and remember(state.counted, f"end/{message}", True):
            events += run.open(state.open_runs) + run.close(state.open_runs)
        return events

    def _tool_call(self, run: Run, call: dict[str, Any]) -> list[Event]:
        state = self.state
        call_id = text_of(call.get("id"))
        name = text_of(call.get("name"))
        key = call_id or f"{run.at}/{name}"
        events: list[Event] = []
        if remember(state.calls, key, False):
            events += run.open(state.open_runs)
            events.append(
                run.event(
                    event_type="tool_call",
                    status="started",
                    operation=name,
                    call_id=call_id,
                    arguments_hash=hash_arguments(call.get("args")),
                )
            )
        judged = judge_call(call)
        if judged is None or state.calls.get(key):
            return events
        replace(state.calls, key, True)
        end = run.event(event_type="tool_result", operation=name, call_id=call_id)
        judged.write(end)
        moment = parse_timestamp(call.get("timestamp"))
        if moment is not None and not end.timestamp > moment:
            end.timestamp = moment
        return [*events, end]

    def _notice(self, run: Run, kind: str, text: str) -> list[Event]:
        """What the client says between the messages: only its fixed sentences mean something."""
        state = self.state
        limit = limit_in(text)
        if limit is not None:
            audit = limit_event(run, limit, text)
            error = ErrorFields(audit.error_message, audit.http_status, audit.error_type)
            return [
                *run.open(state.open_runs),
                audit,
                *run.close(state.open_runs, "failed", error),
            ]
        if kind == "error":
            return self._failure(run, text)
        if _CANCELLED.match(text):
            return run.close(state.open_runs, "aborted")
        if _COMPRESSED.match(text):
            return [run.event(event_type="audit", operation="compaction", status="completed")]
        return []

    def _failure(self, run: Run, text: str) -> list[Event]:
        """Tell of the call of the model that failed; between turns the client fails, too."""
        state = self.state
        api_error = _API_ERROR.match(text)
        error = provider_error(api_error[1] if api_error else text)
        failed = run.event(event_type="model_call", operation="gemini")
        error.write(failed)
        in_turn = bool(state.open_runs) or state.is_asked or api_error is not None
        if not in_turn and failed.error_class not in _OF_PROVIDER:
            return []
        state.is_asked = False
        opening = run.open(state.open_runs)
        return [*opening, failed, *run.close(state.open_runs, "failed", error)]


def _model_call(run: Run, message: str, model: str | None, tokens: Any, has_calls: bool) -> Event:
    thoughts = count_of(tokens.get("thoughts")) or 0
    output = count_of(tokens.get("output"))
    facts = {"cache_read_tokens": count_of(tokens.get("cached")), "thinking_tokens": thoughts}
    return run.event(
        event_type="model_call",
        status="completed",
        operation=model or "gemini",
        model=model,
        call_id=message or None,
        input_tokens=count_of(tokens.get("input")),
        output_tokens=None if output is None else output + thoughts,
        finish_reason="tool_calls" if has_calls else None,
        metadata={name: count for name, count in facts.items() if count} or None,
    )


def _text(content: msgspec.Raw) -> str:
    value = value_of(content)
    if isinstance(value, list):
        value = next(
            (part.get("text") for part in value if isinstance(part, dict) and "text" in part), None
        )
    return value if isinstance(value, str) else ""


DIALECT = Dialect(
    name="gemini_session",
    framework="gemini-cli",
    recognise=recognise,
    decoder=SessionDecoder,
    one_at_a_time=True,
    is_copied=True,
    description="Gemini CLI chat: a header with sessionId and projectHash, then messages by id",
    default_paths=("~/.gemini/tmp/*/chats/session-*.jsonl", "~/.gemini/tmp/*/chats/*.json"),
)
