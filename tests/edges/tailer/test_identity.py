"""What makes two files two, and one file one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lastsignal.edges.tailer import State


async def test_small_files_of_the_same_content_are_two_files(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    names = ["a.jsonl", "b.jsonl", "a.jsonl.bak"]
    async with tailing(tmp_path, copy_patience=0.3) as sink:
        for name in names:
            append(tmp_path / name, b'{"header": 1}\n')
        await sink.until_lines([b'{"header": 1}'] * 3)
        for name in names:
            append(tmp_path / name, b'{"header": 1}\n')
        await sink.until_lines([b'{"header": 1}'] * 6)
        await sink.drain()
    assert sorted(sink.files) == sorted((name, b'{"header": 1}\n' * 2) for name in names)


async def test_files_of_the_same_long_header_are_two_files(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    header = b"h" * 5000 + b"\n"
    async with tailing(tmp_path, copy_patience=0.3) as sink:
        append(tmp_path / "app.jsonl", header)
        append(tmp_path / "app.jsonl.1", header)
        append(tmp_path / "other.jsonl", header)
        await sink.until_lines([header[:-1]] * 3)
        append(tmp_path / "app.jsonl", b"first\n")
        append(tmp_path / "app.jsonl.1", b"second\n")
        append(tmp_path / "other.jsonl", b"third\n")
        await sink.until_lines([header[:-1]] * 3 + [b"first", b"second", b"third"])
        await sink.drain()
    assert sorted(sink.files) == [
        ("app.jsonl", header + b"first\n"),
        ("app.jsonl.1", header + b"second\n"),
        ("other.jsonl", header + b"third\n"),
    ]


async def test_an_empty_file_has_no_identity_until_its_first_byte(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).touch()
    async with tailing(tmp_path) as sink:
        await sink.until_stats(lambda stats: stats.files == 2 and not stats.pending_files)
        assert not sink.pieces
        (tmp_path / "a.jsonl").rename(tmp_path / "c.jsonl")
        append(tmp_path / "c.jsonl", b"c\n")
        append(tmp_path / "b.jsonl", b"b\n")
        await sink.until_lines([b"b", b"c"])
        await sink.drain()
    assert sorted(content for _, content in sink.files) == [b"b\n", b"c\n"]


async def test_the_inode_of_a_deleted_file_used_again_is_a_new_file(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    """The file is closed before, so that the inode is free while the tailer runs."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(numbered(0, 100, "old"))
    async with tailing(tmp_path, max_open_files=1, scan_interval=60) as sink:
        await sink.until_file("a.jsonl", numbered(0, 100, "old"))
        (tmp_path / "other.jsonl").write_bytes(b"takes the only descriptor\n")
        await sink.until_at_end("other.jsonl")
        inode = path.stat().st_ino
        path.unlink()
        new = tmp_path / "b.jsonl"
        new.write_bytes(numbered(0, 1000, "new"))
        if new.stat().st_ino != inode:  # this file system does not do that: the rest still holds
            pass
        await sink.until_file("b.jsonl", numbered(0, 1000, "new"))
        await sink.drain()
    assert len(sink.files) == 3
    assert sink.states[sink.pieces[0].file_id] in (State.TRUNCATED, State.GONE, State.AT_END)


async def test_the_inode_used_again_with_the_same_beginning_is_a_new_file(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"header\n")
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", b"header\n")
        await sink.drain()
    known = list(sink.checkpoints.values())
    for number in range(100):  # until the inode comes back
        path.unlink()
        append(path, b"header\nnew\n")
        if path.stat().st_ino == known[0].inode and os.uname().sysname == "Linux":
            break
        append(tmp_path.parent / f"{tmp_path.name}.{number}", b"takes another inode\n")
    async with tailing(tmp_path, checkpoints=known) as again:
        await again.until_lines([b"header", b"new"])
        await again.drain()
    assert [content for _, content in again.files if content] == [b"header\nnew\n"]


async def test_a_file_that_shrinks_to_nothing_and_grows_again_is_two_files(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    append(path, b"header\none\n")
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", b"header\none\n")
        os.truncate(path, 0)
        await sink.until(lambda: State.TRUNCATED in sink.states.values())
        append(path, b"header\ntwo\n")
        await sink.until_file("a.jsonl", b"header\ntwo\n")
        await sink.drain()
    assert len(sink.files) == 2
