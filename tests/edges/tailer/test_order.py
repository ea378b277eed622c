"""Files of one name: the older come before the younger, whatever a look at the disk shows first."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lastsignal.edges.tailer import listing, streams, tailer
from lastsignal.edges.tailer.tailed import TailedFile
from lastsignal.edges.tailer.turns import Turns

Hide = Callable[[str, int], None]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """Return what hides a name from some looks, as one is missed that moves while it is looked for.

    Such a look is known by the folder's time of modification, which is just past.
    """
    hidden: dict[str, int] = {}
    entries = listing._entries

    def show(folder: str) -> Iterator[os.DirEntry[str]]:
        for entry in entries(folder):
            if hidden.get(entry.name, 0):
                hidden[entry.name] -= 1
                os.utime(folder)
            else:
                yield entry

    def hide(name: str, looks: int) -> None:
        hidden[name] = looks

    monkeypatch.setattr(listing, "_entries", show)
    return hide


@pytest.mark.parametrize("looks", [1, 2])
async def test_a_rotated_file_that_looks_miss_comes_before_the_new_one(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, hide: Hide, looks: int
) -> None:
    append(tmp_path / "app.jsonl-20260101", numbered(0, 1000))
    append(tmp_path / "app.jsonl", numbered(1000, 2000))
    hide("app.jsonl-20260101", looks)
    async with tailing(tmp_path) as sink:
        await sink.until_lines(numbered(0, 2000).splitlines())
        await sink.drain()
    assert sink.text == numbered(0, 2000)


@pytest.mark.parametrize("looks", [1, 2])
async def test_a_file_that_looks_miss_where_it_was_renamed_to_is_waited_for(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, hide: Hide, looks: int
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 1000))
    async with tailing(tmp_path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 1000))
        await sink.drain()
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_at_end("app.jsonl")
        hide("app.jsonl-20260101", looks)
        append(path, numbered(1000, 1500))
        path.rename(tmp_path / "app.jsonl-20260101")
        append(path, numbered(1500, 2000))
        await again.until_lines(numbered(1000, 2000).splitlines())
        await again.drain()
    assert again.text == numbered(1000, 2000)


async def test_where_looks_are_rare_only_what_is_rotated_waits_for_one(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []
    hold = Turns.hold

    def note_and_hold(turns: Turns, file: TailedFile) -> None:
        held.append(Path(file.path).name)
        hold(turns, file)

    monkeypatch.setattr(tailer, "_PROMPT", 0.0)
    monkeypatch.setattr(Turns, "hold", note_and_hold)
    append(tmp_path / "app.jsonl.1", numbered(0, 10))
    append(tmp_path / "app.jsonl", numbered(10, 20))
    append(tmp_path / "other.jsonl", numbered(20, 30))
    async with tailing(tmp_path) as sink:
        await sink.until_lines(numbered(0, 30).splitlines())
        await sink.drain()
    assert sorted(held) == ["app.jsonl", "app.jsonl.1"]


async def test_contents_that_were_never_seen_in_place_come_in_order_from_their_copies(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, hide: Hide
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 500))
    async with tailing(tmp_path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 500))
        await sink.drain()
    append(path, numbered(500, 1000))
    for number in (1, 2, 3):
        shutil.copyfile(path, tmp_path / f"app.jsonl-2026010{number}")
        os.truncate(path, 0)
        append(path, numbered(number * 1000, (number + 1) * 1000))
    hide("app.jsonl-20260102", 1)
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_lines(numbered(500, 4000).splitlines())
        await again.drain()
    assert again.text == numbered(500, 4000)
    assert not again.troubles


async def test_a_deleted_file_is_as_old_as_its_compressed_copy_says(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(tmp_path / "other.jsonl", numbered(0, 1000, "other"))
    async with tailing(tmp_path, chunk_bytes=1000, buffer=0) as sink:
        await sink.until(lambda: len(sink.pieces) > 2)
        sink.pause()  # nothing is looked into from now on
        append(path, numbered(0, 1000))
        await sink.until_stats(lambda stats: stats.open_files == 2)
        packed = tmp_path / "app.jsonl-20260101.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        append(tmp_path / "app.jsonl-20260102", numbered(1000, 2000))
        append(path, numbered(2000, 3000))
        await sink.until_stats(lambda stats: stats.open_files == 5)
        sink.resume()
        await sink.until(lambda: len(sink.lines) == 4000)
        await sink.drain()
    text = b"".join(piece.data for piece in sink.pieces if b"other" not in piece.data)
    assert text == numbered(0, 3000)


async def test_a_drain_waits_for_a_file_that_left_its_place_just_before(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "app.jsonl"
    append(path, numbered(0, 1000))
    async with tailing(tmp_path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 1000))
        await sink.drain()
    async with tailing(tmp_path, checkpoints=sink.checkpoints.values()) as again:
        await again.until_at_end("app.jsonl")
        append(path, numbered(1000, 2000))
        (tmp_path / "app.jsonl-20260101.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        await again.drain()
    assert again.text == numbered(1000, 2000)


async def test_content_that_is_cut_between_two_reads_of_one_step_is_not_mixed(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.jsonl"
    read = streams.Stream.read
    is_cut = False

    def cut_and_read(self: streams.Stream, offset: int, limit: int) -> bytes:
        nonlocal is_cut
        if not is_cut and limit > 1000:
            is_cut = True
            shutil.copyfile(path, tmp_path / "app.jsonl-20260101")
            os.truncate(path, 0)
            append(path, numbered(1000, 3000))
        return read(self, offset, limit)

    monkeypatch.setattr(streams.Stream, "read", cut_and_read)
    append(path, numbered(0, 1000))
    async with tailing(tmp_path) as sink:
        await sink.until_lines(numbered(0, 3000).splitlines())
        await sink.drain()
    assert is_cut
    assert sink.text == numbered(0, 3000)


@pytest.mark.parametrize("first", [0, 1])
async def test_of_two_checkpoints_of_one_inode_the_later_user_holds_it(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any, first: int
) -> None:
    """A kill may come before the checkpoint says that the former one stands elsewhere."""
    path, rotated = tmp_path / "app.jsonl", tmp_path / "app.jsonl-20260101"
    append(path, numbered(0, 1000))
    async with tailing(tmp_path) as sink:
        await sink.until_file("app.jsonl", numbered(0, 1000))
        path.rename(rotated)
        append(path, b"short\n")
        await sink.until_file("app.jsonl", b"short\n")
        await sink.drain()
    later, former = sorted(sink.checkpoints.values(), key=lambda one: one.head.length)
    former = msgspec.structs.replace(former, inode=later.inode, path=later.path)
    (tmp_path / "app.jsonl-20260101.gz").write_bytes(gzip.compress(rotated.read_bytes()))
    rotated.unlink()
    append(path, b"next\n")
    known = [former, later] if first else [later, former]
    async with tailing(tmp_path, checkpoints=known) as again:
        await again.until(lambda: again.text.endswith(b"next\n"))
        await again.drain()
    assert again.text == b"next\n"
    assert not again.troubles
