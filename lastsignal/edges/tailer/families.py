"""Files of one original name: the older are read before the younger.

Those that wait stand in a line. Each waits for the one before it, which knows the rest, and for
elders that are in no line: they have been begun, or nothing says yet whose content they hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from lastsignal.core.file_names import original_name
from lastsignal.edges.tailer.names import age_of
from lastsignal.edges.tailer.tailed import EVERYTHING, Phase, TailedFile

_Rank = tuple[bool, tuple[int, int], bool, int]


class Families:
    """The lines of all original names."""

    def __init__(self) -> None:
        self._lines: dict[str, list[TailedFile]] = {}

    def put_in_order(
        self, files: Iterable[TailedFile], known: Iterable[TailedFile], *, is_overdue: bool
    ) -> list[TailedFile]:
        """Have new files stand in line.

        Args:
            files: the new ones.
            known: all that are not read to their end.
            is_overdue: though it may turn out whose copy another new file is, and thus how old.

        Returns:
            Those that stand in line now.
        """
        new: dict[str, list[TailedFile]] = {}
        for file in files:
            new.setdefault(original_name(file.path), []).append(file)
        others: dict[str, list[TailedFile]] = {name: [] for name in new}
        for file in dict.fromkeys(known):
            if not file.is_in_order and (name := original_name(file.path)) in others:
                others[name].append(file)
        self._forget_those_who_have_begun()
        placed = []
        for name, ones in new.items():
            if not is_overdue and any(map(_is_undecided, others[name])):
                continue
            line = self._lines.setdefault(name, [])
            for file in sorted(ones, key=_rank):
                _let_in(file, line, others[name])
                placed.append(file)
        return placed

    def _forget_those_who_have_begun(self) -> None:
        lines = {
            name: [one for one in line if one.is_in_order] for name, line in self._lines.items()
        }
        self._lines = {name: line for name, line in lines.items() if line}


def _let_in(file: TailedFile, line: list[TailedFile], others: list[TailedFile]) -> None:
    """Have a file stand behind all who are older: names that are out of date break no order."""
    rank, place = _rank(file), len(line)
    while place and _rank(line[place - 1]) > rank:
        place -= 1
    elders = [one for one in others if not one.is_in_order and _rank(one) < rank]
    if place:
        before = line[place - 1]
        elders = [one for one in elders if one.is_told or _rank(one) > _rank(before)] + [before]
    file.after += [(one, _target(one)) for one in elders]
    if place < len(line):
        line[place].after.append((file, EVERYTHING))
    line.insert(place, file)
    file.is_in_order = True


def _is_undecided(file: TailedFile) -> bool:
    return file.phase is Phase.NEW and file.is_queued


def _rank(file: TailedFile) -> _Rank:
    """Return a sort key, the oldest first.

    What is not where it stood bears an old name. If it has been read, it is older than what is new;
    else its copy says how old it is.
    """
    is_in_place = not (file.is_parted or file.is_astray or file.displaced_at is not None)
    is_new = is_in_place or not file.is_told
    path = file.path if is_in_place or file.copy is None else file.copy.path
    return is_new, age_of(path) if is_new else (0, 0), is_in_place, file.number


def _target(file: TailedFile) -> int:
    """Return how much of a file must be delivered before its successor begins."""
    is_settled = file.phase is Phase.FOLLOWED and file.displaced_at is None
    is_plain = file.stream is not None and not file.stream.is_packed
    return file.seen[0] if is_settled and is_plain and file.seen[0] >= 0 else EVERYTHING
