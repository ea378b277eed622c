"""Explanations of records in words: what `lastsignal normalize --explain` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lastsignal.core.aliases.explaining import Explanation
from lastsignal.core.events import Event
from lastsignal.core.framing import Skip
from lastsignal.edges.report.visible import shorten, visible

_MAX_EVENTS = 20
_MAX_NAMES = 24
_TEXT = 100


def explanation_lines(found: Iterable[Explanation | Skip]) -> Iterator[str]:
    """Yield what became of records, in their order; those dropped alike in a row are told once."""
    dropped: list[Explanation] = []
    for one in found:
        if dropped and not (isinstance(one, Explanation) and _is_alike(dropped[0], one)):
            yield from _dropped(dropped)
            dropped = []
        if isinstance(one, Skip):
            yield f"{one.line}: no record: {one.reason}: {_text(one.data.decode(errors='replace'))}"
        elif one.events:
            yield from _mapped(one)
        else:
            dropped.append(one)
    if dropped:
        yield from _dropped(dropped)


def _is_alike(one: Explanation, other: Explanation) -> bool:
    alike = (one.dialect, one.dropped, one.wrapper) == (other.dialect, other.dropped, other.wrapper)
    return not other.events and alike


def _dropped(alike: Sequence[Explanation]) -> Iterator[str]:
    first, last = alike[0], alike[-1]
    lines = f"{first.line}" if first.line == last.line else f"{first.line} to {last.line}"
    reasons = ", ".join(first.dropped) or "says nothing new"
    how_many = f" ({len(alike)} records)" if len(alike) > 1 else ""
    if first.dialect is not None:
        yield f"{lines}: {_unwrapped(first)}{first.dialect}: dropped: {reasons}{how_many}"
        return
    yield f"{lines}: {_unwrapped(first)}no dialect takes it: {reasons}{how_many}"
    if first.keys:
        yield f"    keys: {_names(first.keys)}"


def _mapped(one: Explanation) -> Iterator[str]:
    how_many = f"{len(one.events)} event{'s' if len(one.events) > 1 else ''}"
    yield f"{one.line}: {_unwrapped(one)}{one.dialect}: {how_many}"
    for event in one.events[:_MAX_EVENTS]:
        place = f" (line {event.line})" if event.line != one.line else ""
        yield f"    {_event(event)}{place}"
    if len(one.events) > _MAX_EVENTS:
        yield f"    … {len(one.events) - _MAX_EVENTS} more"
    for reason, count in one.dropped.items():
        yield f"    {count} of it dropped: {reason}"
    if one.used:
        yield f"    used: {_names(one.used)}"
    elif one.events:
        yield "    used: not looked for, the record is too large"
    if one.kept:
        yield f"    kept as metadata: {_names(one.kept)}"


def _unwrapped(one: Explanation) -> str:
    return f"unwrapped ({one.wrapper}): " if one.wrapper else ""


def _event(event: Event) -> str:
    words: list[str] = [event.event_type, event.status or "unknown"]
    if event.operation:
        words.append(_text(event.operation))
    named = {
        "agent": event.agent,
        "call": event.call_id,
        "attempt": event.attempt,
        "class": event.error_class,
        "error": event.error_message,
    }
    words += [f"{name}={_text(str(value))}" for name, value in named.items() if value is not None]
    return " ".join(words)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(_text(name) for name in names[:_MAX_NAMES])
    return f"{shown}, … {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else shown


def _text(text: str) -> str:
    return shorten(visible(text), _TEXT)
