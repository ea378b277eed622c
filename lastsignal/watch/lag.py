"""How far behind reading is, in time: not how long it has been behind at all."""

from __future__ import annotations

from collections import deque


class Lag:
    """For how long the oldest unread byte has been known.

    While files are written all the time something is always unread, and may still be young.
    """

    def __init__(self) -> None:
        self._known: deque[tuple[float, int]] = deque()
        """When so many bytes were known for the first time, of those that are not all read yet."""

    def seconds(self, now: float, read: int, behind: int) -> float:
        """Return the age of the oldest unread byte.

        Args:
            now: a clock that nobody sets, in seconds.
            read: bytes read since the start.
            behind: bytes known of and not read.
        """
        if behind <= 0:
            self._known.clear()
            return 0.0
        known = read + behind
        while self._known and self._known[-1][1] > known:
            self._known.pop()  # some were cut away unread
        if not self._known or self._known[-1][1] < known:
            self._known.append((now, known))
        while self._known and self._known[0][1] <= read:
            self._known.popleft()
        return now - self._known[0][0] if self._known else 0.0
