"""OpenCode: the events of its bus, and what `opencode run` prints."""

from __future__ import annotations

from lastsignal.core.aliases.opencode import bus, run_stream

DIALECTS = (bus.DIALECT, run_stream.DIALECT)
