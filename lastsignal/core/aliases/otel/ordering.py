"""Orders of the spans and events of one record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lastsignal.core.aliases.otel.spans import Span
from lastsignal.core.events import Event

_STARTS = frozenset({"agent_start", "tool_call", "model_call"})


def children_first(spans: list[Span]) -> list[Span]:
    """Return the spans so that each comes after those below it, siblings by end.

    A stream of spans has this order by itself; a document may have any.
    """
    if len(spans) < 2:
        return spans
    ended = sorted(spans, key=_end)
    places: dict[tuple[str, str], int] = {}
    for place, span in enumerate(ended):
        places.setdefault((span.trace_id, span.span_id), place)
    below: dict[int, list[int]] = {}
    roots: list[int] = []
    for place, span in enumerate(ended):
        parent = places.get((span.trace_id, span.parent_id or ""))
        if parent is None or parent == place:
            roots.append(place)
        else:
            below.setdefault(parent, []).append(place)
    # Ids that run in a circle hang from no root: they follow in order of their ends.
    return [ended[place] for place in _post_order([*roots, *range(len(ended))], below)]


def _post_order(roots: Iterable[int], below: dict[int, list[int]]) -> Iterator[int]:
    entered: set[int] = set()
    for root in roots:
        stack: list[tuple[int, bool]] = [(root, False)]
        while stack:
            place, done = stack.pop()
            if done:
                yield place
            elif place not in entered:
                entered.add(place)
                stack.append((place, True))
                stack += [(child, False) for child in reversed(below.get(place, ()))]


def _end(span: Span) -> float:
    if span.end is not None:
        return span.end
    return span.start if span.start is not None else 0.0


def name_outer_calls(events: list[Event], spans: list[Span]) -> None:
    """Let each event's `parent_id` name a call that has events of its own, or nothing.

    Only where the whole way up to a span without parent is in the record; elsewhere the parent may
    still come, and its id stands as it is.
    """
    parents = {(span.trace_id, span.span_id): span.parent_id for span in spans}
    traces = {span.span_id: span.trace_id for span in spans}
    named = {event.call_id for event in events if event.call_id}
    for event in events:
        trace = traces.get(event.call_id or event.parent_id or "", "")
        outer = event.parent_id
        for _ in range(len(spans) + 1):
            if outer is None or outer in named or (trace, outer) not in parents:
                break
            outer = parents[trace, outer]
        if outer is None or outer in named:
            event.parent_id = outer


def timed_order(spans: list[list[Event]]) -> list[Event]:
    """Return the events of spans by time, inner spans given before outer ones.

    At one instant outer starts come before inner ones, and inner ends before outer ones.
    """
    events = [event for own in spans for event in own]
    if len(spans) < 2:
        return events
    known = [event.timestamp for event in events if event.timestamp == event.timestamp]
    earliest = min(known, default=0.0)
    keys: list[tuple[float, int, int, int]] = []
    for rank, own in enumerate(spans):
        start = next((i for i, event in enumerate(own) if event.event_type in _STARTS), -1)
        for place, event in enumerate(own):
            time = event.timestamp if event.timestamp == event.timestamp else earliest
            keys.append((time, 0, -rank, place) if place <= start else (time, 1, rank, place))
    return [events[i] for i in sorted(range(len(events)), key=keys.__getitem__)]
