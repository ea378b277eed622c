"""Work that other processes do ahead: sooner, and nothing else is different."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from lastsignal.edges.inputs import Ahead, processors


@pytest.fixture(autouse=True)
def no_process_remains() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def doubled(number: int) -> Iterator[bytes]:
    """Be sooner done with what comes later."""
    time.sleep((7 - number % 8) / 200)
    yield str(number).encode()
    yield str(2 * number).encode()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def taken(ahead: Ahead, numbers: Iterable[int]) -> list[list[bytes]]:
    return [list(ahead.take(number)) for number in numbers]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_pieces_come_in_the_order_in_which_they_are_taken(jobs: int) -> None:
    with Ahead(doubled, range(40), jobs) as ahead:
        assert taken(ahead, range(40)) == [
            [str(number).encode(), str(2 * number).encode()] for number in range(40)
        ]


def test_what_is_not_offered_or_refused_or_fails_is_left_to_who_takes_it() -> None:
    def work(number: int) -> Iterator[bytes]:
        if number == 3:
            return
        yield b"begun"
        if number == 4:
            raise OSError("gone")
        yield b"done"

    with Ahead(work, [1, 3, 4, 5], 2) as ahead:
        assert taken(ahead, range(6)) == [
            [], [b"begun", b"done"], [], [], [b"begun"], [b"begun", b"done"],
        ]  # fmt: skip


@pytest.mark.parametrize(("numbers", "jobs"), [([], 2), ([1, 2, 3], 0)])
def test_where_it_is_not_worth_it_there_is_no_process(numbers: list[int], jobs: int) -> None:
    with Ahead(doubled, numbers, jobs) as ahead:
        assert multiprocessing.active_children() == []
        assert taken(ahead, numbers) == [[]] * len(numbers)


def test_no_more_is_done_ahead_than_may_wait(tmp_path: Path) -> None:
    def work(number: int) -> Iterator[bytes]:
        (tmp_path / str(number)).touch()
        yield b"done"

    with Ahead(work, range(100), 2) as ahead:
        assert list(ahead.take(0)) == [b"done"]
        time.sleep(0.5)
        assert 2 <= len(list(tmp_path.iterdir())) <= 9
        assert taken(ahead, range(1, 100)) == [[b"done"]] * 99


def test_so_it_is_within_one_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastsignal.edges.inputs.ahead.WAITING_BYTES", 10_000_000)

    def work(number: int) -> Iterator[bytes]:
        for piece in range(30):
            (tmp_path / f"{number}-{piece}").touch()
            yield b"x" * 1_000_000

    with Ahead(work, range(2), 2) as ahead:
        first, second = ahead.take(0), ahead.take(1)
        assert len(next(first)) == 1_000_000
        time.sleep(0.5)
        begun = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
        assert begun.count("0") < 15
        assert begun.count("1") < 15
        assert (len(list(first)), len(list(second))) == (29, 30)


def test_one_large_task_does_not_keep_the_next_one_waiting() -> None:
    def work(number: int) -> Iterator[bytes]:
        yield str(os.getpid()).encode()

    with Ahead(work, range(2), 2) as ahead:
        (first,), (second,) = taken(ahead, range(2))

    assert first != second


def test_a_process_that_dies_takes_no_more_with_it_than_it_had_to_do() -> None:
    def work(number: int) -> Iterator[bytes]:
        yield b"begun"
        if number == 5:
            time.sleep(0.1)  # what it has sent has arrived
            die()
        yield b"done"

    with Ahead(work, range(20), 2) as ahead:
        found = taken(ahead, range(20))

    assert found[5] == [b"begun"]
    assert found.count([b"begun", b"done"]) >= 18  # it had been given one more at most


def test_what_nobody_wants_is_left_and_what_follows_comes() -> None:
    def work(number: int) -> Iterator[bytes]:
        yield str(number).encode()
        if number == 2:
            time.sleep(60)

    began = time.monotonic()
    with Ahead(work, range(6), 2) as ahead:
        assert taken(ahead, [0]) == [[b"0"]]
        ahead.leave(1)
        ahead.leave(2)
        found = taken(ahead, range(3, 6))
        ahead.leave(6)  # of which nothing is known

    for number, pieces in enumerate(found, 3):
        assert pieces in ([], [str(number).encode()])
    assert time.monotonic() - began < 10


def test_all_processes_may_die() -> None:
    def work(number: int) -> Iterator[bytes]:
        die()
        yield b"never"

    with Ahead(work, range(9), 3) as ahead:
        assert taken(ahead, range(9)) == [[]] * 9


def test_a_process_in_the_middle_of_its_work_is_ended_at_once() -> None:
    def work(number: int) -> Iterator[bytes]:
        time.sleep(60)
        yield b"late"

    began = time.monotonic()
    with Ahead(work, range(4), 2):
        pass

    assert time.monotonic() - began < 10


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes cannot be forked")
@pytest.mark.parametrize(
    ("written", "most"),
    [("max 100000", 99), ("100000 100000", 1), ("50000 100000", 1), ("250000 100000", 2), ("", 99)],
)
def test_no_more_processors_count_than_the_container_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, most: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    (tmp_path / "cpu.max").write_text(written + "\n")

    assert processors(tmp_path / "cpu.max") == min(16, most)
    assert processors(tmp_path / "none") == 16
