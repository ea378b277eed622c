"""Claude Code: session transcripts on disk, and the stream that `claude -p` and the SDK print."""

from __future__ import annotations

from lastsignal.core.aliases.claude import stream, transcript

DIALECTS = (transcript.DIALECT, stream.DIALECT)
