"""The daemon's memory on disk: one SQLite file in which everything changes together.

Offsets, the state of the rules, incidents and the outbox of notifications are written in one
transaction: after a kill at any instant the file holds one consistent moment of the past, whence
reading goes on. A file that is damaged, or from a newer version, is set aside and never loops.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from lastsignal.core.incidents import Incident, Notice, Silence
from lastsignal.errors import LastSignalError

SCHEMA_VERSION = 1
BUSY_TIMEOUT = 5.0  # seconds: `lastsignal incidents ack` writes while the daemon runs
FILE_NAME = "state.sqlite3"

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE files (id TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE traces (id TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE incidents (id TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE silences (id TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE notices (id INTEGER PRIMARY KEY, body BLOB NOT NULL, created_at REAL NOT NULL);
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    notice INTEGER NOT NULL REFERENCES notices (id) ON DELETE CASCADE,
    target TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at REAL NOT NULL,
    error TEXT
);
CREATE INDEX outbox_by_target ON outbox (target, state, id);
"""

_Row = TypeVar("_Row")

_MIGRATIONS: dict[int, str] = {}
"""SQL that leads from a version to the next one."""


class StoreError(LastSignalError):
    """The state directory cannot be used."""


@dataclass(slots=True)
class Changes:
    """What one commit writes."""

    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """State by file id; None forgets the file."""
    traces: Mapping[str, bytes | None] = field(default_factory=dict)
    """State by trace id; None forgets the trace."""
    engine: bytes | None = None
    """What the rules hold besides traces; None leaves it."""
    incidents: Mapping[str, Incident | None] = field(default_factory=dict)
    notices: Iterable[tuple[Notice, tuple[str, ...]]] = ()
    """Notices with the names of their targets."""


