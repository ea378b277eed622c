"""How the daemon stands: what HTTP shows, and what orchestrators ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import lastsignal
from lastsignal.core.incidents import Incident
from lastsignal.edges.tailer import Tailer
from lastsignal.watch.daemon import Daemon
from lastsignal.watch.keeper import Keeper


class Standing:
    """Answers the questions of `edges.http.Status`.

    Args:
        daemon: the running daemon.
        tailer: what it reads from.
        keeper: what reads rules and configuration again.
        waits_for_restart: what the configuration says and only a restart will take.
    """

    def __init__(
        self,
        daemon: Daemon,
        tailer: Tailer,
        keeper: Keeper,
        waits_for_restart: Callable[[], Sequence[str]],
    ) -> None:
        self._daemon = daemon
        self._tailer = tailer
        self._keeper = keeper
        self._waits_for_restart = waits_for_restart
        self._started = time.time()
        self.is_reading = False

    @property
    def version(self) -> str:
        """Return the version of Last Signal."""
        return lastsignal.__version__

    def not_ready(self) -> Sequence[str]:
        """Return why the daemon is not what it should be."""
        reasons = [] if self.is_reading else ["it is starting"]
        reasons += self._keeper.problems
        if self._daemon.commit_error is not None:
            reasons.append(f"the state cannot be written: {self._daemon.commit_error}")
        return reasons

    def incidents(self) -> Iterable[Incident]:
        """Return the incidents that are open or in the history."""
        return self._daemon.analysis.book.incidents.values()

    def facts(self) -> Mapping[str, str | int | float | bool | None]:
        """Return what else the status page says."""
        stats, engine = self._tailer.stats(), self._daemon.analysis.engine
        return {
            "running for (s)": round(time.time() - self._started),
            "rules": len(engine.rules),
            "files": stats.files,
            "files with unread bytes": stats.pending_files,
            "unread bytes": stats.behind_bytes,
            "told of changes by the system": not stats.is_polling,
            "traces": len(engine.traces),
            "last commit": self._daemon.committed_at,
            "configured, and taken by a restart only": ", ".join(self._waits_for_restart()) or None,
        }

    async def reload(self) -> Sequence[str]:
        """Read rules and configuration again."""
        return await self._keeper.reload()
