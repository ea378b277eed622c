"""Files by how their content begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lastsignal.edges.tailer.marks import Mark
from lastsignal.edges.tailer.tailed import TailedFile


class Heads:
    """An index: which files begin as some content does."""

    def __init__(self) -> None:
        self._files: dict[Mark, dict[TailedFile, None]] = {}
        self._lengths: Counter[int] = Counter()

    def add(self, file: TailedFile) -> None:
        """Add a file under its head as it is now."""
        if file.head.length:
            self._files.setdefault(file.head, {})[file] = None
            self._lengths[file.head.length] += 1

    def remove(self, file: TailedFile) -> None:
        """Remove a file whose head is as it was when it was added."""
        files = self._files.get(file.head)
        if files is None or file not in files:
            return
        del files[file]
        if not files:
            del self._files[file.head]
        self._lengths[file.head.length] -= 1
        if not self._lengths[file.head.length]:
            del self._lengths[file.head.length]

    def alike(self, head: bytes) -> Iterator[TailedFile]:
        """Yield the files of which these bytes may be the beginning, the surest first."""
        for length in sorted(self._lengths, reverse=True):
            if length <= len(head):
                yield from self._files.get(Mark.of(head[:length]), ())
