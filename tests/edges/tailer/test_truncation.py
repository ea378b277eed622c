"""Files whose content is cut away in place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lastsignal.edges.tailer import State, TroubleKind


@pytest.mark.parametrize("pattern", ["app.jsonl", "."])
async def test_copytruncate_again_and_again_loses_nothing_and_reads_no_copy(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, pattern: str
) -> None:
    path = tmp_path / "app.jsonl"
    async with tailing(tmp_path / pattern) as sink:
        for round_ in range(4):
            append(path, numbered(round_ * 1000, (round_ + 1) * 1000))
            await sink.until_lines(numbered(0, (round_ + 1) * 1000).splitlines())
            if round_:
                (tmp_path / "app.jsonl.1").rename(tmp_path / f"app.jsonl.{round_ + 1}")
            shutil.copy(path, tmp_path / "app.jsonl.1")
            os.truncate(path, 0)
        append(path, numbered(4000, 4001))
        await sink.until_lines(numbered(0, 4001).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 4001)
    assert not sink.troubles


@pytest.mark.parametrize("pattern", ["app.jsonl", "."])
async def test_what_was_not_read_before_copytruncate_is_read_from_the_copy(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, pattern: str
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 3000))
    async with tailing(tmp_path / pattern, chunk_bytes=2048, buffer=0) as sink:
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()
        shutil.copy(path, tmp_path / "app.jsonl.1")
        os.truncate(path, 0)
        append(path, numbered(3000, 4000))
        sink.resume()
        await sink.until_lines(numbered(0, 4000).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 4000)
    assert not sink.troubles


async def test_a_file_cut_and_grown_past_the_old_offset_is_begun_anew(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 100, "old"))
    async with tailing(path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 100, "old"))
        await sink.until_at_end("app.jsonl")
        with path.open("r+b") as writer:
            writer.truncate(0)
            writer.write(numbered(0, 1000, "new"))
        await sink.until_file("app.jsonl", numbered(0, 1000, "new"))
        await sink.until(lambda: State.TRUNCATED in sink.states.values())
        await sink.drain()
    assert sink.files == [
        ("app.jsonl", numbered(0, 100, "old")),
        ("app.jsonl", numbered(0, 1000, "new")),
    ]
    assert sink.kinds() == [TroubleKind.TRUNCATED]


async def test_a_file_cut_and_grown_to_the_same_size_is_begun_anew(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, b"header\n" + numbered(100, 200, "old"))
    async with tailing(path) as sink:
        await sink.until_file("app.jsonl", b"header\n" + numbered(100, 200, "old"))
        path.write_bytes(b"header\n" + numbered(100, 200, "new"))
        await sink.until_file("app.jsonl", b"header\n" + numbered(100, 200, "new"))
        await sink.drain()
    assert len(sink.files) == 2


async def test_a_file_cut_by_a_writer_that_keeps_its_place_is_begun_anew(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    """Without O_APPEND the next write leaves a hole of NULs before it."""
    path = tmp_path / "app.jsonl"
    with path.open("wb", buffering=0) as writer:
        async with tailing(path) as sink:
            writer.write(numbered(0, 100, "old"))
            await sink.until_file("app.jsonl", numbered(0, 100, "old"))
            os.truncate(path, 0)
            writer.write(numbered(0, 10, "new"))
            hole = b"\0" * len(numbered(0, 100, "old"))
            await sink.until_file("app.jsonl", hole + numbered(0, 10, "new"))
            await sink.drain()


async def test_a_checkpoint_beyond_the_end_of_the_file_begins_it_anew(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 1000, "old"))
    async with tailing(path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 1000, "old"))
        await sink.drain()
    path.write_bytes(numbered(0, 10, "new"))
    async with tailing(path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_lines(numbered(0, 10, "new").splitlines())
        await again.drain()
    assert sorted(again.states.values(), key=str) == [State.AT_END, State.TRUNCATED]
    assert again.kinds() == [TroubleKind.TRUNCATED]


async def test_truncation_again_and_again_gives_each_content_once(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    path = tmp_path / "app.jsonl"
    expected = []
    async with tailing(path) as sink:
        for round_ in range(20):
            path.write_bytes(numbered(0, 10 + round_ % 3, f"round{round_}"))
            expected += numbered(0, 10 + round_ % 3, f"round{round_}").splitlines()
            await sink.until_lines(expected)
        await sink.drain()
    assert len(sink.files) == 20
