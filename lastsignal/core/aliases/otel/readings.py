"""Reading: what one span was, as its own attributes tell it.

The conventions (`semantics_*`) differ only in the names of attributes; what a reading means as
events is decided once, in `emission`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from lastsignal.core.aliases.error_text import ErrorFields
from lastsignal.core.aliases.fields import amount_of, count_of, text_of
from lastsignal.core.events import Status

Kind = Literal["agent", "model", "tool", "audit", "chain", "other"]
"""`chain` is a framework's step without a call of its own; `other` is no agent's work at all."""

Attributes = Mapping[str, Any]

_NO_MODEL = frozenset({"", "unknown", "none", "llm"})


class Retry(msgspec.Struct, frozen=True):
    """A retry that the span itself tells of."""

    attempt: int
    max_attempts: int | None = None
    after: bool = False
    """The span failed and will be tried again, rather than being the new attempt itself."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one span was."""

    kind: Kind
    operation: str | None = None
    agent: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    finish_reason: str | None = None
    arguments: Any = None
    output: Any = None
    """Of a tool: failures may hide in it."""
    status: Status | None = None
    """By a flag of the framework's own, which may speak where the span's status is silent."""
    error: ErrorFields = ErrorFields()
    """By attributes of the framework's own."""
    names_no_failure: bool = False
    """It is said to have failed, in a field that does not tell of what."""
    is_contradicted: bool = False
    """It is said to have failed, and its own record holds what only one that went well does."""
    retry: Retry | None = None
    repeats: bool = False
    """Siblings of a model call are attempts of one request."""
    framework: str | None = None
    identity: str | None = None
    """Names the call where the framework exports one call as several spans."""
    trace_id: str | None = None
    """The run, where the span's own trace id does not name it."""
    metadata: dict[str, Any] = {}


class Outcome(msgspec.Struct, frozen=True):
    """How a span ended."""

    status: Status
    error: ErrorFields = ErrorFields()
    cause_below: bool = False
    """What went wrong is told by a span below."""

    @property
    def is_own_failure(self) -> bool:
        """Did it fail, and no span below for it?"""
        return self.status == "failed" and not self.cause_below


def text(attributes: Attributes, *names: str) -> str | None:
    """Return the first non-empty text among attributes."""
    for name in names:
        found = attributes.get(name)
        if found is not None:
            said = found if type(found) is str else text_of(found)
            if said:
                return said
    return None


def count(attributes: Attributes, *names: str) -> int | None:
    """Return the first count among attributes."""
    for name in names:
        found = attributes.get(name)
        if found is not None and (found := count_of(found)) is not None:
            return found
    return None


def number(attributes: Attributes, *names: str) -> float | None:
    """Return the first number among attributes."""
    for name in names:
        found = amount_of(attributes.get(name))
        if found is not None:
            return found
    return None


def value(attributes: Attributes, *names: str) -> Any:
    """Return the first attribute that is there."""
    for name in names:
        found = attributes.get(name)
        if found is not None and found != "":
            return found
    return None


def model_name(attributes: Attributes, *names: str) -> str | None:
    """Return the first real model name; instrumentations write `unknown` for one not known."""
    for name in names:
        found = text_of(attributes.get(name))
        if found is not None and found.strip().lower() not in _NO_MODEL:
            return found
    return None


def facts(attributes: Attributes, **names: str) -> dict[str, Any]:
    """Return the small attributes that are there under plainer names, for an event's metadata."""
    found: dict[str, Any] = {}
    for name, attribute in names.items():
        fact = attributes.get(attribute)
        if fact is not None and is_fact(fact):
            found[name] = fact
    return found


def is_fact(value: object) -> bool:
    """Is it small enough for metadata: a text that says something, a number or a truth value?"""
    return isinstance(value, (str, int, float)) and value != ""
