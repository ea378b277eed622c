"""The strongest words for a failure, put into one field of records that tell of none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from kit.mutations import (
    FAILURE_WORDS,
    FAILURES,
    REMOVED,
    Path,
    changed,
    objects_of,
    paths_of,
    renamed,
)

TELLING = (
    "error", "exception", "type", "status", "event", "kind", "subtype", "level", "state", "code",
    "reason", "outcome", "exit_status", "finish_reason", "stop_reason", "is_error", "success",
)  # fmt: skip
"""Names of fields in which formats say how something went."""

_SHARE, _SHARE_OF_THE_TELLING = 16, 5
_ADDED = ("exception", "failed", FAILURES[0], FAILURES[1], 500, True, FAILURES[-1])


def failures_in(records: Sequence[bytes]) -> Iterator[tuple[int, Path, Any]]:
    """Yield (record, path, value): all words where the first and the last record tell how things
    went, a share elsewhere.

    Each field has a share of its own, so that every word stands in every kind of place.
    """
    values = (*FAILURE_WORDS, *FAILURES)
    number = 0
    for index, record in enumerate(records):
        value = msgspec.json.decode(record)
        met: set[Path] = set()
        for path in paths_of(value):
            number += 1
            share = _SHARE_OF_THE_TELLING if path[-1] in TELLING else _SHARE
            is_edge = index in (0, len(records) - 1) and path[-1] in TELLING
            kind = tuple(0 if isinstance(step, int) else step for step in path)
            if is_edge and kind not in met:
                share = 1
            met.add(kind)
            yield from ((index, path, new) for new in values[number % share :: share])
        for inside in objects_of(value):
            there = value
            for step in inside:
                there = there[step]
            for name in TELLING[:4]:
                if name not in there:
                    number += 1
                    new = _ADDED[number % len(_ADDED)]
                    yield index, (*inside, name), new


def reshaped(record: bytes) -> Iterator[Any]:
    """Yield a record with each field missing, under a telling name, and with its neighbour's
    value."""
    value = msgspec.json.decode(record)
    before: tuple[Path, Any] = ((), None)
    for number, path in enumerate(paths_of(value)):
        there = value
        for step in path[:-1]:
            there = there[step]
        one = there[path[-1]]
        yield changed(value, path, REMOVED)
        name = TELLING[number % 4]
        if isinstance(there, dict) and name not in there:
            yield renamed(value, path, name)
        is_beside = before[0] and before[0][:-1] == path[:-1]
        if is_beside and type(one) is not type(before[1]):
            yield changed(changed(value, path, before[1]), before[0], one)
        before = (path, one)
