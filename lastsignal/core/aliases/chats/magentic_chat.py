"""A Magentic-One team's conversation as `{role, content}`, where the role is who spoke.

The same words as in Magentic-One's log, without its times and its token counts: each answer of
an agent, and each thought of the orchestrator, was a call of its model. Conversations are cut out
of what the program printed, so the last message may have the traceback behind it that ended the
run.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.autogen.magentic_one import (
    LEDGER,
    MagenticOneDecoder,
    MagenticState,
)
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.events import Event, EventType

_ASIDE = re.compile(r"(\w+) \((?:thought|termination condition|error|-> \w+)\)")
_HUMAN = "human"
_NAMES = {"human": "UserProxy", "ComputerTerminal": "Executor"}
"""Speakers that the log calls by other names."""
_TERMINALS = frozenset({"ComputerTerminal", "Executor"})
_TEAM = frozenset(
    {"Assistant", "Coder", "ComputerTerminal", "Executor", "FileSurfer", "Orchestrator"}
    | {"UserProxy", "WebSurfer"}
)
_KEYS = frozenset({"role", "content"})
_MODEL_CALL = b'{"type":"LLMCallEvent"}'
_SPOKEN = frozenset({"message", "thought", "ledger"})
_CRASH = re.compile(
    r"^Error processing publish message[^\n]*\n"
    r"(?=Traceback \(most recent call last\):\n +File \"[^\"\n]*\bautogen_core\b)",
    re.MULTILINE,
)
"""What the runtime's logger prints when the handler of a message has raised."""
_RAISED = re.compile(r"^[ \t]+\S.*\n(\w[\w.]*(?:: .*)?)$", re.MULTILINE)
"""The exception below the frames of a traceback; of several, the last one reached the top."""
_MODEL_FRAME = re.compile(r"model_client\.create(?:_stream)?\(")
_ORCHESTRATES = re.compile(r'\borchestrator\.py"')
_UNREADABLE = ErrorFields("the handler of a message raised")


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: str


_decode = msgspec.json.Decoder(_Message).decode
_encode = msgspec.json.Encoder().encode


def is_speaker(role: object) -> bool:
    """Whether a role is one of the team, or the human."""
    return isinstance(role, str) and (
        role == _HUMAN or role in _TEAM or bool(_ASIDE.fullmatch(role[:200]))
    )


def recognise(value: Any) -> bool:
    """A message with nothing but who spoke and what was said, of a Magentic-One team."""
    return (
        isinstance(value, dict)
        and value.keys() == _KEYS
        and is_speaker(value["role"])
        and isinstance(value["content"], str)
    )


class MagenticChatDecoder:
    """Decodes one message after another, as the log's lines would be."""

    def __init__(self, source: str) -> None:
        self._log = MagenticOneDecoder(source)

    @property
    def state(self) -> MagenticState:
        """What must survive a restart."""
        return self._log.state

    @state.setter
    def state(self, state: MagenticState) -> None:
        self._log.state = state

    def decode(self, record: bytes) -> Decoded:
        """Return what the message tells of the run; see `contract.Decoder`."""
        try:
            message = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if not is_speaker(message.role):
            raise NotThisDialect
        return self.say(message.role, message.content)

    def say(self, role: str, content: str) -> Decoded:
        """Return what a speaker's words, and what was printed behind them, tell of the run."""
        crash = _CRASH.search(content)
        if crash is None:
            return self._spoken(role, content)
        told = self._spoken(role, content[: crash.start()])
        failed = self._crash(role, content[crash.end() :])
        return failed if isinstance(told, Drop) else [*told, *failed]

    def _spoken(self, role: str, content: str) -> Decoded:
        line = {
            "type": "OrchestrationEvent",
            "source": _NAMES.get(role, role),
            "message": content,
        }
        told = self._log.decode(_encode(line))
        if isinstance(told, list):
            for event in told:
                if event.agent in _TERMINALS:
                    event.agent = role
            return [*self._model_call(role), *told] if content.startswith(LEDGER) else told
        if told.reason not in _SPOKEN or role in _TERMINALS or "(->" in role:
            return told
        return self._model_call(role)

    def _model_call(self, role: str) -> list[Event]:
        calls = self._log.decode(_MODEL_CALL)
        told = calls if isinstance(calls, list) else []
        for call in told:
            call.operation = call.agent = role.partition(" (")[0] or None
        return told

    def _crash(self, role: str, trace: str) -> list[Event]:
        """Tell of the exception of a traceback, in whose agent it was raised."""
        agent = "Orchestrator" if _ORCHESTRATES.search(trace) else role.partition(" (")[0]
        raised = _RAISED.findall(trace)
        error = provider_error(raised[-1]) if raised else _UNREADABLE
        of_model = _MODEL_FRAME.search(trace) is not None
        said = raised[-1] if raised else None
        kind: EventType = "model_call" if of_model else leaf_type(error, said, trace)
        return self._log.fail(agent, kind, error)


DIALECT = Dialect(
    name="magentic_chat",
    framework="autogen",
    recognise=recognise,
    decoder=MagenticChatDecoder,
    description="Magentic-One conversations: role (who spoke, with asides) and content",
    written_by="collections of Magentic-One conversations, as in AgentRx",
)
