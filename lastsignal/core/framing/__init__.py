"""Bytes → records with exact byte offsets and line numbers, whatever the framing and the chunks.

`Framer` cuts a source that arrives in chunks; `first_record` finds one again; `salvage` looks for
whole objects in a record that no decoder takes; `as_written` shows a beginning without wrappers.
"""

from __future__ import annotations

from lastsignal.core.framing.checkpoint import Checkpoint
from lastsignal.core.framing.framer import DEFAULT_MAX_RECORD_BYTES, Framer, first_record
from lastsignal.core.framing.records import Record, Unwrapped
from lastsignal.core.framing.rotations import Rotations
from lastsignal.core.framing.salvage import salvage
from lastsignal.core.framing.skips import Skip
from lastsignal.core.framing.wrappers import as_written

__all__ = [
    "DEFAULT_MAX_RECORD_BYTES",
    "Checkpoint",
    "Framer",
    "Record",
    "Rotations",
    "Skip",
    "Unwrapped",
    "as_written",
    "first_record",
    "salvage",
]
