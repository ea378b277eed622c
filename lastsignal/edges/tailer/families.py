"""Files of one original name: the older are read before the younger."""

from __future__ import annotations

from collections.abc import Iterable

from lastsignal.edges.tailer.names import age_of, original_name
from lastsignal.edges.tailer.tailed import EVERYTHING, Phase, TailedFile


class Families:
    """The files that are not read to their end, by their original name."""

    def __init__(self, files: Iterable[TailedFile]) -> None:
        self._files: dict[str, list[TailedFile]] = {}
        for file in files:
            self._family_of(file).append(file)

    def add(self, file: TailedFile, before: Iterable[TailedFile] = ()) -> None:
        """Have a new file read after what is older, and before what is younger and not begun."""
        forerunners = list(before)
        for one in self._family_of(file):
            if one.is_parted or age_of(one.path) <= age_of(file.path):
                forerunners.append(one)
            elif not one.offset:
                one.after.append((file, EVERYTHING))
        file.after += [(one, _target(one)) for one in forerunners]
        self._family_of(file).append(file)

    def _family_of(self, file: TailedFile) -> list[TailedFile]:
        return self._files.setdefault(original_name(file.path), [])


def _target(file: TailedFile) -> int:
    """Return how much of a file must be delivered before its successor begins."""
    is_settled = file.phase is Phase.FOLLOWED and file.displaced_at is None
    return file.seen[0] if is_settled and file.seen[0] >= 0 else EVERYTHING
