"""How a span ended, weighing its status, its framework's flags and what happened below it."""

from __future__ import annotations

from collections.abc import Callable

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.otel.failures import (
    error_of,
    hidden_failure,
    is_control_flow,
    is_stop,
    limit_of,
    output_text,
)
from lastsignal.core.aliases.otel.readings import Outcome, Reading
from lastsignal.core.aliases.otel.spans import Span
from lastsignal.core.aliases.otel.surroundings import Below


def outcome_of(
    span: Span, reading: Reading, below: Below, is_known: Callable[[str | None], bool]
) -> Outcome:
    """Return how a finished span ended; `is_known` tells whether a failure said so before."""
    error = _failure(span, reading)
    if reading.status == "aborted":
        return Outcome("aborted", error or reading.error)
    if error is None or is_control_flow(error):
        return Outcome("completed")
    if is_stop(error):
        return Outcome("aborted", error)
    if reading.kind in ("model", "tool", "audit"):
        if not below.failed or below.recovered or reading.kind == "audit":
            return Outcome("failed", error)
        # A model that answered and then only waited for its tools did its own part; a tool that
        # handed the work to an agent was cut short.
        return Outcome("completed" if reading.kind == "model" else "aborted", error, True)
    if is_known(error.message):
        return Outcome("failed", error, True)
    return Outcome("failed", error, below.failed and limit_of(error) is None)


def _failure(span: Span, reading: Reading) -> ErrorFields | None:
    """Return the error of a span that failed, None for one that did not."""
    if not _says_failed(span, reading):
        is_said_ok = span.status == "ok" or reading.status == "completed"
        return hidden_failure(reading.output, is_said_ok) if reading.kind == "tool" else None
    error = error_of(span)
    if reading.error.message or reading.error.type:
        error = ErrorFields(
            reading.error.message or error.message,
            error.http_status,
            reading.error.type or error.type,
        )
    if error.message or reading.kind != "tool":
        return error
    said = hidden_failure(reading.output)
    return said or ErrorFields(output_text(reading.output), error.http_status, error.type)


def _says_failed(span: Span, reading: Reading) -> bool:
    if span.status == "error" or reading.status == "failed":
        return True
    # The conventions set `error.type` only when the operation ended in an error.
    is_call = reading.kind in ("model", "tool")
    return span.status == "unset" and is_call and "error.type" in span.attributes
