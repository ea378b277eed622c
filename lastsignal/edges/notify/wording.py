"""Text out of traces, made fit to leave the machine: redacted, on one line, calling nobody."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from lastsignal.core.redaction import redact

ELLIPSIS = "…"

_MENTION = re.compile(r"@(?=(?:everyone|here|channel|all)\b)|<(?=[!@#])", re.IGNORECASE)
_BREAK = "\u200b"  # nobody sees it, and no service takes what it breaks for a mention


def clean(text: str, most: int) -> str:
    """Return the text redacted, on one line, and no longer than `most` characters.

    It is cut only after it was redacted: half a secret has no shape to be known by.
    """
    # characters that nobody sees go first: they would hide a secret from redaction
    seen = "".join(one for one in text if one.isprintable() or one in "\n\t\r")
    line = " ".join(redact(seen).split())
    return _MENTION.sub(lambda found: found[0] + _BREAK, shorten(line, most))


def shorten(text: str, most: int) -> str:
    """Return the text cut at its end."""
    return text if len(text) <= most else text[: most - 1].rstrip() + ELLIPSIS


def around(text: str, focus: str, most: int) -> str:
    """Return the part of a text that matters; whole words at the cuts, where there are any."""
    at = text.find(focus) if focus else -1
    if len(text) <= most or at < most // 2:
        return text
    start = at - most // 4
    space = text.find(" ", start, at)
    return ELLIPSIS + text[space + 1 if space >= 0 else start :]


def steps(text: str) -> list[str]:
    """Return prose as a list where it numbers its steps (`1. … 2. …`), else as one entry."""
    found: list[str] = []
    rest = text
    while rest.startswith(f"{len(found) + 1}. "):
        step, *after = re.split(rf"(?<=[.!?:;)]) (?={len(found) + 2}\. )", rest, maxsplit=1)
        found.append(step)
        rest = after[0] if after else ""
    return [*found, rest] if rest else found


def show_time(seconds: float) -> str:
    """Return a moment as UTC, empty where there is none that a calendar holds."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return ""


def count(number: int, noun: str) -> str:
    """Return `1 incident`, `1,200 incidents`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
