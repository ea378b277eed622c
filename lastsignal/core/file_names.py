"""Names of files as text: any bytes may be one, and not all of them are UTF-8.

Python holds such a byte as half of a surrogate pair, which nothing can write.
"""

from __future__ import annotations

import re

_BYTE = re.compile("[\udc80-\udcff]")
_WRITTEN = re.compile("\0([0-9a-f]{2})")  # no name of a file holds NUL


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
