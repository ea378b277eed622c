"""Follows growing files to their last byte, whatever becomes of their names.

A file is its content and its inode, not its name. Every byte of it comes once, in order, with a
checkpoint; a consumer that keeps the last one it has used, and hands it to the next run, gets every
byte behind it once. Nothing is written and nothing logged here: trouble is told as values.

    config     what to tail                     patterns, names    which paths are meant
    listing    a look at the disk               keeper             what it changes in what is known
    watching   hints when to look               fleet, turns       the known files, whose turn it is
    holder     open descriptors                 families           the older before the younger
    tailed     one file, one step of reading    streams, unpacking plain and compressed content
    kinship    whose content a new file holds   reader             gives turns, sends pieces
    tailer     all of it together               piece, trouble     what goes out

Rotation is followed by inode under any name in the same folder; copies, plain or compressed, go on
where the original was read to. Rotated files that no pattern names (`app.log.1` of `app.log`) are
read too, unless they were there at the very first start.

Files of one original name come the older before the younger: a new file is begun only when a look
that started after its first bytes were seen has shown what is older, and that has been read to
where it stood then. Nobody waits for looks for more than two seconds; and where a look takes more
than 20 ms of a processor, only files whose name is seen to rotate wait at all. So order may be lost
where names are shifted faster than the folder is looked at; and where no more than a few bytes of a
file were read before a kill, and another content that begins with them is in its place afterwards.

What may be lost:

- Bytes that are cut away before they are read and are in no copy. With `copytruncate`: what is
  written between the copy and the cut.
- A file that is cut and filled again with the same first kilobyte, and the same 256 bytes before
  the place that was read to, is taken for the same file.
- A file that comes and goes before it is opened: within about 50 ms of its first byte, or while
  more than `max_open_files` have unread bytes; what is written to an idle, closed file just before
  it is deleted.
- Unread bytes of deleted files beyond `max_deleted_files`; told as `DELETED_DROPPED`.
- What is written to a deleted file, or to one moved to a folder that no pattern means, after it was
  quiet for `wait_after_rename`, or while the daemon is down.
- What follows a fault in compressed content, and up to 16 KiB packed before it; told as `CORRUPT`.

What may come twice: a small file (below `fingerprint_bytes`) that is replaced by a longer version
of itself under another inode.
"""

from __future__ import annotations

from lastsignal.edges.tailer.config import Start, TailerConfig
from lastsignal.edges.tailer.fleet import TailerStats
from lastsignal.edges.tailer.marks import Mark
from lastsignal.edges.tailer.piece import FileCheckpoint, Piece, State
from lastsignal.edges.tailer.tailer import Tailer
from lastsignal.edges.tailer.trouble import OnTrouble, Trouble, TroubleKind

__all__ = [
    "FileCheckpoint",
    "Mark",
    "OnTrouble",
    "Piece",
    "Start",
    "State",
    "Tailer",
    "TailerConfig",
    "TailerStats",
    "Trouble",
    "TroubleKind",
]
