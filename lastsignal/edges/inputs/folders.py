"""Which files below a folder are taken for traces.

Passed over, and counted by reason: hidden names and the folders of packages and caches; what is no
regular file; empty files; files whose name or first bytes say that they are something else.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

TRACE_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".log", ".traj", ".eval", ".zip"})
"""Read by their name alone; also with `.gz`, `.zst` or what rotation appends behind it."""

FOREIGN_SUFFIXES = frozenset(
    {".css", ".htm", ".html", ".ipynb", ".js", ".map", ".md", ".mjs", ".py", ".rst", ".ts"}
)
"""Never read: JSON in them is no trace. A file of any other name is read if it begins like one."""

FOREIGN_NAMES = frozenset(
    {
        "composer.json",
        "config.v2.json",  # Docker's, beside a container's log
        "hostconfig.json",
        "package-lock.json",
        "package.json",
        "tsconfig.json",
    }
)
FOREIGN_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})

_SNIFFED_BYTES = 4096
_rotation = re.compile(r"[.\-_]\d[\d.\-_T]*$|\.(?:gz|zst)$")
_begins_like_a_trace = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*[{\["]|^\{\s*"', re.MULTILINE)

Count = Callable[[str], None]
Lose = Callable[[str, OSError], None]
"""lose(path, what the system said): a folder that may hold traces cannot be looked into."""
Identity = tuple[int, int]
"""Device and inode."""


def in_natural_order(path: str | Path) -> list[int | str]:
    """Return a sort key by which `message_2` comes before `message_10`."""
    parts = re.split(r"([0-9]+)", str(path))
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def traces_below(folder: Path, count: Count, lose: Lose) -> list[Path]:
    """Return the trace files below a folder, those that are links last, so that they yield.

    Raises:
        OSError: the folder itself cannot be read.
    """
    found: list[Path] = []
    links: list[Path] = []
    for entry in _walk(folder, count, lose):
        reason = _reason_to_pass_over(entry)
        if reason is not None:
            count(reason)
        else:
            (links if entry.is_symlink() else found).append(Path(entry.path))
    return sorted(found, key=in_natural_order) + sorted(links, key=in_natural_order)


def _walk(folder: Path, count: Count, lose: Lose) -> Iterator[os.DirEntry[str]]:
    """Yield every visible file; a folder that links lead to again and again is entered once."""
    entered = {_identity(folder.stat())}
    with os.scandir(folder) as entries:
        pending = list(entries)
    linked: list[os.DirEntry[str]] = []  # after all others: a name without a link in it is better
    while pending or linked:
        entry = pending.pop() if pending else linked.pop()
        try:
            if entry.name.startswith("."):
                count("hidden")
            elif not entry.is_dir():
                yield entry
            elif entry.name in FOREIGN_FOLDERS:
                count("foreign")
            elif entry.is_symlink() and pending:
                linked.append(entry)
            elif (identity := _identity(entry.stat())) not in entered:
                entered.add(identity)
                with os.scandir(entry.path) as entries:
                    pending += entries
        except PermissionError as error:
            lose(entry.path, error)
        except OSError:  # a link to itself, or what went while we looked
            count("unreadable")


def _identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino


def _reason_to_pass_over(entry: os.DirEntry[str]) -> str | None:
    try:
        info = entry.stat()
        if not stat.S_ISREG(info.st_mode):
            return "not_a_file"
        if not info.st_size:
            return "empty"
        name = entry.name.lower()
        while (shorter := _rotation.sub("", name)) != name:
            name = shorter
        suffix = Path(name).suffix
        if suffix in FOREIGN_SUFFIXES or name in FOREIGN_NAMES:
            return "foreign"
        if suffix in TRACE_SUFFIXES:
            return None
        with Path(entry.path).open("rb") as file:
            head = file.read(_SNIFFED_BYTES)
    except OSError:  # a link to nothing, a file of somebody else's
        return "unreadable"
    return None if _begins_like_a_trace.search(head) else "foreign"
