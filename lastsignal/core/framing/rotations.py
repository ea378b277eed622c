"""Over the files of one rotation: where a wrapper has cut a line, its parts may stand in two."""

from __future__ import annotations

from collections.abc import Sequence

from lastsignal.core.file_names import family_of
from lastsignal.core.framing.checkpoint import Checkpoint
from lastsignal.core.framing.framer import Framer


class Rotations:
    """Hands what one file leaves in the middle of a line to the next of its rotation.

    Args:
        names: of the sources, in the order in which they are read.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._families = [family_of(name) for name in names]
        self._last = {family: number for number, family in enumerate(self._families)}
        self._left: dict[str, Checkpoint] = {}

    def is_followed(self, number: int) -> bool:
        """Whether another source goes on with this one."""
        family = self._families[number]
        return bool(family) and self._last[family] > number

    def goes_on(self, number: int) -> bool:
        """Whether this source goes on with a line that was begun in another one."""
        return self._families[number] in self._left

    def begin(self, number: int) -> Framer:
        """Return what cuts this source."""
        left = self._left.pop(self._families[number], None)
        return Framer() if left is None else Framer(resume=left)

    def leave(self, number: int, left: Checkpoint | None) -> None:
        """Keep what a source's framer has handed over at its end."""
        if left is not None:
            self._left[self._families[number]] = left
