"""Sessions that stand one behind the other in a source, as where files were put together."""

from __future__ import annotations

from lastsignal.core.events import LEFT_OFF, Event

_MAX_KNOWN = 1000  # sessions of one source: to go back to one of them begins nothing


class Sessions:
    """Tells that a session has been left when the next one begins: it has no end of its own."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, bool]] = {}
        """By layout and trace, whether it may still go on; all that must survive a restart."""

    def part(self, events: list[Event], layout: str) -> list[Event]:
        """Return a record's events, before each that begins a session what has been left by it.

        Args:
            events: of one record.
            layout: the name of its dialect; those of another may run beside it.
        """
        parted: list[Event] = []
        for event in events:
            known, trace = self.known.get(layout, {}), event.trace_id
            if event.event_type == "agent_start" and trace not in known:
                parted += [_left_off(one) for one, goes_on in known.items() if goes_on]
                self.known[layout] = known = {**dict.fromkeys(known, False), trace: True}
                if len(known) > _MAX_KNOWN:
                    del known[next(iter(known))]
            parted.append(event)
        return parted


def _left_off(trace: str) -> Event:
    return Event(trace_id=trace, event_type="audit", operation=LEFT_OFF, status="completed")
