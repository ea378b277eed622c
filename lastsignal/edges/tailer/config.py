"""What to tail, and within which bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Start = Literal["start", "end", "checkpoint"]


def takes_all(path: str) -> bool:
    """Take every file below a folder."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TailerConfig:
    """Everything that a tailer can be told."""

    patterns: tuple[str, ...]
    """Files, folders (with everything below them) and globs; `~` and `**` are known."""
    exclude: tuple[str, ...] = ()
    """Globs; one without a slash is a name, wherever it stands."""
    start: Start = "checkpoint"
    """Where files that are there at startup begin: `checkpoint` goes on where one says so and else
    from the start; `start` and `end` ask no checkpoint. Later files begin at their start."""
    own_paths: tuple[str, ...] = ()
    """Files and folders that this process writes: never tailed, also when rotated."""
    takes_below_folder: Callable[[str], bool] = takes_all
    """Is a file wanted that was found below a folder?"""

    scan_interval: float = 5.0  # seconds
    """Between looks at every file: finds what notification missed."""
    poll_interval: float = 1.0  # seconds
    """The same while there is no notification."""
    chunk_bytes: int = 256 * 1024
    """The most that a file may deliver before the next one has its turn."""
    max_open_files: int = 256
    max_deleted_files: int = 64
    """Deleted files that are held open for what is unread in them: they take space on the disk."""
    fingerprint_bytes: int = 1024
    wait_after_rename: float = 30.0  # seconds
    """How long a file that has left its name is watched after the last byte written to it."""
    copy_patience: float = 5.0  # seconds
    """How long a file that looks like the copy of a live one waits for that one to be cut."""
    notifies: bool = True
    """Ask the system to tell of changes; without it, only scans find them."""
