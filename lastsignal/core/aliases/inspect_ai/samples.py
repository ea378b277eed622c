"""One sample of an Inspect eval → the events of its run.

A sample is a run of its own: it has its own beginning, end and outcome, and its own limits.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import tell_message
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import list_of, mapping_of, text_of
from lastsignal.core.aliases.inspect_ai.transcript import Transcript, add_error
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import NO_ERROR
from lastsignal.core.aliases.trajectories import Trajectory
from lastsignal.core.events import Event, Status
from lastsignal.core.timestamps import parse_timestamp

_ABSENT = msgspec.Raw(b"")


class Sample(msgspec.Struct):
    """The fields of a sample that are read; everything else is payload."""

    id: Any = None
    epoch: Any = None
    uuid: Any = None
    error: Any = None
    limit: Any = None
    error_retries: Any = None
    started_at: Any = None
    completed_at: Any = None
    events: msgspec.Raw = _ABSENT
    messages: msgspec.Raw = _ABSENT
    transcript: msgspec.Raw = _ABSENT


class _OldTranscript(msgspec.Struct):
    events: msgspec.Raw = _ABSENT


_decode = msgspec.json.Decoder(Sample).decode
_decode_transcript = msgspec.json.Decoder(_OldTranscript).decode


def sample_events(
    data: bytes, source: str, task: str, offset: int = 0, model: str | None = None
) -> list[Event]:
    """Return a sample's events.

    Args:
        data: the sample's own bytes.
        source: whose name stands for the sample's id where it has none.
        task: what the run is called.
        offset: of the sample in its record.
        model: that of the eval, for messages that name none.
    """
    try:
        sample = _decode(data)
    except msgspec.ValidationError:
        return []
    key = f"{text_of(sample.id) or '?'}.{text_of(sample.epoch) or 1}"
    run = Trajectory(task, text_of(sample.uuid) or f"{source}#{key}", key)
    transcript = Transcript(run)
    run.seek(offset, sample.started_at)
    run.open(metadata={"sample": key})
    _tell_retries(run, sample.error_retries, task)
    events = _events_of(data, sample)
    for place, element in events:
        transcript.tell(element, offset + place)
    if not events:
        _tell_messages(run, data, sample.messages, offset, model)
    _tell_end(run, transcript, sample)
    return sorted(run.finish(), key=time_of)  # calls may overlap


def time_of(event: Event) -> float:
    """Return when an event was, for sorting: what has no time comes first."""
    return event.timestamp if event.timestamp == event.timestamp else 0.0


def _events_of(data: bytes, sample: Sample) -> list[tuple[int, bytes]]:
    if bytes(sample.events):
        return elements_of(data, sample.events)
    if not bytes(sample.transcript):
        return []
    try:
        events = _decode_transcript(sample.transcript).events
    except msgspec.ValidationError:
        return []
    return elements_of(data, events)


def _tell_messages(
    run: Trajectory, data: bytes, messages: msgspec.Raw, offset: int, model: str | None
) -> None:
    """Tell what the messages tell of a sample that was logged without events."""
    for place, element in elements_of(data, messages):
        message = value_of(element)
        if isinstance(message, dict):
            run.seek(offset + place)
            tell_message(run, message, model)


def _tell_retries(run: Trajectory, retries: object, task: str) -> None:
    """Errors for which the whole sample was run again."""
    for attempt, error in enumerate(list_of(retries), 1):
        said = unwrap_error(error)
        run.add("retry", "started", said, operation=task, attempt=attempt)


def _tell_end(run: Trajectory, transcript: Transcript, sample: Sample) -> None:
    error = unwrap_error(sample.error)
    if is_eval_error(sample.error) and error.message and not transcript.has_told(error.message):
        add_error(run, "sample", error, sample.error)
    limit = mapping_of(sample.limit)
    if isinstance(limit.get("type"), str) and not transcript.limit.message:
        transcript.tell_limit(limit)
    is_begun = sample.started_at is not None and sample.completed_at is None
    if is_begun and error.message is None and not transcript.limit.message:
        return  # by its own word it still runs, or was killed
    status: Status = "completed"
    told: ErrorFields = NO_ERROR
    if error.message:
        status, told = "failed", error
    elif transcript.is_interrupted:
        status, told = "aborted", transcript.limit
    elif transcript.limit.message:
        status, told = "failed", transcript.limit
    ended_at = parse_timestamp(sample.completed_at)
    if ended_at is not None:
        run.seek(transcript.last_offset, ended_at)
    end = run.close(status, told)
    if error.message and not is_eval_error(sample.error):
        contradict(end)


def is_eval_error(value: object) -> bool:
    """Whether an error is of Inspect's shape: it has a traceback beside its message, always."""
    return "traceback" in mapping_of(value)
