"""The SQLite file: locked, checked, set aside where it cannot be used."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lastsignal.errors import LastSignalError

SCHEMA_VERSION = 2
BUSY_TIMEOUT = 5.0  # seconds: `lastsignal incidents` reads while the daemon runs
FILE_NAME = "state.sqlite3"

_GROUPS = "CREATE TABLE groups (id TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;"
_SCHEMA = f"""
BEGIN;
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE files (id TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE traces (id TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
{_GROUPS}
CREATE TABLE incidents (id TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE silences (id TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE notices (id INTEGER PRIMARY KEY, body BLOB NOT NULL, created_at REAL NOT NULL);
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    notice INTEGER NOT NULL REFERENCES notices (id) ON DELETE CASCADE,
    target TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt_at REAL NOT NULL,
    error TEXT
);
CREATE TABLE requests (id INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
CREATE INDEX outbox_by_target ON outbox (target, state, id);
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_MIGRATIONS: dict[int, str] = {1: _GROUPS}
"""SQL that leads from a version to the next one."""


class StoreError(LastSignalError):
    """The state directory cannot be used."""


class Database:
    """The open state file; one process at a time, and one transaction.

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
        self._one_at_a_time = threading.Lock()
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _lock(directory / "lock")
        except OSError as error:
            raise StoreError(
                f"{directory}: the state directory cannot be used: {error.strerror};"
                " give another with --state-dir, or make it writable"
            ) from error
        try:
            self._db = self._open()
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Release the file and the lock."""
        self._db.close()
        self._lock.close()

    def begin_anew(self, why: str) -> None:
        """Set the file aside, which can be read and makes no sense, and go on with an empty one.

        Raises:
            StoreError: that cannot be made.
        """
        self._db.close()
        self._set_aside(why)
        try:
            self._db = self._connect()
        except (sqlite3.Error, _UnusableError) as error:
            raise self._no_state(error) from error

    def size(self) -> int:
        """Return the bytes that it takes on the disk."""
        paths = (self.path, self.path.with_name(f"{FILE_NAME}-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())

    def query(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return the rows of a SELECT.

        Raises:
            StoreError: the file cannot be read.
        """
        try:
            with self._one_at_a_time:
                return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: the state cannot be read: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Change everything within, or nothing.

        Raises:
            StoreError: the disk is full or failed; nothing was written.
        """
        self._check_place()
        try:
            with self._one_at_a_time, self._db:
                yield self._db
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: the state cannot be written: {error}") from error

    def _check_place(self) -> None:
        """Refuse to write to a file that somebody has taken away: nothing of it would remain."""
        try:
            info = self.path.stat()
        except OSError as error:
            why = "somebody has removed it" if isinstance(error, FileNotFoundError) else str(error)
            raise StoreError(f"{self.path}: the state cannot be written: {why}; restart") from error
        if (info.st_dev, info.st_ino) != self._key:
            raise StoreError(f"{self.path}: the state cannot be written: it was replaced; restart")

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except _UnusableError as error:
            self._set_aside(str(error))
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF not in _DAMAGE:  # a full disk spoils no state
                raise self._no_state(error) from error
            self._set_aside(str(error))
        try:
            return self._connect()
        except (sqlite3.Error, _UnusableError) as error:
            raise self._no_state(error) from error

    def _no_state(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.path}: no state can be kept here: {error}; make room on the disk and the"
            " directory writable, or give another with --state-dir"
        )

    def _connect(self) -> sqlite3.Connection:
        # check_same_thread: the event loop writes, workers of notifications read and mark
        db = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                db.executescript(_SCHEMA)  # all of it or nothing, whenever the process is killed
                self.path.chmod(0o600)
            else:
                _check(db)
        except BaseException:
            db.close()
            raise
        info = self.path.stat()
        self._key = info.st_dev, info.st_ino
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
        step, version = _MIGRATIONS[version], version + 1
        # one transaction: a kill in its midst leaves the former version
        db.executescript(f"BEGIN; {step}; PRAGMA user_version = {version}; COMMIT;")


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