@dataclass(slots=True)
class Saved:
    """What a store held when it was opened."""

    files: dict[str, bytes]
    traces: list[bytes]
    engine: bytes | None
    incidents: list[Incident]
    silences: list[Silence]


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One notice on its way to one target."""

    id: int
    target: str
    notice: Notice
    attempts: int
    next_attempt_at: float
    error: str | None


class Store:
    """The open state file; one process at a time.

    Args:
        directory: where the file is; made if missing.
        on_trouble: told in words what was wrong with the file and what was done.

    Raises:
        StoreError: the directory cannot be written, or another instance holds it.
    """

    def __init__(self, directory: Path, on_trouble: Callable[[str], None]) -> None:
        self.path = directory / FILE_NAME
        self.set_aside: Path | None = None
        """Where a file that could not be used was moved to."""
        self._on_trouble = on_trouble
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _lock(directory / "lock")
        except OSError as error:
            raise StoreError(
                f"{directory}: the state directory cannot be used: {error.strerror};"
                " give another with --state-dir, or make it writable"
            ) from error
        self._db = self._open()

    def close(self) -> None:
        """Release the file and the lock."""
        self._db.close()
        self._lock.close()

    def load(self) -> Saved:
        """Return everything that was committed."""
        query = self._db.execute
        engine = query("SELECT value FROM meta WHERE name = 'engine'").fetchone()
        return Saved(
            files=dict(query("SELECT id, state FROM files")),
            traces=[state for (state,) in query("SELECT state FROM traces ORDER BY id")],
            engine=engine[0] if engine else None,
            incidents=_decode_all(query("SELECT body FROM incidents ORDER BY id"), Incident),
            silences=_decode_all(query("SELECT body FROM silences ORDER BY id"), Silence),
        )

    def commit(self, changes: Changes, now: float) -> None:
        """Write all changes, or none of them.

        Raises:
            StoreError: the disk is full or failed; nothing was written, and the next commit may
                carry the same changes.
        """
        try:
            with self._db:
                _write(self._db, "files", "state", changes.files)
                _write(self._db, "traces", "state", changes.traces)
                bodies = {
                    key: None if one is None else msgspec.msgpack.encode(one)
                    for key, one in changes.incidents.items()
                }
                _write(self._db, "incidents", "body", bodies)
                if changes.engine is not None:
                    self._db.execute(
                        "INSERT OR REPLACE INTO meta VALUES ('engine', ?)", (changes.engine,)
                    )
                for notice, targets in changes.notices:
                    self._enqueue(notice, targets, now)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: the state cannot be written: {error}") from error

    # -- the outbox ------------------------------------------------------------------------

    def pending(self, target: str, limit: int = 100) -> list[OutboxRow]:
        """Return what waits for a target, oldest first."""
        rows = self._db.execute(
            "SELECT o.id, o.target, n.body, o.attempts, o.next_attempt_at, o.error"
            " FROM outbox o JOIN notices n ON n.id = o.notice"
            " WHERE o.target = ? AND o.state = 'pending' ORDER BY o.id LIMIT ?",
            (target, limit),
        )
        return [_row(one) for one in rows]

    def dead(self) -> list[OutboxRow]:
        """Return the dead letters: what no retry could deliver."""
        rows = self._db.execute(
            "SELECT o.id, o.target, n.body, o.attempts, o.next_attempt_at, o.error"
            " FROM outbox o JOIN notices n ON n.id = o.notice WHERE o.state = 'dead' ORDER BY o.id"
        )
        return [_row(one) for one in rows]

    def mark_sent(self, row_id: int) -> None:
        """Take a delivered notice out of the outbox."""
        with self._db:
            self._db.execute("DELETE FROM outbox WHERE id = ?", (row_id,))
            self._db.execute("DELETE FROM notices WHERE id NOT IN (SELECT notice FROM outbox)")

    def mark_retry(self, row_id: int, attempts: int, next_attempt_at: float, error: str) -> None:
        """Note a failed attempt and when to try again."""
        with self._db:
            self._db.execute(
                "UPDATE outbox SET attempts = ?, next_attempt_at = ?, error = ? WHERE id = ?",
                (attempts, next_attempt_at, error, row_id),
            )

    def mark_dead(self, row_id: int, error: str) -> None:
        """Give a notice up; it stays visible as a dead letter."""
        with self._db:
            self._db.execute(
                "UPDATE outbox SET state = 'dead', error = ? WHERE id = ?", (error, row_id)
            )

    def oldest_pending_at(self) -> float | None:
        """Return when the oldest unsent notice was made, None where there is none."""
        row = self._db.execute(
            "SELECT min(n.created_at) FROM outbox o JOIN notices n ON n.id = o.notice"
            " WHERE o.state = 'pending'"
        ).fetchone()
        return float(row[0]) if row[0] is not None else None

    def put_silence(self, silence: Silence) -> None:
        """Keep a silence."""
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO silences VALUES (?, ?)",
                (silence.id, msgspec.msgpack.encode(silence)),
            )

    def _enqueue(self, notice: Notice, targets: tuple[str, ...], now: float) -> None:
        if not targets:
            return
        made = self._db.execute(
            "INSERT INTO notices (body, created_at) VALUES (?, ?)",
            (msgspec.msgpack.encode(notice), now),
        )
        self._db.executemany(
            "INSERT INTO outbox (notice, target, next_attempt_at) VALUES (?, ?, ?)",
            [(made.lastrowid, target, now) for target in targets],
        )

    # -- opening ---------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except (sqlite3.DatabaseError, _UnusableError) as error:
            self._set_aside(str(error))
        try:
            return self._connect()
        except (sqlite3.Error, _UnusableError) as error:
            raise StoreError(f"{self.path}: no state can be kept here: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        new = not self.path.exists() or self.path.stat().st_size == 0
        # check_same_thread: the event loop writes, workers of notifications read and mark
        db = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            if new:
                with db:
                    db.executescript(_SCHEMA)
                    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                self.path.chmod(0o600)
            else:
                _check(db)
        except BaseException:
            db.close()
            raise
        return db

    def _set_aside(self, why: str) -> None:
        number = 1
        while (target := self.path.with_suffix(f".damaged-{number}")).exists():
            number += 1
        for suffix in ("", "-wal", "-shm"):
            path = self.path.with_name(self.path.name + suffix)
            if path.exists():
                path.rename(target.with_name(target.name + suffix))
        self.set_aside = target
        self._on_trouble(
            f"{self.path}: the state cannot be used ({why}); it was set aside as {target.name},"
            " and reading starts afresh"
        )


class _UnusableError(Exception):
    """The file is sound and not for this version."""


def _check(db: sqlite3.Connection) -> None:
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise _UnusableError(f"damaged: {found}")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise _UnusableError(f"written by a newer Last Signal, schema {version}")
    while version < SCHEMA_VERSION:
        if version not in _MIGRATIONS:
            raise _UnusableError(f"schema {version} is unknown")
        with db:
            db.executescript(_MIGRATIONS[version])
            version += 1
            db.execute(f"PRAGMA user_version = {version}")


def _lock(path: Path) -> IO[bytes]:
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise StoreError(
            f"{path.parent}: another lastsignal uses this state directory;"
            " stop it, or give this one its own with --state-dir"
        ) from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n".encode())
    file.flush()
    return file


def _write(
    db: sqlite3.Connection, table: str, column: str, rows: Mapping[str, bytes | None]
) -> None:
    kept = [(key, value) for key, value in rows.items() if value is not None]
    gone = [(key,) for key, value in rows.items() if value is None]
    if kept:
        db.executemany(f"INSERT OR REPLACE INTO {table} (id, {column}) VALUES (?, ?)", kept)
    if gone:
        db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)


def _decode_all(rows: Iterable[tuple[bytes]], kind: type[_Row]) -> list[_Row]:
    return [msgspec.msgpack.decode(body, type=kind) for (body,) in rows]


def _row(values: tuple[int, str, bytes, int, float, str | None]) -> OutboxRow:
    row_id, target, body, attempts, next_attempt_at, error = values
    notice = msgspec.msgpack.decode(body, type=Notice)
    return OutboxRow(row_id, target, notice, attempts, next_attempt_at, error)
