"""Paths that are named and not there: worth a word, though they may come."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from pathlib import Path


def missing_paths(patterns: Sequence[str]) -> list[str]:
    """Return the files and folders that are not there; a glob may match later."""
    return [one for one in patterns if not has_magic(one) and not Path(one).expanduser().exists()]
