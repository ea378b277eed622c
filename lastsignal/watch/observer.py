"""What the daemon tells of itself, to whoever wants to know; by default to nobody."""

from __future__ import annotations

from collections.abc import Sequence

from lastsignal.core.events import Event
from lastsignal.core.incidents import Notice
from lastsignal.edges.tailer import Piece
from lastsignal.watch.analysis import Analysis
from lastsignal.watch.pipeline import Account


class Observer:
    """Called for everything that happens; does nothing."""

    def read(self, piece: Piece, events: Sequence[Event], account: Account) -> None:
        """Note what a piece of a file gave: events that are no copies, see `Engine.copies`."""

    def released(self, events: Sequence[Event], account: Account) -> None:
        """Note what a file gave that stands still."""

    def judged(self, seconds: float, analysis: Analysis) -> None:
        """Note that the rules have seen all events so far, and how long the last ones took."""

    def committed(self, seconds: float, notices: Sequence[Notice]) -> None:
        """Note that everything so far is safe, and how long that took."""

    def commit_failed(self, error: str) -> None:
        """Note that the state could not be written; it is tried again with the next commit."""

    def request_unknown(self) -> None:
        """Note that somebody has asked for what this version cannot do."""

    def reloaded(self, error: str | None) -> None:
        """Note that rules were read again: None means that they are in force."""
