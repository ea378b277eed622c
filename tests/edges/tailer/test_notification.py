"""Where the system does not tell of changes: too few watches, a file system without events."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio

from lastsignal.edges.tailer import TroubleKind


async def test_without_watches_files_are_polled_and_a_flag_says_so(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    def watch(*paths: str, **options: Any) -> AsyncIterator[Any]:
        raise OSError(errno.ENOSPC, "OS file watch limit reached.")

    append(tmp_path / "a.jsonl", numbered(0, 10))
    async with tailing(tmp_path, watch=watch, scan_interval=3600, poll_interval=0.05) as sink:
        await sink.until(lambda: sink.kinds() == [TroubleKind.NO_NOTIFICATION])
        assert sink.tailer.stats().is_polling
        append(tmp_path / "a.jsonl", numbered(10, 20))
        (tmp_path / "a.jsonl").rename(tmp_path / "a.jsonl.1")
        append(tmp_path / "a.jsonl", numbered(20, 30))
        await sink.until_lines(numbered(0, 30).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 30)


async def test_a_watch_that_breaks_later_is_replaced_by_polling(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    breaks = anyio.Event()

    async def watch(*paths: str, **options: Any) -> AsyncIterator[Any]:
        if breaks.is_set():
            raise RuntimeError("no longer")
        yield set()
        await breaks.wait()
        raise RuntimeError("error in underlying watcher")

    async with tailing(tmp_path, watch=watch, scan_interval=3600, poll_interval=0.05) as sink:
        await sink.until_stats(lambda stats: not stats.is_polling)
        breaks.set()
        await sink.until(lambda: TroubleKind.NO_NOTIFICATION in sink.kinds())
        append(tmp_path / "a.jsonl", b"found\n")
        await sink.until_file("a.jsonl", b"found\n")
        await sink.drain()


async def test_what_notification_does_not_tell_is_found_by_the_scan(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    async def watch(*paths: str, **options: Any) -> AsyncIterator[Any]:
        while True:
            await anyio.sleep(3600)
            yield set()

    async with tailing(tmp_path, watch=watch, scan_interval=0.05) as sink:
        append(tmp_path / "a.jsonl", numbered(0, 10))
        await sink.until_file("a.jsonl", numbered(0, 10))
        append(tmp_path / "a.jsonl", numbered(10, 20))
        await sink.until_file("a.jsonl", numbered(0, 20))
        assert not sink.tailer.stats().is_polling
        await sink.drain()


async def test_notification_finds_what_no_scan_would_in_time(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    (tmp_path / "deep").mkdir()
    async with tailing(tmp_path, tmp_path / "deep" / "*.log", scan_interval=3600) as sink:
        append(tmp_path / "a.jsonl", numbered(0, 10))
        await sink.until_file("a.jsonl", numbered(0, 10))
        (tmp_path / "new" / "folder").mkdir(parents=True)
        append(tmp_path / "new" / "folder" / "b.jsonl", numbered(0, 10))
        await sink.until_file("b.jsonl", numbered(0, 10))
        (tmp_path / "a.jsonl").rename(tmp_path / "a.jsonl.1")
        append(tmp_path / "a.jsonl", b"next\n")
        await sink.until_file("a.jsonl", b"next\n")
        await sink.drain()
    assert len(sink.files) == 3


async def test_thousands_of_idle_files_hold_no_descriptor(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    for number in range(2000):
        append(tmp_path / f"{number}.jsonl", numbered(0, 2, f"file{number}"))
    async with tailing(tmp_path, max_open_files=8) as sink:
        await sink.until(lambda: len(sink.contents) == 2000)
        stats = sink.tailer.stats()
        assert stats.files == 2000
        assert stats.open_files <= 8
        append(tmp_path / "77.jsonl", b"late\n")
        await sink.until_file("77.jsonl", numbered(0, 2, "file77") + b"late\n")
        await sink.drain()
    assert len(sink.contents) == 2000
