"""No clock decides about bytes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


async def test_files_from_long_ago_and_from_the_future_are_read(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    times = {"old": 0, "future": 4_000_000_000, "now": int(time.time())}
    for name, seconds in times.items():
        append(tmp_path / f"{name}.jsonl", numbered(0, 10, name))
        os.utime(tmp_path / f"{name}.jsonl", (seconds, seconds))
    async with tailing(tmp_path) as sink:
        for name in times:
            await sink.until_file(f"{name}.jsonl", numbered(0, 10, name))
        for name in times:
            append(tmp_path / f"{name}.jsonl", numbered(10, 20, name))
            os.utime(tmp_path / f"{name}.jsonl", (1, 1))
        for name in times:
            await sink.until_file(f"{name}.jsonl", numbered(0, 20, name))
        await sink.drain()
    assert len(sink.files) == 3


async def test_a_clock_that_jumps_changes_nothing(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, monkeypatch: Any
) -> None:
    path = tmp_path / "a.jsonl"
    async with tailing(tmp_path) as sink:
        append(path, numbered(0, 10))
        await sink.until_file("a.jsonl", numbered(0, 10))
        for jump in (-3600, 86_400 * 365):
            now = time.time() + jump
            monkeypatch.setattr(time, "time", lambda: now)  # noqa: B023
            path.rename(tmp_path / f"a.jsonl.{abs(jump)}")
            append(path, numbered(0, 10, f"jump{jump}"))
            os.utime(path, (now, now))
            await sink.until_file("a.jsonl", numbered(0, 10, f"jump{jump}"))
        await sink.drain()
    assert len(sink.files) == 3


async def test_a_content_of_the_same_size_and_time_is_still_followed_when_it_grows(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    append(path, numbered(100, 200, "old"))
    os.utime(path, (1, 1))
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", numbered(100, 200, "old"))
        path.write_bytes(numbered(100, 200, "new"))
        os.utime(path, (1, 1))
        append(path, numbered(200, 300, "new"))
        await sink.until_file("a.jsonl", numbered(100, 300, "new"))
        await sink.drain()
