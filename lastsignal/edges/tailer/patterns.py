"""Which paths are meant: files, folders and globs, less what is excluded and what is our own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from lastsignal.core.file_names import original_name
from lastsignal.edges.tailer.config import TailerConfig

_find_wildcard = re.compile(r"[*?\[]").search


class Root(NamedTuple):
    """Where one pattern begins to look."""

    folder: str
    name: str
    """The only name that counts there; empty for all."""
    levels: tuple[re.Pattern[str], ...] | None
    """What the folders below must be called, level by level; None for all folders, any depth."""
    shows_hidden: bool

    def enters(self, folder: str) -> bool:
        """May there be something below this folder?"""
        base = f"{self.folder}/{self.name}" if self.name else self.folder
        return self.shows_hidden or not _is_hidden(folder[len(base.rstrip("/")) :])


def absolute(path: str) -> str:
    """Return the path from the root on, `~` and `..` resolved, links kept."""
    return os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111  # Path keeps `..`


def _is_hidden(path: str) -> bool:
    return "/." in path


def _glob(pattern: str) -> str:
    """Return the regular expression of a glob whose `*` stops at a slash."""
    expression = ""
    for part in pattern.split("/")[1:]:
        if part == "**":
            expression += "(?:/[^/]+)*"
        else:
            expression += "/" + _name(part)
    return expression


_find_token = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL).findall


def _name(part: str) -> str:
    """Return the regular expression of a glob without slashes."""
    expression = ""
    for token in _find_token(part):
        if token[0] == "*":
            expression += "[^/]*"
        elif token == "?":
            expression += "[^/]"
        elif token[0] == "[" and len(token) > 1:
            negates = token[1] == "!"
            members = re.sub(r"([\\\[\]^])", r"\\\1", token[1 + negates : -1])
            expression += f"[^/{members}]" if negates else f"[{members}]"
        else:
            expression += re.escape(token)
    return expression


class _Pattern:
    def __init__(self, pattern: str, takes_below_folder: Callable[[str], bool]) -> None:
        self._path = absolute(pattern)
        self._takes = takes_below_folder
        self._shows_hidden = _is_hidden(self._path)
        wildcard = _find_wildcard(self._path)
        self._glob = re.compile(_glob(self._path) + r"\Z") if wildcard else None
        self.root = self._root(wildcard.start() if wildcard else None)

    def _root(self, wildcard: int | None) -> Root:
        if wildcard is None:
            folder, name = os.path.split(self._path)
            return Root(folder, name, None, False)
        folder = self._path[: self._path.rindex("/", 0, wildcard)] or "/"
        below = self._path[len(folder.rstrip("/")) + 1 :].split("/")
        if "**" in below:
            return Root(folder, "", None, self._shows_hidden)
        levels = tuple(re.compile(_name(part) + r"\Z") for part in below[:-1])
        return Root(folder, "", levels, self._shows_hidden)

    def matches(self, path: str) -> bool:
        if self._glob is not None:
            if not self._glob.match(path):
                return False
            return self._shows_hidden or not _is_hidden(path)
        if path == self._path:
            return True
        below = path[len(self._path) :] if path.startswith(self._path) else ""
        return below.startswith("/") and not _is_hidden(below) and self._takes(path)


MAX_REMEMBERED = 20_000  # paths whose answer is kept


class Patterns:
    """The patterns of a configuration, compiled."""

    def __init__(self, config: TailerConfig) -> None:
        self._patterns = [_Pattern(one, config.takes_below_folder) for one in config.patterns]
        self._own = [absolute(path) for path in config.own_paths]
        self._own_below = tuple(path.rstrip("/") + "/" for path in self._own)
        self._excluded = [_exclusion(pattern) for pattern in config.exclude]
        # every look asks of every file again
        self._judge = lru_cache(MAX_REMEMBERED)(self._matches)

    @property
    def roots(self) -> Iterable[Root]:
        """Where to look."""
        return [pattern.root for pattern in self._patterns]

    @property
    def own_paths(self) -> Iterable[str]:
        """What this process writes."""
        return self._own

    def matches(self, path: str) -> bool:
        """Is this file meant?"""
        return self._judge(path)

    def _matches(self, path: str) -> bool:
        return not self.refuses(path) and any(one.matches(path) for one in self._patterns)

    def refuses(self, path: str) -> bool:
        """Is this file excluded, or our own?"""
        if path.startswith(self._own_below) or any(one(path) for one in self._excluded):
            return True
        return bool(self._own) and (path in self._own or original_name(path) in self._own)


def _exclusion(pattern: str) -> Callable[[str], re.Match[str] | None]:
    if "/" not in pattern:
        return re.compile(r"(?:.*/)?" + _name(pattern) + r"(?:/.*)?\Z").match
    return re.compile(_glob(absolute(pattern)) + r"(?:/.*)?\Z").match
