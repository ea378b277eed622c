"""`lastsignal watch`: the daemon. It puts the edges together and decides nothing of its own."""

from __future__ import annotations

from lastsignal.watch.service import Request, watch
from lastsignal.watch.settings import targets as targets_of

__all__ = ["Request", "targets_of", "watch"]
