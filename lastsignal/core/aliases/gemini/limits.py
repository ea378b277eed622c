"""The limits that Gemini CLI tells of in fixed sentences: turns, and loops that it has detected."""

from __future__ import annotations

import re
from typing import Any

from lastsignal.core.aliases.provider_text import provider_error
from lastsignal.core.aliases.session_runs import Run
from lastsignal.core.events import Event

_TURNS = re.compile(
    r"turn_?limit|max(?:imum)? (?:session )?turns|maximum number of turns", re.IGNORECASE
)
_LOOP = re.compile(r"loop (?:was )?detected", re.IGNORECASE)
_NUMBER = re.compile(r"turns\D{1,20}?(\d{1,9})\b", re.IGNORECASE)
_HEAD = 200  # characters; the sentences are short


def limit_in(text: str, error_type: str | None = None) -> str | None:
    """Return the limit that a message of the client, or an error's type, speaks of."""
    head = text[:_HEAD]
    if _TURNS.search(head) or _TURNS.search(error_type or ""):
        return "turn_limit"
    return "loop" if _LOOP.search(head) else None


def limit_event(run: Run, limit: str, text: str, **fields: Any) -> Event:
    """Make the audit of a limit that ended a run."""
    event = run.event(event_type="audit", operation=limit, **fields)
    provider_error(text).write(event)
    number = _NUMBER.search(text[:_HEAD])
    if number and limit == "turn_limit":
        event.metadata = {"limit": int(number[1])}
    return event
