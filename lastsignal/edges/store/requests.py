"""What people ask of the daemon through its state file, and what they may look at in it.

The daemon holds the truth in memory: who acknowledges or silences something leaves a request, which
it carries out within about a second, or at its next start.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from lastsignal.core.incidents import Incident, Notice, Silence
from lastsignal.edges.store.database import BUSY_TIMEOUT, FILE_NAME, StoreError


class Acknowledge(msgspec.Struct, frozen=True, tag="acknowledge"):
    """Take an incident as known."""

    incident_id: str


class StartSilence(msgspec.Struct, frozen=True, tag="silence"):
    """Tell nobody of what the silence matches."""

    silence: Silence


class EndSilence(msgspec.Struct, frozen=True, tag="end_silence"):
    """End a silence."""

    silence_id: str


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A notice on its way to a target, or given up."""

    target: str
    is_dead: bool
    attempts: int
    error: str
    created_at: float
    notice: Notice


AnyRequest = Acknowledge | StartSilence | EndSilence
Request = AnyRequest


def decoded_request(body: bytes) -> Request | None:
    """Return a request; None for what another version of the command has asked for."""
    try:
        return msgspec.msgpack.decode(body, type=AnyRequest)
    except msgspec.MsgspecError:
        return None


class StateReader:
    """Looks into a state file that a daemon may be writing.

    Args:
        directory: the state directory.

    Raises:
        StoreError: there is no state, or it cannot be read.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / FILE_NAME
        if not path.is_file():
            raise StoreError(
                f"{directory}: no state here; name the daemon's directory with --state-dir,"
                " or start `lastsignal watch`"
            )
        self._path = path

    def incidents(self) -> list[Incident]:
        """Return all incidents that are kept."""
        bodies = self._run("SELECT body FROM incidents ORDER BY id")
        return [msgspec.msgpack.decode(body, type=Incident) for (body,) in bodies]

    def silences(self) -> list[Silence]:
        """Return all silences, with what was asked for and the daemon has not taken yet."""
        bodies = self._run("SELECT body FROM silences ORDER BY id")
        kept = [msgspec.msgpack.decode(body, type=Silence) for (body,) in bodies]
        found = {one.id: one for one in kept}
        for (body,) in self._run("SELECT body FROM requests ORDER BY id"):
            match decoded_request(body):
                case StartSilence(silence):
                    found[silence.id] = silence
                case EndSilence(silence_id):
                    found.pop(silence_id, None)
        return list(found.values())

    def messages(self) -> list[StoredMessage]:
        """Return what is yet to be sent and what no retry could deliver, the oldest first."""
        rows = self._run(
            "SELECT o.target, o.state = 'dead', o.attempts, coalesce(o.error, ''), n.created_at,"
            " n.body FROM outbox o JOIN notices n ON n.id = o.notice ORDER BY n.created_at, o.id"
        )
        found: list[StoredMessage] = []
        for target, is_dead, attempts, error, created_at, body in rows:
            notice = msgspec.msgpack.decode(body, type=Notice)
            found.append(StoredMessage(target, bool(is_dead), attempts, error, created_at, notice))
        return found

    def submit(self, request: Request) -> None:
        """Leave a request for the daemon."""
        self._run("INSERT INTO requests (body) VALUES (?)", msgspec.msgpack.encode(request))

    def _run(self, sql: str, *values: bytes) -> list[Any]:
        try:
            database = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT)
            try:
                with database:
                    return database.execute(sql, values).fetchall()
            finally:
                database.close()
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot be used: {error}") from error
