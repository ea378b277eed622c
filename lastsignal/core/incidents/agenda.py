"""When each incident must be looked at again: what is not due costs nothing."""

from __future__ import annotations

from heapq import heappop, heappush


class Agenda:
    """Names with a time each; the earliest time given for a name holds until it is taken."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def put(self, name: str, time: float) -> None:
        """Look at a name no later than `time`."""
        known = self._times.get(name)
        if known is None or time < known:
            self._times[name] = time
            heappush(self._heap, (time, name))

    def take(self, now: float) -> str | None:
        """Take a name whose time has come off the agenda; None if there is none."""
        while self._heap and self._heap[0][0] <= now:
            time, name = heappop(self._heap)
            if self._times.get(name) == time:  # else it was moved forward since
                del self._times[name]
                return name
        return None

    def drop(self, name: str) -> None:
        """Never look at a name again."""
        self._times.pop(name, None)
