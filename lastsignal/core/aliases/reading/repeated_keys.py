"""Keys that stand twice in one object: every decoder takes the last value and says nothing.

A program that writes `status` twice does so in every record, so to look at some of many is enough
to tell of it, and costs next to nothing.
"""

from __future__ import annotations

import json
import re

ALL_OF = 1000
"""So many records at the start of a source are looked at, every one."""
ONE_IN = 64
"""Of those that follow, one in so many."""

_find_names = re.compile(rb'"([^"]*+)"\s*+:').findall


class _RepeatedKeyError(Exception):
    pass


def next_look(number: int) -> int:
    """Return how many records after this one (1-based) the next one to look at comes."""
    return 1 if number < ALL_OF else ONE_IN - number % ONE_IN


def repeats_a_key(record: bytes) -> bool:
    """Does any object in this record hold a key twice? Text that is no JSON holds none."""
    names = _find_names(record)
    if len(names) == len(set(names)):
        return False  # what is written once, in whatever object, is not repeated
    try:
        json.loads(record, object_pairs_hook=_refuse_repeated)
    except _RepeatedKeyError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _refuse_repeated(pairs: list[tuple[str, object]]) -> None:
    if len(pairs) > len(dict(pairs)):
        raise _RepeatedKeyError
