"""Failed calls of the model in session logs that record neither retries nor the end of a turn.

The client tries again by itself where that may help, so what follows a failure tells what it was:
an answer or a further failure shows a retry, and a prompt shows that the turn had ended. A failure
that would come again each time ends the turn at once, as does one more than the client's retries.
"""

from __future__ import annotations

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.session_runs import NO_ERROR, Run, replace
from lastsignal.core.error_classes import RETRYABLE, classify
from lastsignal.core.events import Event


class Streak(msgspec.Struct):
    """A run's failures in a row, with the latest one's error."""

    count: int = 0
    operation: str | None = None
    error: ErrorFields = NO_ERROR


Streaks = dict[str, Streak]


def after_failure(streaks: Streaks, run: Run, operation: str | None) -> list[Event]:
    """Return the retry that a further call of the model shows, where the one before it failed."""
    streak = streaks.pop(run.run_id, None)
    return [] if streak is None else [_retry(run, streak, operation)]


def fail(
    streaks: Streaks, open_runs: dict[str, float], run: Run, failed: Event, attempts: int
) -> list[Event]:
    """Return a failed call, the retry that it shows, and the turn's end where it is given up."""
    streak = streaks.get(run.run_id)
    events = run.open(open_runs)
    if streak is not None:
        events.append(_retry(run, streak, failed.operation))
    events.append(failed)
    latest = Streak(
        1 if streak is None else streak.count + 1,
        failed.operation,
        ErrorFields(failed.error_message, failed.http_status, failed.error_type),
    )
    kind = failed.error_class or classify(
        failed.event_type, failed.http_status, failed.error_type, failed.error_message
    )
    if kind not in RETRYABLE or latest.count >= attempts:
        streaks.pop(run.run_id, None)
        return events + run.close(open_runs, "failed", latest.error)
    replace(streaks, run.run_id, latest)
    return events


def give_up(streaks: Streaks, open_runs: dict[str, float], run: Run) -> list[Event]:
    """Return the end of a turn that a prompt shows to have ended with a failure."""
    streak = streaks.pop(run.run_id, None)
    return [] if streak is None else run.close(open_runs, "failed", streak.error)


def _retry(run: Run, streak: Streak, operation: str | None) -> Event:
    return run.event(
        event_type="retry",
        status="started",
        operation=operation or streak.operation,
        attempt=streak.count,
        error_message=streak.error.message,
        http_status=streak.error.http_status,
        error_type=streak.error.type,
    )
