"""Codex: session rollouts on disk, and the stream that `codex exec --json` prints."""

from __future__ import annotations

from lastsignal.core.aliases.codex import exec_stream, rollout

DIALECTS = (rollout.DIALECT, exec_stream.DIALECT)
