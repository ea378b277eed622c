"""The notices that wait for their targets: what a notifier asks of its outbox."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lastsignal.edges.store.database import Database

_SELECT_ROW = (
    "SELECT o.id, o.target, n.body, o.attempts, o.next_attempt_at, o.error"
    " FROM outbox o JOIN notices n ON n.id = o.notice"
)
_DROP_NOTICES: tuple[str, tuple[Any, ...]] = (
    "DELETE FROM notices WHERE id NOT IN (SELECT notice FROM outbox)",
    (),
)
_FORGET_OLD_LETTERS = (
    "DELETE FROM outbox WHERE state = 'dead' AND id NOT IN"
    " (SELECT id FROM outbox WHERE state = 'dead' ORDER BY id DESC LIMIT ?)"
)
MAX_DEAD_LETTERS = 1000


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One notice on its way to one target."""

    id: int
    target: str
    payload: bytes
    """The notice, in MessagePack."""
    attempts: int
    next_attempt_at: float
    error: str | None


class Outbox:
    """The rows of the outbox; each method is one transaction, and raises StoreError if it fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pending(self, target: str, limit: int) -> list[OutboxRow]:
        """Return what waits for a target, oldest first."""
        rows = self._database.query(
            f"{_SELECT_ROW} WHERE o.target = ? AND o.state = 'pending' ORDER BY o.id LIMIT ?",
            (target, limit),
        )
        return [OutboxRow(*one) for one in rows]

    def backlog(self, target: str) -> int:
        """Return how many rows wait for a target."""
        query = "SELECT count(*) FROM outbox WHERE target = ? AND state = 'pending'"
        return int(self._database.query(query, (target,))[0][0])

    def dead_letters(self) -> list[OutboxRow]:
        """Return what no retry could deliver."""
        rows = self._database.query(f"{_SELECT_ROW} WHERE o.state = 'dead' ORDER BY o.id", ())
        return [OutboxRow(*one) for one in rows]

    def tally(self) -> dict[tuple[str, str], tuple[int, float]]:
        """Return how many rows there are by target and state, and when the oldest was made."""
        rows = self._database.query(
            "SELECT o.target, o.state, count(*), min(n.created_at)"
            " FROM outbox o JOIN notices n ON n.id = o.notice GROUP BY o.target, o.state"
        )
        return {(target, state): (count, oldest) for target, state, count, oldest in rows}

    def sent(self, row_id: int) -> None:
        """Take a delivered notice out of the outbox."""
        self._change(("DELETE FROM outbox WHERE id = ?", (row_id,)), _DROP_NOTICES)

    def retry(self, row_id: int, attempts: int, next_attempt_at: float, error: str) -> None:
        """Note a failed attempt and when to try again."""
        self._change(
            (
                "UPDATE outbox SET attempts = ?, next_attempt_at = ?, error = ? WHERE id = ?",
                (attempts, next_attempt_at, error, row_id),
            )
        )

    def dead(self, row_id: int, error: str) -> None:
        """Give a notice up after one more attempt; it stays visible as a dead letter."""
        self._bury(row_id, error, attempts=1)

    def _bury(self, row_id: int, error: str, *, attempts: int) -> None:
        self._change(
            (
                "UPDATE outbox SET state = 'dead', error = ?, attempts = attempts + ? WHERE id = ?",
                (error, attempts, row_id),
            ),
            (_FORGET_OLD_LETTERS, (MAX_DEAD_LETTERS,)),
            _DROP_NOTICES,
        )

    def abandon(self, targets: Sequence[str], made_before: float = math.inf) -> int:
        """Give up what waits for any but these targets; return how many rows that were.

        Args:
            targets: those that there are.
            made_before: epoch seconds; later messages may still find their target again.
        """
        names = ", ".join("?" * len(targets))
        query = (
            "SELECT o.id FROM outbox o JOIN notices n ON n.id = o.notice"
            f" WHERE o.state = 'pending' AND n.created_at < ? AND o.target NOT IN ({names})"
        )
        rows = [row_id for (row_id,) in self._database.query(query, (made_before, *targets))]
        for row_id in rows:
            self._bury(row_id, "there is no such target any more", attempts=0)
        return len(rows)

    def fold(self, row_ids: Sequence[int], payload: bytes) -> None:
        """Replace rows by one that stands where the first of them stood."""
        first, *others = row_ids
        self._change(
            (
                "INSERT INTO notices (body, created_at) SELECT ?, n.created_at"
                " FROM outbox o JOIN notices n ON n.id = o.notice WHERE o.id = ?",
                (payload, first),
            ),
            (
                "UPDATE outbox SET notice = last_insert_rowid(), attempts = 0, next_attempt_at = 0"
                " WHERE id = ?",
                (first,),
            ),
            *(("DELETE FROM outbox WHERE id = ?", (row_id,)) for row_id in others),
            _DROP_NOTICES,
        )

    def oldest_pending_at(self) -> float | None:
        """Return when the oldest unsent notice was made, None where there is none."""
        query = (
            "SELECT min(n.created_at) FROM outbox o JOIN notices n ON n.id = o.notice"
            " WHERE o.state = 'pending'"
        )
        oldest = self._database.query(query, ())[0][0]
        return None if oldest is None else float(oldest)

    def _change(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        with self._database.transaction() as db:
            for sql, values in statements:
                db.execute(sql, values)
