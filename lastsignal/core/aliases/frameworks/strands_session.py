"""Strands' session files: one message a file, beside the session's and the agent's own files.

A message has the layout of Bedrock's. Nothing notes how a run ended: the user's words begin a turn,
an answer that asks for no tool ends it, and what the model's service refused leaves no message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect, holds
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at, list_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import NO_ERROR, Run
from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_ABSENT = msgspec.Raw(b"")
_BLOCKS = frozenset(
    "text toolUse toolResult reasoningContent image document video guardContent cachePoint "
    "citationsContent".split()
)
_PLACE = re.compile(r"(?:^|/)session_([^/]+)/agents/agent_([^/]+)/messages/[^/]+$")


class _Record(msgspec.Struct, gc=False):
    role: Any = None
    content: msgspec.Raw = _ABSENT
    message: msgspec.Raw = _ABSENT
    created_at: Any = None
    session_id: Any = None
    session_type: Any = None
    agent_id: Any = None
    message_id: Any = msgspec.UNSET
    conversation_manager_state: msgspec.Raw = _ABSENT


class _Message(msgspec.Struct, gc=False):
    role: Any = None
    content: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(_Record).decode
_decode_message = msgspec.json.Decoder(_Message).decode


def recognise(value: Any) -> bool:
    """A message of content blocks, alone or with its id, or a session's header."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("session_id"), str) and isinstance(value.get("session_type"), str):
        return True
    if isinstance(value.get("agent_id"), str) and "conversation_manager_state" in value:
        return True
    return _is_message(value.get("message") if "message_id" in value else value)


def _is_message(message: object) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") in ("user", "assistant")
        and has_blocks(message.get("content"))
    )


def has_blocks(content: object) -> bool:
    """Whether a message's content is all Bedrock's blocks: named by their key, and of no type."""
    blocks = list_of(content)
    return bool(blocks) and all(
        isinstance(block, dict) and "type" not in block and bool(block.keys() & _BLOCKS)
        for block in blocks
    )


class StrandsState(msgspec.Struct):
    """What later messages depend on."""

    open: dict[str, float] = {}


class StrandsDecoder:
    """Decodes one message after another."""

    def __init__(self, source: str) -> None:
        self.state = StrandsState()
        self._place = _PLACE.search(source.replace("\\", "/"))

    def decode(self, record: bytes) -> Decoded:
        """Return the calls that a message tells of; see `contract.Decoder`."""
        try:
            found = _decode(record)
            is_stored = found.message_id is not msgspec.UNSET
            message = _decode_message(found.message) if is_stored else found
        except (msgspec.ValidationError, msgspec.DecodeError):
            raise NotThisDialect from None
        if isinstance(found.session_id, str) and isinstance(found.session_type, str):
            return Drop("session_header")
        if isinstance(found.agent_id, str) and bytes(found.conversation_manager_state):
            return Drop("session_header")
        content = value_of(message.content)
        if message.role not in ("user", "assistant") or not has_blocks(content):
            raise NotThisDialect
        moment = time_of(found.created_at)
        trace_id, agent = self._place.groups() if self._place else ("", "agent")
        run = Run(trace_id, "turn", None, agent, moment)
        if message.role == "assistant":
            return self._answer(run, content)
        results = [_result(run, block["toolResult"]) for block in _blocks(content, "toolResult")]
        return [*self._begin(run), *results] or Drop("user_input")

    def _answer(self, run: Run, content: list[Any]) -> list[Event]:
        events = self._begin(run)
        events.append(run.event(event_type="model_call", status="completed", operation="model"))
        calls = [_call(run, block["toolUse"]) for block in _blocks(content, "toolUse")]
        return events + calls if calls else events + self._end(run)

    def _begin(self, run: Run) -> list[Event]:
        """Begin a turn that is not open; a file of its own cannot know whether it is."""
        if self._place:
            return [run.boundary(event_type="agent_start", status="started")]
        return run.open(self.state.open)

    def _end(self, run: Run) -> list[Event]:
        if self._place:
            return [run.boundary(event_type="agent_end", status="completed")]
        return run.close(self.state.open)


def _blocks(content: list[Any], name: str) -> list[Mapping[str, Any]]:
    return [block for block in content if isinstance(block.get(name), dict)]


def _call(run: Run, call: Mapping[str, Any]) -> Event:
    return run.event(
        event_type="tool_call",
        status="started",
        operation=text_of(call.get("name")),
        call_id=text_of(call.get("toolUseId")),
        arguments_hash=hash_arguments(call.get("input")),
    )


def _result(run: Run, result: Mapping[str, Any]) -> Event:
    end = run.event(event_type="tool_result", call_id=text_of(result.get("toolUseId")))
    said = at(result.get("content"), 0)
    output = text_of(at(said, "text")) or at(said, "json")
    is_said_ok = result.get("status") == "success"
    failure: ErrorFields | None = failure_in_output(output, is_said_ok=is_said_ok)
    if failure is None and result.get("status") == "error":
        failure = unwrap_error(output)
    (failure or NO_ERROR).write(end, "failed" if failure else "completed")
    return end


DIALECT = Dialect(
    name="strands_session",
    framework="strands",
    recognise=recognise,
    decoder=StrandsDecoder,
    is_unique=True,
    is_named=holds(b'"toolUseId"', b'"created_at"'),
    description="Strands session messages: role and content of toolUse and toolResult blocks",
    default_paths=(
        "~/.strands/sessions/session_*/agents/agent_*/messages/*.json",
        "/tmp/strands/sessions/session_*/agents/agent_*/messages/*.json",
    ),
)
