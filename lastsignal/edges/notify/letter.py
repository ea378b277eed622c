"""What a message says, before it has a form."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.rules import Severity


class Line(msgspec.Struct, frozen=True):
    """One line: prose, and what is quoted as it stands."""

    prose: str = ""
    place: str = ""
    """Where something is: `run.jsonl:3`."""
    quote: str = ""
    """What is written there, or a command."""


class Part(msgspec.Struct, frozen=True):
    """A few lines under a label, or without one."""

    lines: tuple[Line, ...]
    label: str = ""
    listed: bool = False
    """Whether each line is an entry of its own."""


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A message; everything in it is redacted."""

    title: str
    severity: Severity
    over: bool = False
    """Whether it says that something has ended well."""
    parts: tuple[Part, ...]
    """The most telling first; the last one says how to look further, and is never cut off."""
    document: dict[str, Any]
    """The same for machines."""


def trial_letter() -> Letter:
    """Return the message that shows whether a target works."""
    title = "Test of Last Signal"
    text = "This is a test: incidents of your agents will be told here."
    return Letter(
        title=title,
        severity="info",
        parts=(
            Part((Line(text),)),
            Part((Line("To see what is open now:", quote="lastsignal incidents list"),)),
        ),
        document={"kind": "test", "total": 0, "incidents": []},
    )
