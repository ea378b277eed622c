"""The daemon's memory on disk: one SQLite file in which everything changes together.

Offsets, the state of the rules, incidents and the outbox of notifications are written in one
transaction: after a kill at any instant the file holds one consistent moment of the past, whence
reading goes on. A file that is damaged, or from a newer version, is set aside and never loops.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lastsignal.core.incidents import Incident, Notice, Silence
from lastsignal.core.packing import pack
from lastsignal.edges.store.database import Database, StoreError
from lastsignal.edges.store.outbox import Outbox, OutboxRow
from lastsignal.edges.store.requests import (
    Acknowledge,
    EndSilence,
    Request,
    StartSilence,
    StateReader,
    decoded_request,
)

__all__ = [
    "Acknowledge",
    "Changes",
    "EndSilence",
    "Outbox",
    "OutboxRow",
    "Request",
    "Saved",
    "StartSilence",
    "StateReader",
    "Store",
    "StoreError",
]

_Row = TypeVar("_Row")


@dataclass(slots=True)
class Changes:
    """What one commit writes."""

    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """State by file id; None forgets the file."""
    traces: Mapping[str, bytes | None] = field(default_factory=dict)
    """State by trace id; None forgets the trace."""
    groups: Mapping[str, bytes | None] = field(default_factory=dict)
    """State of rules across traces, by the key of the group; None forgets it."""
    engine: bytes | None = None
    """What the rules hold besides these; None leaves it."""
    incidents: Mapping[str, Incident | None] = field(default_factory=dict)
    silences: Mapping[str, Silence | None] = field(default_factory=dict)
    notices: Iterable[tuple[Notice, Sequence[str]]] = ()
    """Notices with the names of their targets."""
    done_requests: Sequence[int] = ()
    """Requests of people that these changes carry out."""

    def holds_anything(self) -> bool:
        """Whether there is something to write; what the rules hold changes only with the rest."""
        return bool(
            self.files
            or self.traces
            or self.groups
            or self.incidents
            or self.silences
            or self.done_requests
            or tuple(self.notices)
        )


@dataclass(slots=True)
class Saved:
    """What a store held when it was opened."""

    files: dict[str, bytes]
    traces: list[bytes]
    groups: list[bytes]
    engine: bytes | None
    incidents: list[Incident]
    silences: list[Silence]


class Store:
    """Everything that outlives the process.

    Args:
        directory: where the state file is; made if missing.
        on_trouble: told in words what was wrong with the file and what was done.

    Raises:
        StoreError: the directory cannot be written, or another instance holds it.
    """

    def __init__(self, directory: Path, on_trouble: Callable[[str], None]) -> None:
        self._database = Database(directory, on_trouble)
        self.outbox = Outbox(self._database)

    @property
    def set_aside(self) -> Path | None:
        """Where a state file that could not be used was moved to."""
        return self._database.set_aside

    def close(self) -> None:
        """Release the file and the lock."""
        self._database.close()

    def load(self) -> Saved:
        """Return everything that was committed; what makes no sense is set aside as a whole."""
        try:
            return self._load()
        except msgspec.MsgspecError as error:
            self._database.begin_anew(f"an incident or a silence in it makes no sense: {error}")
            return self._load()

    def _load(self) -> Saved:
        query = self._database.query
        engine = query("SELECT value FROM meta WHERE name = 'engine'")
        return Saved(
            files=dict(query("SELECT id, state FROM files")),
            traces=[state for (state,) in query("SELECT state FROM traces ORDER BY id")],
            groups=[state for (state,) in query("SELECT state FROM groups ORDER BY id")],
            engine=engine[0][0] if engine else None,
            incidents=_decode_all(query("SELECT body FROM incidents ORDER BY id"), Incident),
            silences=_decode_all(query("SELECT body FROM silences ORDER BY id"), Silence),
        )

    def size(self) -> int:
        """Return the bytes that the state takes on the disk."""
        return self._database.size()

    def forget_progress(self, *, with_rules: bool = True) -> None:
        """Forget offsets and the state of rules; incidents and the outbox stay.

        Args:
            with_rules: whether what the rules remember goes too.

        Raises:
            StoreError: it cannot be written.
        """
        with self._database.transaction() as db:
            for table in ("files", "traces", "groups", "meta") if with_rules else ("files",):
                db.execute(f"DELETE FROM {table}")

    def requests(self) -> list[tuple[int, Request | None]]:
        """Return what people have asked for meanwhile, oldest first.

        None stands for what another version of the command has asked for and this one cannot do.
        """
        rows = self._database.query("SELECT id, body FROM requests ORDER BY id")
        return [(number, decoded_request(body)) for number, body in rows]

    def commit(self, changes: Changes, now: float) -> None:
        """Write all changes, or none of them.

        Raises:
            StoreError: the disk is full or failed; nothing was written, and the next commit may
                carry the same changes.
        """
        with self._database.transaction() as db:
            _write(db, "files", "state", changes.files)
            _write(db, "traces", "state", changes.traces)
            _write(db, "groups", "state", changes.groups)
            _write(db, "incidents", "body", _encode_all(changes.incidents))
            _write(db, "silences", "body", _encode_all(changes.silences))
            if changes.engine is not None:
                db.execute("INSERT OR REPLACE INTO meta VALUES ('engine', ?)", (changes.engine,))
            db.executemany(
                "DELETE FROM requests WHERE id = ?", [(one,) for one in changes.done_requests]
            )
            for notice, targets in changes.notices:
                _enqueue(db, notice, targets, now)


def _enqueue(db: sqlite3.Connection, notice: Notice, targets: Sequence[str], now: float) -> None:
    if not targets:
        return
    made = db.execute(
        "INSERT INTO notices (body, created_at) VALUES (?, ?)",
        (pack(notice), now),
    )
    db.executemany(
        "INSERT INTO outbox (notice, target, next_attempt_at) VALUES (?, ?, ?)",
        [(made.lastrowid, target, now) for target in targets],
    )


def _write(
    db: sqlite3.Connection, table: str, column: str, rows: Mapping[str, bytes | None]
) -> None:
    kept = [(key, value) for key, value in rows.items() if value is not None]
    gone = [(key,) for key, value in rows.items() if value is None]
    if kept:
        db.executemany(f"INSERT OR REPLACE INTO {table} (id, {column}) VALUES (?, ?)", kept)
    if gone:
        db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)


def _encode_all(rows: Mapping[str, Any]) -> dict[str, bytes | None]:
    return {key: None if one is None else pack(one) for key, one in rows.items()}


def _decode_all(rows: Iterable[tuple[bytes]], kind: type[_Row]) -> list[_Row]:
    return [msgspec.msgpack.decode(body, type=kind) for (body,) in rows]
