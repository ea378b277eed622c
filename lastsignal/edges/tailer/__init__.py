"""Follows growing files to their last byte, whatever becomes of their names."""

from __future__ import annotations

from lastsignal.edges.tailer.config import Start, TailerConfig
from lastsignal.edges.tailer.fleet import TailerStats
from lastsignal.edges.tailer.marks import Mark
from lastsignal.edges.tailer.piece import FileCheckpoint, Piece, State
from lastsignal.edges.tailer.tailer import Tailer
from lastsignal.edges.tailer.trouble import OnTrouble, Trouble, TroubleKind

__all__ = [
    "FileCheckpoint",
    "Mark",
    "OnTrouble",
    "Piece",
    "Start",
    "State",
    "Tailer",
    "TailerConfig",
    "TailerStats",
    "Trouble",
    "TroubleKind",
]
