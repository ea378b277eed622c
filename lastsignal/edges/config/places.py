"""Where each value of a configuration was written: a line of the file, or a variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lastsignal.core.places import Place
from lastsignal.errors import Problem


@dataclass(slots=True)
class Places:
    """Where what was written.

    Args:
        path: the file; None where there is none.
        lines: 1-based lines of the file.
        others: what was written elsewhere: in the environment, on the command line.
    """

    path: Path | None = None
    lines: Mapping[Place, int] = field(default_factory=dict)
    others: dict[Place, str] = field(default_factory=dict)

    def source(self, place: Place) -> str | None:
        """Return the name of the variable or option that gave a value; None for the file."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.others:
                return self.others[place[:length]]
            if place[:length] in self.lines:
                return None
        return None

    def line(self, place: Place) -> int:
        """Return the line of a place of the file, or of the nearest that it is in; 0 for none."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return 0

    def problem(
        self, place: Place, message: str, fix: str = "", severity: str = "error"
    ) -> Problem:
        """Return what is wrong at a place."""
        source = self.source(place)
        if source is not None:
            return Problem(source, 0, message, fix, severity)
        return Problem(str(self.path or "configuration"), self.line(place), message, fix, severity)

    def move(self, old: Place, new: Place) -> None:
        """Take a value as written where its old name stood."""
        self.lines = {**self.lines, new: self.line(old)}

    def folder(self, place: Place) -> Path:
        """Return where relative paths begin: beside the file, or where the process started."""
        if self.path is None or self.source(place) is not None:
            return Path.cwd()
        return self.path.absolute().parent


class RawTable(msgspec.Struct, frozen=True, eq=False):
    """A table whose keys others understand, with the lines to tell of mistakes in it."""

    values: dict[str, Any] = {}
    path: str = "configuration"
    lines: dict[Place, int] = {}
    """By the way from this table; the empty way is the table itself."""

    __hash__ = None  # type: ignore[assignment]  # a table is no key

    def __eq__(self, other: object) -> bool:
        """Whether the same is said, wherever it stands."""
        return isinstance(other, RawTable) and self.values == other.values

    def problem(self, place: Place, message: str, fix: str = "") -> Problem:
        """Return what is wrong at a place of this table."""
        for length in range(len(place), -1, -1):
            if place[:length] in self.lines:
                return Problem(self.path, self.lines[place[:length]], message, fix)
        return Problem(self.path, 0, message, fix)
