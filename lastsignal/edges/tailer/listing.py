"""A look at the disk: which files are there, under which names. Runs in a thread."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lastsignal.edges.tailer.names import former_names
from lastsignal.edges.tailer.patterns import Patterns, Root
from lastsignal.edges.tailer.piece import Key

_CLOCK_TICK = 20_000_000  # nanoseconds, at least as coarse as times of modification are


class Found(NamedTuple):
    """One name of one file."""

    path: str
    key: Key
    size: int
    modified_ns: int
    is_matched: bool
    """Else it is there for its content: rotated from a file that is, or a known inode."""


@dataclass(slots=True)
class Listing:
    """What a look has found."""

    is_full: bool = True
    found: dict[Key, list[Found]] = field(default_factory=dict)
    folders: dict[str, Key] = field(default_factory=dict)
    """Those that could be read: a known file that is not found in one has left it."""
    deep: set[str] = field(default_factory=set)
    """Folders of which everything below is meant."""
    faults: dict[str, OSError] = field(default_factory=dict)
    unsteady: set[str] = field(default_factory=set)
    """Folders in which names came or went meanwhile: one may have escaped the look."""

    def add(self, path: str, info: os.stat_result, is_matched: bool) -> None:
        """Add one name."""
        key = info.st_dev, info.st_ino
        one = Found(path, key, info.st_size, info.st_mtime_ns, is_matched)
        self.found.setdefault(key, []).append(one)


class Finder:
    """Lists what the patterns mean, and what rotation may have made of it."""

    def __init__(
        self, patterns: Patterns, known_inodes: Container[int], linked: Iterable[str]
    ) -> None:
        self._patterns = patterns
        self._known_inodes = known_inodes
        # real paths of linked files: their rotated ones stand beside them, not beside the link
        self._linked = set(linked)

    def look_everywhere(self) -> Listing:
        """List every folder."""
        look = _Look(self._patterns, self._known_inodes, self._linked)
        for root in self._patterns.roots:
            look.walk(root)
        for path in self._linked - look.linked:  # a link that points elsewhere now
            if (key := _key(path)) is not None and key[1] in self._known_inodes:
                look.linked.add(path)
        for folder in {os.path.dirname(path) for path in look.linked}:  # noqa: PTH120  # many
            look.list_folder(folder)
        self._linked = look.linked
        return look.listing

    def look_into(self, folders: Iterable[str]) -> Listing:
        """List only these folders, nothing below them."""
        look = _Look(self._patterns, self._known_inodes, self._linked)
        look.listing.is_full = False
        for folder in folders:
            look.list_folder(folder)
        self._linked = self._linked | look.linked
        return look.listing

    def is_plain_match(self, path: str, info: os.stat_result) -> bool:
        """Is this a file that is meant, and reached by no link?"""
        if not stat.S_ISREG(info.st_mode) or not self._patterns.matches(path):
            return False
        key = info.st_dev, info.st_ino
        return os.path.realpath(path) == path and key not in _own_keys(self._patterns)

    def is_sibling(self, path: str) -> bool:
        """May this be a rotated file that the patterns do not name?"""
        return _is_sibling(path, self._patterns, self._linked)


def _is_sibling(path: str, patterns: Patterns, linked: Container[str]) -> bool:
    names = former_names(path)
    if not names or patterns.refuses(path):
        return False
    return any(name in linked or patterns.matches(name) for name in names)


class _Look:
    def __init__(self, patterns: Patterns, known: Container[int], linked: set[str]) -> None:
        self.listing = Listing()
        self.linked: set[str] = set()
        self._all_linked = set(linked)
        self._patterns = patterns
        self._known_inodes = known
        self._below: dict[str, list[str]] = {}
        self._own = _own_keys(patterns)

    def walk(self, root: Root) -> None:
        """List the folders of one pattern."""
        start, levels = root.folder, root.levels
        if root.name:
            path = os.path.join(root.folder, root.name)  # noqa: PTH118  # keeps the style of paths
            if os.path.isdir(path):  # noqa: PTH112  # a path, not a Path
                start = path
            else:
                levels = ()
        if levels is None and os.path.isdir(start):  # noqa: PTH112
            self.listing.deep.add(start)
        pending, entered = [(start, 0)], set()
        while pending:
            folder, depth = pending.pop()
            below = self.list_folder(folder)
            key = self.listing.folders.get(folder)
            if key is None or key in entered:  # a link may lead back up
                continue
            entered.add(key)
            if levels is None:
                pending += [(one, depth + 1) for one in below if root.enters(one)]
            elif depth < len(levels):
                fits = levels[depth].match
                pending += [(one, depth + 1) for one in below if fits(one.rpartition("/")[2])]

    def list_folder(self, folder: str) -> list[str]:
        """Add a folder's files; return the folders in it."""
        if folder in self._below:
            return self._below[folder]
        below = self._below[folder] = []
        try:
            began, key = time.time_ns(), _key(folder)
            if key in self._own:  # reached by a link
                return below
            for entry in _entries(folder):
                if self._is_folder(entry):
                    below.append(entry.path)
                else:
                    self._add_file(entry)
            if os.stat(folder).st_mtime_ns > began - _CLOCK_TICK:  # noqa: PTH116  # many
                self.listing.unsteady.add(folder)
        except (FileNotFoundError, NotADirectoryError):
            self.listing.folders[folder] = (-1, -1)  # nothing is left of what was in it
        except OSError as error:
            self.listing.faults[folder] = error
        else:
            if key is not None:
                self.listing.folders[folder] = key
        return below

    @staticmethod
    def _is_folder(entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir()
        except OSError:
            return False

    def _add_file(self, entry: os.DirEntry[str]) -> None:
        path = entry.path
        is_matched = self._patterns.matches(path)
        try:
            is_link = entry.is_symlink()
            if not is_matched and not self._is_wanted(entry, is_link):
                return
            info = entry.stat()
        except FileNotFoundError:
            return
        except OSError as error:
            self.listing.faults[path] = error
            return
        if not stat.S_ISREG(info.st_mode) or (info.st_dev, info.st_ino) in self._own:
            return
        self.listing.add(path, info, is_matched)
        if is_link and is_matched:
            real_path = os.path.realpath(path)
            self.listing.add(real_path, info, False)
            self.linked.add(real_path)
            self._all_linked.add(real_path)

    def _is_wanted(self, entry: os.DirEntry[str], is_link: bool) -> bool:
        if is_link:
            return False
        if entry.inode() in self._known_inodes:
            return not self._patterns.refuses(entry.path)
        return _is_sibling(entry.path, self._patterns, self._all_linked)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries


def _key(path: str | int) -> Key | None:
    try:
        info = os.stat(path)  # noqa: PTH116  # also descriptors
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _own_keys(patterns: Patterns) -> set[Key | None]:
    """Return what this process writes, its output included."""
    return {_key(path) for path in patterns.own_paths} | {_key(1), _key(2)}
