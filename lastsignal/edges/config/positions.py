"""On which line of a TOML file each key, table and list item stands; `tomllib` does not tell.

Only for text that `tomllib` has accepted: what is invalid never comes here.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from lastsignal.core.places import Place

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_KEY = re.compile(rf"{_KEY_PART}(?:[ \t]*\.[ \t]*{_KEY_PART})*")
_SCALAR = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'"
    r"|[^,\]}\r\n#]+",
    re.DOTALL,
)


def find_lines(text: str) -> dict[Place, int]:
    """Return the 1-based line of everything that a valid TOML text names."""
    return _Scanner(text.replace("\r\n", "\n")).document()


class _Scanner:
    """Walks once over the text, and notes where what begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Place, int] = {}
        self._counted = 0
        self._line = 1
        self._last_item: dict[Place, int] = {}
        """Of lists of tables: the index that a header with their name means."""

    def document(self) -> dict[Place, int]:
        table: Place = ()
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return self.lines
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Place:
        repeats = self.text.startswith("[[", self.at)
        line = self._here()
        self.at += 2 if repeats else 1
        self._skip(_SPACE)
        place: Place = ()
        keys = self._key()
        for number, key in enumerate(keys, 1):
            place = (*place, key)
            self.lines.setdefault(place, line)
            if repeats and number == len(keys):
                self._last_item[place] = self._last_item.get(place, -1) + 1
            if place in self._last_item:
                place = (*place, self._last_item[place])
                self.lines.setdefault(place, line)
        self.at = self.text.index("]", self.at) + (2 if repeats else 1)
        return place

    def _pair(self, table: Place) -> None:
        line = self._here()
        place = table
        for key in self._key():
            place = (*place, key)
            self.lines.setdefault(place, line)
        self.at = self.text.index("=", self.at) + 1
        self._value(place)

    def _value(self, place: Place) -> None:
        self._skip(_SPACE)
        opening = self.text[self.at]
        if opening == "[":
            self._items(place, "]")
        elif opening == "{":
            self._items(place, "}")
        else:
            self._skip(_SCALAR)

    def _items(self, place: Place, closing: str) -> None:
        self.at += 1
        index = 0
        while True:
            self._skip(_BLANK)
            if self.text[self.at] == closing:
                break
            if self.text[self.at] == ",":
                self.at += 1
            elif closing == "]":
                self.lines.setdefault((*place, index), self._here())
                self._value((*place, index))
                index += 1
            else:
                self._pair(place)
        self.at += 1

    def _key(self) -> list[str]:
        found = _KEY.match(self.text, self.at)
        assert found is not None, "only valid TOML is scanned"
        self.at = found.end()
        node: Any = tomllib.loads(f"{found[0]} = 0")
        keys = []
        while isinstance(node, dict):
            ((key, node),) = node.items()
            keys.append(key)
        return keys

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        assert found is not None, "only valid TOML is scanned"
        self.at = found.end()

    def _here(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line
