"""Names of files: as text, though not all of them are UTF-8; and as rotation changes them.

Python holds a byte that is no UTF-8 as half of a surrogate pair, which nothing can write.
"""

from __future__ import annotations

import re

_BYTE = re.compile("[\udc80-\udcff]")
_WRITTEN = re.compile("\0([0-9a-f]{2})")  # no name of a file holds NUL

_packed = re.compile(r"\.(?:gz|zst)$").search
_number = re.compile(r"[.\-_]\d[\d.\-_T:Z]*$").search


def shown(path: str) -> str:
    """Return a path as people and other programs can read it: `b\\xff.jsonl`."""
    if path.isascii():
        return path
    data = path.encode("utf-8", "surrogateescape" if _BYTE.search(path) else "surrogatepass")
    return data.decode("utf-8", "backslashreplace")


def to_text(path: str) -> str:
    """Return a path as text that can be stored; `from_text` gives it back."""
    return path if path.isascii() else _BYTE.sub(lambda one: f"\0{ord(one[0]) - 0xDC00:02x}", path)


def from_text(text: str) -> str:
    """Return the path that `to_text` was given."""
    return _WRITTEN.sub(lambda one: chr(0xDC00 + int(one[1], 16)), text)


def without_packing(name: str) -> str:
    """Return the name that a file had before it was compressed."""
    match = _packed(name)
    return name[: match.start()] if match else name


def without_number(name: str) -> str:
    """Return a name without the last number or date that rotation has put behind it."""
    match = _number(name)
    return name[: match.start()] if match and match.start() else name


def original_name(path: str) -> str:
    """Return the path without all that rotation appends: `app.log-20260101.gz` was `app.log`."""
    folder, slash, name = path.rpartition("/")
    name = without_packing(name)
    while (bare := without_number(name)) != name:
        name = bare
    return folder + slash + name


def family_of(path: str) -> str:
    """Return what the files of one rotation have in common; nothing for a name that is no file's
    with an ending: `run-1` and `run-2` may be two runs."""
    original = original_name(path)
    return original if "." in original.rpartition("/")[2].lstrip(".") else ""
