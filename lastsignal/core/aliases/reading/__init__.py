"""The records of one source → Events: the dialect of each, when it happened, in which order."""

from lastsignal.core.aliases.reading.reader import Reader

__all__ = ["Reader"]
