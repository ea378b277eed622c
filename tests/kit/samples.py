"""Real traces beside the checkout: where they are, if they are there. They are no part of it."""

from __future__ import annotations

import os
from pathlib import Path

BESIDE = Path(__file__).parents[2].parent / "shared" / "samples"


def folder() -> Path:
    """Return where the samples are, or would be: `LASTSIGNAL_SAMPLES` says, or beside it is."""
    return Path(os.environ.get("LASTSIGNAL_SAMPLES") or BESIDE)
