"""How many files the system lets this process hold open, and how many of these are for traces."""

from __future__ import annotations

import resource

_OTHERS = 150  # descriptors for HTTP's connections, targets, the state, the log and what watches
_LEAST = 4


def open_files_allowed(wanted: int) -> int:
    """Return how many traces may be open: as many as are wanted, if the system gives enough.

    Raises the soft limit as far as the hard one lets it and it is needed; what goes beyond the
    limit would make everything else fail, too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHERS
    if soft != resource.RLIM_INFINITY and soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        if raised > soft:
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
        if soft < needed:
            return max(_LEAST, min(wanted, soft - min(_OTHERS, soft // 2)))
    return wanted
