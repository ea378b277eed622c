"""A run that one document tells from beginning to end: its events in the document's order.

Trajectory files name no ids and often no times, so the run is the document, and a step is
where it stands in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.provider_failures import is_of_provider
from lastsignal.core.aliases.session_runs import NO_ERROR, Run
from lastsignal.core.events import UNTIMED, Event, EventType, Status
from lastsignal.core.timestamps import time_of

RUN_ID = "run"


class Trajectory:
    """Gathers one run's events while its document is read."""

    def __init__(self, agent: str, trace_id: str = "", run_id: str = RUN_ID) -> None:
        self.events: list[Event] = []
        self._run = Run(trace_id, run_id, None, agent, UNTIMED)
        self._offset = 0
        self._began: float | None = None

    @property
    def at(self) -> float:
        """The time of the step at hand; NaN while no step has told one, see `time_of`."""
        return self._run.at

    def seek(self, offset: int, time: object = None) -> None:
        """Go to a step, in the document and in time; a clock that runs back stands still."""
        self._offset = offset
        moment = time_of(time)
        if moment == moment and self._began is None:
            self._began = moment
        if not moment <= self._run.at and (moment == moment or self._began is None):
            self._run = replace(self._run, at=moment)

    def add(
        self, event_type: EventType, status: Status, error: ErrorFields = NO_ERROR, **fields: Any
    ) -> Event:
        """Add what happened in the step at hand."""
        event = self._run.event(event_type=event_type, **fields)
        error.write(event, status)
        return self._keep(event)

    def open(self, **fields: Any) -> Event:
        """Add the run's beginning."""
        return self._keep(self._run.boundary(event_type="agent_start", status="started", **fields))

    def close(
        self, status: Status = "completed", error: ErrorFields = NO_ERROR, **fields: Any
    ) -> Event:
        """Add the run's end: not before anything that happened in it."""
        times = (event.timestamp for event in self.events)
        latest = max((time for time in times if time == time), default=UNTIMED)
        if latest > self._run.at:
            self._run = replace(self._run, at=latest)
        end = self._run.boundary(event_type="agent_end", **fields)
        error.write(end, status)
        return self._keep(end)

    def crash(
        self, error: ErrorFields, text: str, traceback: str = "", model: str | None = None
    ) -> None:
        """Add the exception that ended the run: of the call of a model, or of the process."""
        if is_of_provider(error, text, traceback):
            self.add("model_call", "failed", error, operation=model or "model", model=model)
        else:
            self.add("process_error", "failed", error, operation=self._run.agent)
        self.close("failed", error)

    def finish(self) -> list[Event]:
        """Return the run's events; it began with the first step that told a time."""
        first = self._began
        if first is None:
            return self.events
        for event in self.events:
            if event.timestamp != event.timestamp:
                event.timestamp = first
            if event.event_type == "agent_end" and event.duration_seconds is None:
                event.duration_seconds = event.timestamp - first
        return self.events

    def _keep(self, event: Event) -> Event:
        event.offset = self._offset
        self.events.append(event)
        return event
