"""OpenCode: the events of its bus, what `opencode run` prints, and its saved sessions."""

from __future__ import annotations

from lastsignal.core.aliases.opencode import bus, run_stream, saved

DIALECTS = (bus.DIALECT, run_stream.DIALECT, saved.DIALECT)
