"""Real traces beside the checkout: where they are, if they are there. They are no part of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BESIDE = Path(__file__).parents[2].parent / "shared" / "samples"


def folder() -> Path:
    """Return where the samples are, or would be: `LASTSIGNAL_SAMPLES` says, or beside it is."""
    return Path(os.environ.get("LASTSIGNAL_SAMPLES") or BESIDE)


@dataclass(frozen=True, slots=True)
class Sample:
    """One file, as the index describes it."""

    layout: str
    file: str
    shows: str
    path: Path

    @property
    def name(self) -> str:
        """`layout/file`, as tests name it."""
        return f"{self.layout}/{self.file}"


@cache
def samples() -> tuple[Sample, ...]:
    """Return all files of the index that are there; none without a folder."""
    index = folder() / "INDEX.tsv"
    if not index.is_file():
        return ()
    rows = (line.split("\t") for line in index.read_text(encoding="utf-8").splitlines()[1:])
    found = [Sample(row[0], row[1], row[3], folder() / row[0] / row[1]) for row in rows if row[0]]
    return tuple(sample for sample in found if sample.path.is_file())
