"""The end: everything that is there is delivered, within a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lastsignal.edges.tailer import State, TroubleKind


async def test_draining_delivers_what_nothing_has_told_of(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    async with tailing(tmp_path, notifies=False, scan_interval=3600, poll_interval=3600) as sink:
        append(tmp_path / "a.jsonl", numbered(0, 10))
        await sink.until_stats(lambda stats: stats.is_polling)
        append(tmp_path / "a.jsonl", numbered(10, 20_000))
        append(tmp_path / "b.jsonl", numbered(0, 10, "b"))
        await sink.drain()
    assert sorted(sink.files) == [
        ("a.jsonl", numbered(0, 20_000)),
        ("b.jsonl", numbered(0, 10, "b")),
    ]
    assert set(sink.states.values()) == {State.AT_END}


async def test_draining_reads_deleted_files_to_their_last_byte(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb", buffering=0) as writer:
        async with tailing(tmp_path) as sink:
            writer.write(numbered(0, 10))
            await sink.until_file("a.jsonl", numbered(0, 10))
            path.unlink()
            writer.write(numbered(10, 20))
            await sink.drain()
    assert sink.text == numbered(0, 20)


async def test_draining_waits_for_no_copy(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    append(tmp_path / "a.jsonl", numbered(0, 10))
    async with tailing(tmp_path, copy_patience=3600) as sink:
        await sink.until_file("a.jsonl", numbered(0, 10))
        append(tmp_path / "a.jsonl.1", numbered(0, 10))
        await sink.drain()
    assert sorted(sink.files) == [("a.jsonl", numbered(0, 10)), ("a.jsonl.1", numbered(0, 10))]


async def test_draining_ends_when_its_time_is_over(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    append(tmp_path / "a.jsonl", numbered(0, 10_000))
    async with tailing(tmp_path, chunk_bytes=1024, buffer=0) as sink:
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()
        assert not await sink.tailer.drain(0.1)
    assert sink.kinds() == [TroubleKind.UNDRAINED]
    known = list(sink.checkpoints.values())
    async with tailing(tmp_path, checkpoints=known) as again:
        await again.drain()
    assert sink.text + again.text == numbered(0, 10_000)
