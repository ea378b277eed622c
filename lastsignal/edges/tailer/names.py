"""Names that rotation makes, read backwards: `app.log-20260101.gz` was `app.log`."""

from __future__ import annotations

import os
import re

from lastsignal.core.file_names import original_name, without_number, without_packing

_COUNT_DIGITS = 5
_DATE_DIGITS = 20

_number_before_suffix = re.compile(r"[.\-_]\d[\d.\-_T:Z]*(?=\.[A-Za-z]\w*$)").search


def former_names(path: str) -> list[str]:
    """Return what a file at this path may have been called before, its own name not among them."""
    folder, name = os.path.split(path)
    found = []
    if (bare := without_packing(name)) != name:
        name = bare
        found.append(name)
    if match := _number_before_suffix(name):
        found.append(name[: match.start()] + name[match.end() :])
    while (bare := without_number(name)) != name:
        name = bare
        found.append(name)
    return [os.path.join(folder, one) for one in found if one]  # noqa: PTH118  # a million times


def age_of(path: str) -> tuple[int, int]:
    """Return a sort key among the files of one original name: the oldest first."""
    rotated = path[len(original_name(path)) :]
    digits = re.sub(r"\D", "", rotated)
    if not digits:
        return 2, 0
    is_count = len(digits) <= _COUNT_DIGITS  # .2 is older than .1; 20260101 than 20260102
    return (0, -int(digits)) if is_count else (1, int(digits[:_DATE_DIGITS]))


def are_related(one: str, other: str) -> bool:
    """May one of the two be made from the other by rotation?"""
    return not {one, *former_names(one)}.isdisjoint({other, *former_names(other)})
