"""Conversations beside what people judged of them: Who&When's documents, and files of labels.

A verdict that is part of the document is the run's; which agent made the mistake, and where, is a
person's opinion of the reasoning, and not read. Labels alone, as AgentRx keeps them, are no run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from lastsignal.core.aliases.chats.magentic_chat import MagenticChatDecoder, is_speaker
from lastsignal.core.aliases.chats.speakers import tell_turn
from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import at, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.events import Event

TEAM = "team"
_WRONG = ErrorFields("the answer was judged wrong", None, "wrong_answer")


class _Document(msgspec.Struct):
    history: msgspec.Raw = msgspec.Raw(b"")
    failures: msgspec.Raw = msgspec.Raw(b"")
    root_cause: Any = msgspec.UNSET
    event_type: Any = msgspec.UNSET
    mistake_step: Any = msgspec.UNSET
    mistake_agent: Any = msgspec.UNSET
    is_correct: Any = None
    is_corrected: Any = None
    question_ID: Any = None


_decode = msgspec.json.Decoder(_Document).decode


def recognise(value: Any) -> bool:
    """A conversation with who was held to be mistaken, or the labels of a run's failures."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("history"), list):
        return "mistake_agent" in value or "mistake_step" in value
    is_label = isinstance(value.get("failures"), list) and "root_cause" in value
    return is_label and "event_type" not in value


class AttributionDecoder:
    """Decodes whole documents."""

    state = None

    def __init__(self, source: str) -> None:
        self._source = source

    def decode(self, record: bytes) -> Decoded:
        """Return the conversation's events; see `contract.Decoder`."""
        try:
            document = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if bytes(document.history)[:1] != b"[":
            return _label(document)
        if document.mistake_agent is document.mistake_step is msgspec.UNSET:
            raise NotThisDialect
        messages = [
            (offset, mapping_of(value_of(data)))
            for offset, data in elements_of(record, document.history)
        ]
        if not messages:
            return Drop("empty_document")
        verdicts = (document.is_correct, document.is_corrected)
        error = _WRONG if any(verdict is False for verdict in verdicts) else NO_ERROR
        if is_speaker(messages[0][1].get("role")):
            return list(self._magentic(messages, error))
        run = Trajectory(TEAM)
        question = text_of(document.question_ID)
        run.open(metadata={"question_id": question} if question else None)
        for offset, message in messages:
            run.seek(offset)
            tell_turn(run, message)
        run.close("failed" if error.message else "completed", error)
        return run.finish()

    def _magentic(self, messages: list[tuple[int, Any]], error: ErrorFields) -> Iterator[Event]:
        team = MagenticChatDecoder(self._source)
        offset = 0
        for offset, message in messages:
            role, content = at(message, "role"), at(message, "content")
            if not isinstance(role, str) or not isinstance(content, str):
                continue
            told = team.say(role, content)
            for event in told if isinstance(told, list) else ():
                event.offset = offset
                if event.event_type == "agent_end" and error.message:
                    error.write(event)
                yield event
        if team.state.is_open:
            run = Trajectory("Orchestrator", run_id=f"run-{team.state.runs}")
            run.seek(offset)
            yield run.close("failed" if error.message else "completed", error)


def _label(document: _Document) -> Drop:
    is_label = bytes(document.failures)[:1] == b"[" and document.root_cause is not msgspec.UNSET
    if not is_label or document.event_type is not msgspec.UNSET:
        raise NotThisDialect
    return Drop("failure_label")


DIALECT = Dialect(
    name="who_and_when",
    framework="who_and_when",
    recognise=recognise,
    decoder=AttributionDecoder,
    is_unique=True,
    description="Who&When: history, mistake_agent, mistake_step; labels: failures, root_cause",
    written_by="collections of failures that people have labelled: Who&When, AgentRx",
)
