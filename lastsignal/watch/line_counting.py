"""How many lines stand before an offset: what is read from a file's end has line numbers too."""

from __future__ import annotations

import os

from lastsignal.edges.tailer import FileCheckpoint

_CHUNK_BYTES = 1 << 20


def lines_before(file: FileCheckpoint, offset: int) -> int | None:
    """Return how many lines end before an offset; None where the file is another, or gone."""
    try:
        descriptor = os.open(file.real_path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        info = os.fstat(descriptor)
        if (info.st_dev, info.st_ino) != (file.device, file.inode) or info.st_size < offset:
            return None
        lines = at = 0
        while at < offset:
            chunk = os.pread(descriptor, min(_CHUNK_BYTES, offset - at), at)
            if not chunk:
                return None
            lines += chunk.count(b"\n")
            at += len(chunk)
        return lines
    except OSError:
        return None
    finally:
        os.close(descriptor)
