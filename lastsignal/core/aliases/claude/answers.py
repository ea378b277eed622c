"""A model's answer in a transcript: a record for each of its blocks, the last one with its end.

All records of an answer repeat what was read, and newer clients count what was written as it grows.
The call begins with the first record and ends with the one that gives a reason to stop. Clients
that never give one write the same count each time: there the first record tells all.
"""

from __future__ import annotations

from dataclasses import replace as at_time
from typing import Any

import msgspec

from lastsignal.core.aliases.claude.content import ContentState, answer_of, model_call
from lastsignal.core.aliases.claude.records import Block, Message
from lastsignal.core.aliases.session_runs import Run, replace
from lastsignal.core.events import Event

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


class Answer(msgspec.Struct):
    """The latest answer of a run."""

    message_id: str
    call: dict[str, Any]
    """The fields of the event that tells it, as far as the records have come."""
    at: float
    is_open: bool = False
    """Whether its end has not been told."""


class AnswerState(ContentState):
    """Adds the answers that may go on."""

    answers: dict[str, Answer] = msgspec.field(default_factory=dict)
    """By run."""
    saw_stop_reason: bool = False
    """Newer clients leave the reason out on all but an answer's last record, old ones always."""


def tell_answer(
    state: AnswerState, run: Run, message: Message, fallback_id: object, blocks: list[Block]
) -> list[Event]:
    """Return what a record adds to its answer: its start, its end, or what it has grown by."""
    latest = state.answers.get(run.run_id)
    call = answer_of(message, fallback_id)
    if latest is not None and latest.message_id == call["call_id"]:
        return _go_on(state, run, latest, call, message, blocks)
    events = end_answer(state, run) + model_call(state, run, message, fallback_id)
    if not events or events[-1].event_type != "model_call" or not call["call_id"]:
        return events
    is_open = _is_part(state, message, blocks)
    replace(state.answers, run.run_id, Answer(call["call_id"], call, run.at, is_open))
    if is_open:
        named = {name: call[name] for name in ("operation", "model", "call_id")}
        events[-1] = run.event(event_type="model_call", status="started", **named)
    return events


def end_answer(state: AnswerState, run: Run) -> list[Event]:
    """Return the end of an answer that no record has ended, where something else comes next."""
    latest = state.answers.get(run.run_id)
    if latest is None or not latest.is_open:
        return []
    latest.is_open = False
    return [_end(at_time(run, at=latest.at), latest)]


def _go_on(
    state: AnswerState,
    run: Run,
    latest: Answer,
    call: dict[str, Any],
    message: Message,
    blocks: list[Block],
) -> list[Event]:
    before = latest.call["output_tokens"] or 0
    grown = (call["output_tokens"] or 0) - before
    if grown >= 0:
        latest.call = call
    latest.at = run.at
    if latest.is_open:
        latest.is_open = _is_part(state, message, blocks)
        return [] if latest.is_open else [_end(run, latest)]
    if grown <= 0:
        return []
    return [
        run.event(event_type="audit", operation="usage", status="completed", output_tokens=grown)
    ]


def _end(run: Run, answer: Answer) -> Event:
    return run.event(event_type="model_call", status="completed", **answer.call)


def _is_part(state: AnswerState, message: Message, blocks: list[Block]) -> bool:
    """Whether a record is not its answer's last: by its reason, or for it holds but thoughts."""
    if message.stop_reason is not None:
        return False
    return state.saw_stop_reason or (
        bool(blocks) and all(block.type in _THOUGHTS for block in blocks)
    )
