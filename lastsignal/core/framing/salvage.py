"""Whole objects in a record that no decoder takes.

Two objects on one line (a writer that ends none of its lines), and a torn object with the next one
right behind it (a writer that died, and one that went on where it had stopped).
"""

from __future__ import annotations

import re

import msgspec

from lastsignal.core.framing.nesting import USED_UP, Nesting

_ATTEMPTS = 32  # each reads on to where the record is broken
_LARGEST = 1024 * 1024  # bytes; no line of a trace that is worth the attempts is longer

_find_start = re.compile(rb'\{\s*"').search
_check = msgspec.json.Decoder(msgspec.Raw).decode


def salvage(record: tuple[bytes, int, int]) -> list[tuple[bytes, int, int]]:
    """Return the whole objects of a refused record, in order; empty where there are none.

    An object inside another is never returned in its place: what is torn before it would be, too.
    """
    data, offset, line = record
    if len(data) > _LARGEST:
        return []
    return [
        (data[start:end], offset + start, line + data.count(b"\n", 0, start))
        for start, end in _whole_objects(data)
    ]


def _whole_objects(data: bytes) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    position = 0
    while (found := _find_start(data, position)) is not None:
        start = found.start()
        end = Nesting().find_end(data, start)
        if end == USED_UP or not _is_json(data[start:end]):
            return spans + _behind_a_torn_one(data, start)
        spans.append((start, end))
        position = end
    return spans


def _behind_a_torn_one(data: bytes, position: int) -> list[tuple[int, int]]:
    """Find the object that ends the record and begins where none may: in text, or after a value."""
    torn = Nesting()
    for _ in range(_ATTEMPTS):
        found = _find_start(data, position + 1)
        if found is None:
            break
        start = found.start()
        torn.find_end(data[position:start], 0)
        position = start
        if (torn.in_string or not torn.may_go_on_with_a_value) and _is_json(data[start:]):
            return [(start, len(data))]
    return []


def _is_json(data: bytes) -> bool:
    try:
        _check(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
