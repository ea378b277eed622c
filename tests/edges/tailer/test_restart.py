"""What a tailer does with the checkpoints that its consumer has kept."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lastsignal.edges.tailer import FileCheckpoint, State, TroubleKind


async def test_after_a_restart_reading_goes_on_where_it_stood(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        append(tmp_path / name, numbered(0, 10, name))
    async with tailing(tmp_path) as sink:
        await sink.until_lines(
            (numbered(0, 10, "a.jsonl") + numbered(0, 10, "b.jsonl")).splitlines()
        )
        await sink.drain()
    append(tmp_path / "a.jsonl", numbered(10, 20, "a.jsonl"))
    append(tmp_path / "new.jsonl", numbered(0, 10, "new"))
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_lines((numbered(10, 20, "a.jsonl") + numbered(0, 10, "new")).splitlines())
        await again.until_at_end("b.jsonl")
        await again.drain()
    assert set(sink.contents) < set(again.contents)


async def test_a_checkpoint_survives_being_written_down(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    append(tmp_path / "a.jsonl", numbered(0, 10))
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", numbered(0, 10))
        await sink.drain()
    (known,) = sink.checkpoints.values()
    written = msgspec.json.encode(known)
    assert msgspec.json.decode(written, type=FileCheckpoint) == known


async def test_a_line_that_was_delivered_in_part_is_delivered_again_whole(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    append(path, b"whole\npart")
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", b"whole\npart")
        await sink.drain()
    known = [one.resume_at(len(b"whole\n")) for one in sink.checkpoints.values()]
    append(path, b" and rest\n")
    async with tailing(tmp_path, checkpoints=known) as again:
        await again.until_file("a.jsonl", b"part and rest\n")
        await again.drain()
    assert again.pieces[0].offset == len(b"whole\n")


@pytest.mark.parametrize("offset", [0, 1, 1000, 40_000, 98_890])
async def test_from_wherever_the_consumer_stopped_each_byte_behind_it_comes_once(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, offset: int
) -> None:
    """A kill at any instant leaves the last checkpoint that was committed."""
    path = tmp_path / "a.jsonl"
    append(path, numbered(0, 10_000))
    async with tailing(tmp_path, chunk_bytes=10_000) as sink:
        await sink.until_file("a.jsonl", numbered(0, 10_000))
        await sink.drain()
    behind = [piece.checkpoint for piece in sink.pieces if piece.checkpoint.read >= offset]
    path.rename(tmp_path / "a.jsonl.1")
    append(path, b"next\n")
    async with tailing(path, checkpoints=[behind[0].resume_at(offset)]) as again:
        await again.until(lambda: again.text.endswith(b"next\n"))
        await again.drain()
    assert again.text == numbered(0, 10_000)[offset:] + b"next\n"


@pytest.mark.parametrize("rotations", [1, 2, 4])
@pytest.mark.parametrize("pattern", ["app.jsonl", "."])
async def test_rotations_while_the_daemon_was_down_give_the_old_before_the_new(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, rotations: int, pattern: str
) -> None:
    path = tmp_path / "app.jsonl"
    append(tmp_path / "app.jsonl.1", numbered(0, 100, "before"))
    append(path, numbered(0, 1000))
    async with tailing(path) as sink:
        await sink.until_lines(numbered(0, 1000).splitlines())
        await sink.drain()
    append(path, numbered(1000, 2000))
    for round_ in range(rotations):
        for number in range(9, 0, -1):
            older = tmp_path / f"app.jsonl.{number}"
            if older.exists():
                older.rename(tmp_path / f"app.jsonl.{number + 1}")
        path.rename(tmp_path / "app.jsonl.1")
        append(path, numbered(2000 + round_ * 1000, 3000 + round_ * 1000))
    until = 2000 + rotations * 1000
    async with tailing(path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_lines(numbered(1000, until).splitlines())
        await again.drain()
    assert again.text == numbered(1000, until)


async def test_copytruncate_while_the_daemon_was_down_gives_the_rest_from_the_copy(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 1000))
    async with tailing(path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 1000))
        await sink.drain()
    append(path, numbered(1000, 2000))
    shutil.copy(path, tmp_path / "app.jsonl.1")
    os.truncate(path, 0)
    append(path, numbered(2000, 6000))
    async with tailing(path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_lines(numbered(1000, 6000).splitlines())
        await again.drain()
    assert again.text == numbered(1000, 6000)
    assert not again.troubles


async def test_a_file_renamed_beyond_recognition_while_the_daemon_was_down_is_found(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 10))
    async with tailing(path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 10))
        await sink.drain()
    append(path, numbered(10, 20))
    path.rename(tmp_path / "something else")
    async with tailing(path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_file("something else", numbered(10, 20))
        await again.drain()


async def test_a_file_on_a_disk_that_is_numbered_anew_goes_on(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    append(tmp_path / "a.jsonl", numbered(0, 10))
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", numbered(0, 10))
        await sink.drain()
    known = [
        msgspec.structs.replace(one, device=one.device + 1) for one in sink.checkpoints.values()
    ]
    append(tmp_path / "a.jsonl", numbered(10, 20))
    async with tailing(tmp_path, checkpoints=known) as again:
        await again.until_file("a.jsonl", numbered(10, 20))
        await again.drain()


async def test_a_file_copied_to_another_disk_goes_on(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    append(path, numbered(0, 1000))
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", numbered(0, 1000))
        await sink.drain()
    (tmp_path / ".copy").write_bytes(path.read_bytes() + numbered(1000, 1100))
    (tmp_path / ".copy").rename(path)
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_file("a.jsonl", numbered(1000, 1100))
        await again.drain()


async def test_a_file_that_is_gone_after_a_restart_is_told_once(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    append(tmp_path / "a.jsonl", numbered(0, 10))
    append(tmp_path / "b.jsonl", numbered(0, 10, "b"))
    async with tailing(tmp_path) as sink:
        await sink.until(lambda: len(sink.lines) == 20)
        await sink.drain()
    (tmp_path / "a.jsonl").unlink()
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until(lambda: State.GONE in again.states.values())
        await again.drain()
    assert again.kinds() == [TroubleKind.LOST]
    assert [again.names[one] for one in again.checkpoints] == ["b.jsonl"]


async def test_without_checkpoints_everything_is_read_from_the_start(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    """A store that was damaged and set aside costs duplicates, never a loss."""
    append(tmp_path / "a.jsonl", numbered(0, 10))
    for _ in range(2):
        async with tailing(tmp_path) as sink:
            await sink.until_file("a.jsonl", numbered(0, 10))
            await sink.drain()


async def test_checkpoints_can_be_left_aside(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    append(tmp_path / "a.jsonl", numbered(0, 10))
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", numbered(0, 10))
        await sink.drain()
    append(tmp_path / "a.jsonl", numbered(10, 20))
    known = list(sink.checkpoints.values())
    async with tailing(tmp_path, checkpoints=known, start="start") as again:
        await again.until_file("a.jsonl", numbered(0, 20))
        await again.drain()
    async with tailing(tmp_path, checkpoints=known, start="end") as again:
        await again.until_at_end("a.jsonl")
        await again.drain()
    assert again.text == b""


async def test_a_compressed_file_is_not_unpacked_again_after_a_restart(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, monkeypatch: Any
) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(numbered(0, 1000)))
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.gz", numbered(0, 1000))
        await sink.drain()
    monkeypatch.setattr(os, "pread", None)
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_at_end("a.gz")
        await again.drain()


async def test_two_tailers_on_one_file_read_it_independently(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    """That only one writes the checkpoints is for the lock of their store to see to."""
    async with tailing(tmp_path) as one, tailing(tmp_path) as other:
        append(tmp_path / "a.jsonl", numbered(0, 1000))
        await one.until_file("a.jsonl", numbered(0, 1000))
        await other.until_file("a.jsonl", numbered(0, 1000))
        await one.drain()
        await other.drain()
