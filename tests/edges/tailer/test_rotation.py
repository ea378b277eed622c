"""Files that are renamed, deleted and made anew while they are read, or before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lastsignal.edges.tailer import State, TroubleKind


def shift(path: Path, keep: int) -> None:
    """Rotate as logrotate does: app.log.1 → app.log.2, app.log → app.log.1."""
    for number in range(keep, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        if older.exists():
            older.rename(path.with_name(f"{path.name}.{number + 1}"))
    path.rename(path.with_name(f"{path.name}.1"))


@pytest.mark.parametrize("pattern", ["app.jsonl", "."])
async def test_several_fast_rotations_behind_a_slow_consumer_lose_nothing(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, pattern: str
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 5000))
    async with tailing(tmp_path / pattern, chunk_bytes=4096, buffer=0) as sink:
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()
        for round_ in range(1, 5):
            shift(path, 9)
            append(path, numbered(round_ * 5000, (round_ + 1) * 5000))
        await sink.until_stats(lambda stats: stats.pending_files >= 5)
        sink.resume()
        await sink.until_lines(numbered(0, 25_000).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 25_000)
    assert len(sink.files) == 5


async def test_rotations_that_delete_the_oldest_behind_a_slow_consumer_lose_nothing(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 5000))
    async with tailing(path, chunk_bytes=4096, buffer=0) as sink:
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()
        for round_ in range(1, 4):
            (tmp_path / "app.jsonl.1").unlink(missing_ok=True)
            path.rename(tmp_path / "app.jsonl.1")
            append(path, numbered(round_ * 5000, (round_ + 1) * 5000))
            await sink.until_stats(lambda stats: stats.open_files == round_ + 1)  # noqa: B023
        assert sink.tailer.stats().deleted_open_files == 2
        sink.resume()
        await sink.until_lines(numbered(0, 20_000).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 20_000)


async def test_a_writer_that_goes_on_in_the_renamed_file_is_followed(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    with path.open("ab", buffering=0) as writer:
        async with tailing(path) as sink:
            writer.write(numbered(0, 10, "old"))
            await sink.until_file("app.jsonl", numbered(0, 10, "old"))
            path.rename(tmp_path / "elsewhere.txt")
            append(path, numbered(0, 10, "new"))
            await sink.until_file("app.jsonl", numbered(0, 10, "new"))
            writer.write(numbered(10, 20, "old"))
            await sink.until_file("elsewhere.txt", numbered(0, 20, "old"))
            await sink.drain()
    assert len(sink.files) == 2


async def test_a_writer_that_goes_on_in_the_deleted_file_is_followed_until_it_is_quiet(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    with path.open("ab", buffering=0) as writer:
        async with tailing(path, wait_after_rename=1.0) as sink:
            writer.write(numbered(0, 10, "old"))
            await sink.until_file("app.jsonl", numbered(0, 10, "old"))
            path.unlink()
            await sink.until_stats(lambda stats: stats.deleted_open_files == 1)
            writer.write(numbered(10, 20, "old"))
            await sink.until_file("app.jsonl", numbered(0, 20, "old"))
            await sink.until(lambda: set(sink.states.values()) == {State.GONE})
            assert sink.tailer.stats().open_files == 0
            await sink.drain()
    assert sink.text == numbered(0, 20, "old")
    assert not sink.troubles


async def test_a_file_moved_to_another_folder_is_read_to_its_last_byte(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    (tmp_path / "archive").mkdir()
    path = tmp_path / "app.jsonl"
    with path.open("ab", buffering=0) as writer:
        async with tailing(path, wait_after_rename=1.0) as sink:
            writer.write(numbered(0, 10))
            await sink.until_file("app.jsonl", numbered(0, 10))
            path.rename(tmp_path / "archive" / "app.jsonl")
            writer.write(numbered(10, 20))
            await sink.until_file("app.jsonl", numbered(0, 20))
            await sink.until(lambda: set(sink.states.values()) == {State.GONE})
            await sink.drain()


async def test_rotation_while_the_consumer_stands_still_loses_nothing(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 2000))
    async with tailing(path, chunk_bytes=1024, buffer=0) as sink:
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()
        path.rename(tmp_path / "app.jsonl.1")
        append(tmp_path / "app.jsonl.1", numbered(2000, 3000))
        append(path, numbered(3000, 4000))
        await sink.until_stats(lambda stats: stats.open_files == 2)
        (tmp_path / "app.jsonl.1").unlink()
        sink.resume()
        await sink.until_lines(numbered(0, 4000).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 4000)


async def test_deleted_files_that_are_held_open_are_capped_and_told_of(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    async with tailing(
        tmp_path, chunk_bytes=16, buffer=0, max_deleted_files=2, fingerprint_bytes=16
    ) as sink:
        append(tmp_path / "first.jsonl", numbered(0, 1000, "first"))
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()
        for number in range(4):
            append(tmp_path / f"{number}.jsonl", numbered(0, 10, f"file{number}"))
        await sink.until_stats(lambda stats: stats.open_files == 5)
        for number in range(4):
            (tmp_path / f"{number}.jsonl").unlink()
        await sink.until(lambda: sink.kinds().count(TroubleKind.DELETED_DROPPED) == 2)
        assert sink.tailer.stats().deleted_open_files == 2
        sink.resume()
        await sink.drain()
    whole = {content for _, content in sink.files}
    assert numbered(0, 1000, "first") in whole
    assert sum(numbered(0, 10, f"file{number}") in whole for number in range(4)) == 2


async def test_a_file_that_is_deleted_and_made_anew_is_two_files(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    path = tmp_path / "app.jsonl"
    async with tailing(path, wait_after_rename=0.3) as sink:
        for round_ in range(4):
            path.write_bytes(b"header\n" + numbered(0, 100, f"round{round_}"))
            await sink.until_file("app.jsonl", b"header\n" + numbered(0, 100, f"round{round_}"))
            path.unlink()
        path.write_bytes(b"header\n")
        await sink.until_file("app.jsonl", b"header\n")
        await sink.until(lambda: sum(state is State.GONE for state in sink.states.values()) == 4)
        await sink.drain()
    assert len(sink.files) == 5


async def test_a_file_replaced_by_one_that_holds_it_and_more_goes_on(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    """As rsync and editors write: nothing is read twice."""
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 500))
    async with tailing(path, fingerprint_bytes=256) as sink:
        for stop in (1000, 1500):
            append(tmp_path / ".new", numbered(0, stop))
            await sink.until_at_end("app.jsonl")
            (tmp_path / ".new").rename(path)
            await sink.until_file("app.jsonl", numbered(0, stop))
        await sink.drain()
    assert len(sink.files) == 1


async def test_hard_links_are_read_once(tmp_path: Path, tailing: Any, numbered: Any) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_bytes(numbered(0, 10))
    async with tailing(tmp_path) as sink:
        await sink.until_file("one.jsonl", numbered(0, 10))
        os.link(one, other)
        with other.open("ab") as writer:
            writer.write(numbered(10, 20))
        await sink.until_file("one.jsonl", numbered(0, 20))
        one.unlink()
        with other.open("ab") as writer:
            writer.write(numbered(20, 30))
        await sink.until_lines(numbered(0, 30).splitlines())
        await sink.drain()
    assert len(sink.files) == 1


async def test_hard_links_that_appear_at_once_are_read_once(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    async with tailing(tmp_path, scan_interval=3600) as sink:
        append(tmp_path / "a.jsonl", numbered(0, 10))
        os.link(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
        append(tmp_path / "b.jsonl", numbered(10, 20))
        await sink.until_lines(numbered(0, 20).splitlines())
        await sink.drain()
    assert len(sink.files) == 1
