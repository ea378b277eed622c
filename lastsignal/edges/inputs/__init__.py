"""What `diagnose` reads: paths, folders, globs, archives and streams → chunks of bytes.

`open_sources` finds them, `Source.chunks` reads one, `read_excerpts` shows what stands at a place.
"""

from __future__ import annotations

from lastsignal.edges.inputs.ahead import Ahead, processors
from lastsignal.edges.inputs.excerpts import Place, read_excerpts
from lastsignal.edges.inputs.paths import Sources, open_sources
from lastsignal.edges.inputs.sources import FileSource, Source

__all__ = [
    "Ahead",
    "FileSource",
    "Place",
    "Source",
    "Sources",
    "open_sources",
    "processors",
    "read_excerpts",
]
