"""Names that are nearly right: which one may be meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(word: object, known: Iterable[str]) -> str | None:
    """Return the known name that a word is nearest to, None where none is near."""
    close = difflib.get_close_matches(str(word), list(known), n=1)
    return close[0] if close else None


def did_you_mean(word: object, known: Iterable[str], otherwise: str) -> str:
    """Return the fix for a name that is not known: the one that may be meant, or `otherwise`."""
    name = meant(word, known)
    return otherwise if name is None else f"did you mean `{name}`?"


def nearest(word: object, known: Iterable[str], otherwise: str) -> str:
    """Return the fix for a name that is not known: the one that may be meant, or all there are,
    behind `otherwise`."""
    names = list(known)
    return did_you_mean(word, names, f"{otherwise} {', '.join(names)}")
