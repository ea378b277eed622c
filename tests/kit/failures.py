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

OWN_WORDS: dict[str, dict[str, str]] = {
    "flat": {
        "event": "names what happened, and nothing that speaks against a crash stands beside it",
        "type": "as `event`, which it comes before",
    },
    "maslab_events": {"status": "an agent's end by `timeout` is the layout's own word for it"},
}
"""Layout → fields in which a word is all that the layout itself says of a run that died."""

OWN_ERRORS: dict[str, tuple[str, ...]] = {
    "codex_rollout": ("payload/error",),
    "inspect_log": ("error", "samples/*/error"),
    "langgraph_debug": ("payload/error",),
    "langsmith_runs": ("error", "post/*/error", "patch/*/error", "*/error"),
    "mini_swe_agent": ("info/exit_status",),
    "openai_agents": ("error", "data/*/error"),
    "openai_agents_export": ("traces/*/spans/*/error",),
    "swe_agent": ("info/exit_status",),
    "weave_calls": ("exception",),
}
"""Layout → fields in which it says of what a run died: an error that stands there at the run's end,
with nothing beside it that speaks against it, is just what a run that died looks like."""


def written(path: Path) -> str:
    """Return the way to a value as `OWN_ERRORS` writes it."""
    return "/".join("*" if isinstance(step, int) else step for step in path)


def may_alarm(layouts: Sequence[str], path: Path, new: Any) -> bool:
    """Whether a value says that the run died, where its layout says so."""
    place = written((*path, "error") if isinstance(new, dict) and "error" in new else path)
    for layout in layouts:
        if {place, written(path)} & {*OWN_ERRORS.get(layout, ())} and new in FAILURES:
            return True
        if written(path) in OWN_WORDS.get(layout, ()):
            return True
    return False


def failures_in(records: Sequence[bytes]) -> Iterator[tuple[int, Path, Any]]:
    """Yield (record, path, value): all words where the first and the last record tell how things
    went, a share elsewhere.

    Each field has a share of its own, so that every word stands in every kind of place.
    """
    values = (*FAILURE_WORDS, *FAILURES)
    number = 0
    for index, record in enumerate(records):
        value = msgspec.json.decode(record)
        met: set[str] = set()
        for path in paths_of(value):
            number += 1
            share = _SHARE_OF_THE_TELLING if path[-1] in TELLING else _SHARE
            is_edge = index in (0, len(records) - 1) and path[-1] in TELLING
            if is_edge and written(path) not in met:
                share = 1
            met.add(written(path))
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


def reshaped(record: bytes, layout: str) -> Iterator[Any]:
    """Yield a record with each field missing, under one of the telling names, and with the value
    of its neighbour (but in a field for errors, where a text is an error)."""
    value = msgspec.json.decode(record)
    own = OWN_ERRORS.get(layout, ())
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
        is_free = written(path) not in own and written(before[0]) not in own
        if is_beside and is_free and type(one) is not type(before[1]):
            yield changed(changed(value, path, before[1]), before[0], one)
        before = (path, one)
