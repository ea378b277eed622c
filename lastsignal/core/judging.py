"""What the reader settles of an event that its record leaves open: its status, its error class."""

from __future__ import annotations

from lastsignal.core.error_classes import ERROR_CLASSES, classify
from lastsignal.core.events import Event, EventType, Status

_DEFAULT_STATUS: dict[str, Status] = {
    "agent_start": "started",
    "tool_call": "started",
    "retry": "started",
    "process_error": "failed",
}


def default_status(event_type: EventType) -> Status:
    """Return what an event says about its status that names neither one nor an error."""
    return _DEFAULT_STATUS.get(event_type, "completed")


def judge(event: Event) -> None:
    """Settle the status of an event whose record names none, and the class of a failure.

    A retry is judged by the failure that it says it answers.
    """
    if event.status == "started" and event.error_message is None:
        return
    if event.status is None:
        event.status = default_status(event.event_type)
        if event.status == "completed" and event.error_message:
            event.status = "failed"
    failed = event.status == "failed" or (event.event_type == "retry" and event.error_message)
    if failed and event.error_class not in ERROR_CLASSES:
        event.error_class = classify(
            event.event_type, event.http_status, event.error_type, event.error_message
        )
