"""Compressed files: rotated ones go on where reading stood, others are read once."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest
import zstandard

from lastsignal.edges.tailer import State, TroubleKind, kinship
from lastsignal.edges.tailer.kinship import Likeness, compare
from lastsignal.edges.tailer.streams import Stream
from lastsignal.edges.tailer.tailed import Phase, TailedFile

Pack = Callable[[bytes], bytes]


def zstd(data: bytes) -> bytes:
    """Compress without the size in the header, as a pipe does."""
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


packs = pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])


@packs
async def test_a_compressed_file_that_appears_is_read_once(
    tmp_path: Path, tailing: Any, numbered: Any, pack: Pack
) -> None:
    (tmp_path / "old.gz").write_bytes(pack(numbered(0, 50_000, "old")))
    async with tailing(tmp_path, chunk_bytes=10_000) as sink:
        await sink.until_file("old.gz", numbered(0, 50_000, "old"))
        (tmp_path / "new.gz").write_bytes(pack(numbered(0, 10, "new")))
        await sink.until_file("new.gz", numbered(0, 10, "new"))
        await sink.drain()
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_at_end("old.gz")
        await again.drain()
    assert len(sink.files) == 2
    assert again.text == b""


@packs
@pytest.mark.parametrize("pattern", ["0.log", "."])
async def test_a_rotated_file_compressed_while_reading_is_behind_goes_on_where_it_stood(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, pack: Pack, pattern: str
) -> None:
    path = tmp_path / "0.log"
    append(path, numbered(0, 3000))
    async with tailing(tmp_path / pattern, chunk_bytes=2048, buffer=0) as sink:
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()
        rotated = tmp_path / "0.log.20260101-000000"
        path.rename(rotated)
        append(path, numbered(3000, 4000))
        packed = tmp_path / "0.log.20260101-000000.gz"
        packed.with_suffix(".tmp").write_bytes(pack(rotated.read_bytes()))
        packed.with_suffix(".tmp").rename(packed)
        rotated.unlink()
        sink.resume()
        await sink.until_lines(numbered(0, 4000).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 4000)
    assert len(sink.files) == 2
    assert not sink.troubles


@packs
@pytest.mark.parametrize("lines", [20, 2000])
async def test_a_file_compressed_when_it_was_read_is_not_read_again(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, pack: Pack, lines: int
) -> None:
    path = tmp_path / "app.log"
    append(path, numbered(0, lines))
    async with tailing(tmp_path, wait_after_rename=0.3) as sink:
        await sink.until_file("app.log", numbered(0, lines))
        await sink.until_at_end("app.log")
        path.rename(tmp_path / "app.log.1")
        await sink.until_stats(lambda stats: stats.pending_files == 0)
        (tmp_path / "app.log.1.gz").write_bytes(pack(numbered(0, lines)))
        (tmp_path / "app.log.1").unlink()
        await sink.until_at_end("app.log.1.gz")
        (tmp_path / "app.log.1.gz").rename(tmp_path / "app.log.2.gz")
        append(path, b"next\n")
        await sink.until_file("app.log", b"next\n")
        await sink.drain()
    assert sink.text == numbered(0, lines) + b"next\n"
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_at_end("app.log")
        await again.drain()
    assert again.text == b""


@packs
async def test_what_a_closed_file_holds_more_in_its_compressed_copy_is_read_from_there(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, pack: Pack
) -> None:
    path = tmp_path / "app.log"
    append(path, numbered(0, 1000))
    async with tailing(path) as sink:
        await sink.until_file("app.log", numbered(0, 1000))
        await sink.drain()
    append(path, numbered(1000, 2000))
    (tmp_path / "app.log.1.gz").write_bytes(pack(path.read_bytes()))
    path.unlink()
    append(path, numbered(2000, 3000))
    async with tailing(path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_lines(numbered(1000, 3000).splitlines())
        await again.drain()
    assert again.text == numbered(1000, 3000)
    assert set(again.contents) > set(sink.contents)


async def test_a_gzip_file_that_is_written_bit_by_bit_is_followed(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "a.gz"
    whole = gzip.compress(numbered(0, 5000)) + b"\0" * 100 + gzip.compress(numbered(5000, 6000))
    async with tailing(tmp_path, copy_patience=0.2) as sink:
        append(path, whole[:1])
        await sink.until_stats(lambda stats: stats.files == 1 and not stats.pending_files)
        append(path, whole[1:8000])
        await sink.until(lambda: len(sink.text) > 1000)
        append(path, whole[8000:])
        await sink.until_file("a.gz", numbered(0, 6000))
        await sink.drain()
    assert len(sink.files) == 1


async def test_damaged_compression_gives_what_stands_before_the_fault_and_is_told(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    packed = gzip.compress(numbered(0, 100)) + b"no member"
    (tmp_path / "a.gz").write_bytes(packed)
    async with tailing(tmp_path) as sink:
        await sink.until(lambda: TroubleKind.CORRUPT in sink.kinds())
        append(tmp_path / "b.jsonl", b"goes on\n")
        await sink.until_file("b.jsonl", b"goes on\n")
        await sink.drain()
    assert ("a.gz", numbered(0, 100)) in sink.files


async def test_a_compressed_file_of_a_like_beginning_is_its_own(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    header = b"h" * 2000 + b"\n"
    append(tmp_path / "app.log", header + numbered(0, 100, "live"))
    async with tailing(tmp_path) as sink:
        await sink.until_file("app.log", header + numbered(0, 100, "live"))
        packed = gzip.compress(header + numbered(0, 200, "other"))
        (tmp_path / "app.log.7.gz").write_bytes(packed)
        await sink.until_file("app.log.7.gz", header + numbered(0, 200, "other"))
        await sink.drain()
    assert State.GONE not in sink.states.values()


async def test_a_file_that_is_let_go_while_its_copy_is_compared_with_it_goes_on_in_that(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.log"
    append(path, numbered(0, 1000))
    async with tailing(tmp_path) as sink:
        fleet = sink.tailer._fleet

        def let_go_and_compare(stream: Stream, known: TailedFile) -> Likeness:
            if known.displaced_at is not None:
                anyio.from_thread.run_sync(fleet.part, known, Phase.LOST, known.displaced_at)
            return compare(stream, known)

        monkeypatch.setattr(kinship, "compare", let_go_and_compare)
        await sink.until_at_end("app.log")
        (tmp_path / "app.log.1.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        await sink.until_file("app.log.1.gz", numbered(0, 1000))
        await sink.drain()
    assert sink.text == numbered(0, 1000)


async def test_what_begins_like_the_few_bytes_that_are_known_of_another_is_judged_by_more_of_it(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    path = tmp_path / "app.log"
    append(path, b"b")
    async with tailing(tmp_path) as sink:
        await sink.until_file("app.log", b"b")
        await sink.drain()
    for number, content in ((2, b"b 0\nb 1\n"), (1, b"b 2\nb 3\n")):
        packed = tmp_path / f"app.log.{number}.gz"
        packed.write_bytes(gzip.compress(content))
        os.utime(packed, (10 - number, 10 - number))
    path.unlink()
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until(lambda: len(again.text) == 15)
        await again.drain()
    assert again.text == b" 0\nb 1\nb 2\nb 3\n"
