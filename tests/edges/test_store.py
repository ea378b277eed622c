"""The state file: everything at once or nothing, its versions, and the messages in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lastsignal.core.incidents import Incident, Notice, Silence
from lastsignal.edges.store import (
    Acknowledge,
    Changes,
    EndSilence,
    StartSilence,
    StateReader,
    Store,
    StoreError,
    database,
)

NOW = 1_800_000_000.0


def incident(name: str = "a") -> Incident:
    return Incident(
        id=f"id-{name}",
        rule="fails",
        severity="critical",
        category="test",
        trace_id=f"trace-{name}",
        title="A tool fails",
        summary=f"{name} failed",
        cause="It broke.",
        remedy="Mend it.",
        group={"trace_id": f"trace-{name}"},
        count=1,
        first_seen=NOW,
        last_seen=NOW,
        opened_at=NOW,
        updated_at=NOW,
    )


def notice(name: str = "a") -> Notice:
    return Notice(kind="opened", created_at=NOW, incidents=[incident(name)], total=1)


@pytest.fixture
def said() -> list[str]:
    """Return what the store has complained of."""
    return []


@pytest.fixture
def store(tmp_path: Path, said: list[str]) -> Iterator[Store]:
    """Return an open store."""
    one = Store(tmp_path / "state", said.append)
    yield one
    one.close()


def reopened(store: Store, tmp_path: Path, said: list[str]) -> Store:
    store.close()
    return Store(tmp_path / "state", said.append)


def test_a_commit_is_there_after_a_restart(store: Store, tmp_path: Path, said: list[str]) -> None:
    silence = Silence(id="s", matchers={"rule": "fails"}, until=NOW)
    changes = Changes(
        files={"f": b"1", "g": b"2"},
        traces={"t": b"3"},
        groups={"g": b"5", "h": b"6"},
        engine=b"4",
        incidents={"id-a": incident()},
        silences={"s": silence},
        notices=[(notice(), ["chat", "mail"])],
    )
    store.commit(changes, NOW)
    store.commit(Changes(files={"g": None}, groups={"h": None}), NOW)
    again = reopened(store, tmp_path, said)
    saved = again.load()
    waiting = [len(again.outbox.pending(name, 9)) for name in ("chat", "mail", "none")]
    again.close()

    assert (saved.files, saved.traces, saved.engine) == ({"f": b"1"}, [b"3"], b"4")
    assert saved.groups == [b"5"]
    assert (saved.incidents, saved.silences) == ([incident()], [silence])
    assert waiting == [1, 1, 0]
    assert said == []


def test_a_commit_that_fails_changes_nothing(store: Store) -> None:
    store.commit(Changes(files={"f": b"old"}), NOW)
    broken = Changes(files={"f": b"new"}, traces={"t": {"no": "bytes"}})  # type: ignore[dict-item]
    with pytest.raises(StoreError):
        store.commit(broken, NOW)

    assert store.load().files == {"f": b"old"}


def test_requests_wait_until_they_are_carried_out(store: Store, tmp_path: Path) -> None:
    asked = [
        Acknowledge("id-a"),
        StartSilence(Silence(id="s", matchers={}, until=NOW)),
        EndSilence("s"),
    ]
    reader = StateReader(tmp_path / "state")
    for one in asked:
        reader.submit(one)
    numbers, requests = zip(*store.requests(), strict=True)

    assert list(requests) == asked
    store.commit(Changes(done_requests=numbers[:2]), NOW)
    assert store.requests() == [(numbers[2], asked[2])]


class TestOutbox:
    @pytest.fixture(autouse=True)
    def _three_messages(self, store: Store) -> None:
        notices = [(notice(name), ["chat"]) for name in "abc"]
        store.commit(Changes(notices=notices), NOW)

    def waiting(self, store: Store) -> list[str]:
        rows = store.outbox.pending("chat", 9)
        found = [msgspec.msgpack.decode(row.payload, type=Notice) for row in rows]
        return [one.incidents[0].id for one in found]

    def test_what_is_sent_is_gone(self, store: Store) -> None:
        store.outbox.sent(store.outbox.pending("chat", 1)[0].id)

        assert self.waiting(store) == ["id-b", "id-c"]

    def test_what_is_given_up_stays_to_be_seen(self, store: Store, tmp_path: Path) -> None:
        first = store.outbox.pending("chat", 1)[0]
        store.outbox.retry(first.id, 1, NOW + 5, "500")
        store.outbox.dead(first.id, "404")
        shown = StateReader(tmp_path / "state").messages()

        assert self.waiting(store) == ["id-b", "id-c"]
        assert [(one.is_dead, one.attempts, one.error) for one in shown] == [
            (True, 2, "404"),
            (False, 0, ""),
            (False, 0, ""),
        ]
        assert shown[0].notice == notice("a")

    def test_only_so_many_dead_letters_are_kept(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("lastsignal.edges.store.outbox.MAX_DEAD_LETTERS", 2)
        for row in store.outbox.pending("chat", 9):
            store.outbox.dead(row.id, f"error {row.id}")

        assert [one.error for one in store.outbox.dead_letters()] == ["error 2", "error 3"]

    def test_what_waits_for_nobody_any_more_is_given_up(self, store: Store) -> None:
        store.commit(Changes(notices=[(notice("d"), ["mail"])]), NOW)

        assert store.outbox.abandon(["mail"], made_before=NOW) == 0
        assert store.outbox.abandon(["mail"], made_before=NOW + 1) == 3
        assert store.outbox.abandon(["mail"]) == 0
        assert self.waiting(store) == []
        assert [one.attempts for one in store.outbox.dead_letters()] == [0, 0, 0]
        assert store.outbox.backlog("mail") == 1

    def test_folding_puts_one_in_the_place_of_the_first(self, store: Store) -> None:
        first, second, _ = (row.id for row in store.outbox.pending("chat", 9))
        store.outbox.fold([first, second], msgspec.msgpack.encode(notice("both")))

        assert self.waiting(store) == ["id-both", "id-c"]


class TestVersions:
    def test_the_first_one_had_no_groups_of_their_own(
        self, store: Store, tmp_path: Path, said: list[str]
    ) -> None:
        store.commit(Changes(files={"f": b"1"}), NOW)
        store.close()
        with sqlite3.connect(tmp_path / "state" / "state.sqlite3") as former:
            former.executescript("DROP TABLE groups; PRAGMA user_version = 1")
        former.close()
        again = Store(tmp_path / "state", said.append)
        again.commit(Changes(groups={"g": b"2"}), NOW)
        saved = again.load()
        again.close()

        assert (saved.files, saved.groups, said) == ({"f": b"1"}, [b"2"], [])

    def test_an_older_one_is_brought_up_to_date(
        self, store: Store, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.commit(Changes(files={"f": b"1"}), NOW)
        monkeypatch.setattr(database, "SCHEMA_VERSION", 4)
        steps = {2: "CREATE TABLE more (x)", 3: "ALTER TABLE more ADD COLUMN y"}
        monkeypatch.setattr(database, "_MIGRATIONS", steps)
        again = reopened(store, tmp_path, said)
        files = again.load().files
        again.close()
        with sqlite3.connect(tmp_path / "state" / "state.sqlite3") as found:
            version = found.execute("PRAGMA user_version").fetchone()[0]
            found.execute("SELECT x, y FROM more")
        found.close()

        assert (files, version, said) == ({"f": b"1"}, 4, [])

    def test_a_step_that_fails_leaves_the_version_before_it(
        self, store: Store, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "SCHEMA_VERSION", 3)
        broken = {2: "CREATE TABLE more (x); CREATE TABLE files (y)"}
        monkeypatch.setattr(database, "_MIGRATIONS", broken)
        with pytest.raises(StoreError):
            reopened(store, tmp_path, said)
        monkeypatch.setattr(database, "_MIGRATIONS", {2: "CREATE TABLE more (x)"})
        again = Store(tmp_path / "state", said.append)
        again.close()

        assert said == []

    def test_one_that_nobody_knows_is_set_aside(
        self, store: Store, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.commit(Changes(files={"f": b"1"}), NOW)
        monkeypatch.setattr(database, "SCHEMA_VERSION", 3)
        monkeypatch.setattr(database, "_MIGRATIONS", {})
        again = reopened(store, tmp_path, said)
        files = again.load().files
        again.close()

        assert files == {}
        assert "schema 2 is unknown" in said[0]
        assert again.set_aside == tmp_path / "state" / "state.damaged-1"
