"""Files that grow, pause in a line, hold what no text holds, or appear by the hundred."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lastsignal.edges.tailer import State


async def test_what_is_there_is_delivered_and_what_is_appended_follows(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(numbered(0, 10))
    async with tailing(tmp_path) as sink:
        await sink.until_file("a.jsonl", numbered(0, 10))
        append(path, numbered(10, 20))
        await sink.until_file("a.jsonl", numbered(0, 20))
        await sink.until_at_end("a.jsonl")
        await sink.drain()
    assert sink.files == [("a.jsonl", numbered(0, 20))]
    assert sink.pieces[-1].state is State.AT_END


async def test_a_burst_larger_than_a_chunk_comes_whole_and_in_order(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    async with tailing(tmp_path, chunk_bytes=4096) as sink:
        append(path, numbered(0, 50_000))
        await sink.until_file("a.jsonl", numbered(0, 50_000))
        await sink.drain()
    assert sink.text == numbered(0, 50_000)
    assert max(len(piece.data) for piece in sink.pieces) == 4096


async def test_a_line_that_is_held_back_for_its_end_is_completed_later(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    async with tailing(tmp_path) as sink:
        append(path, b'{"a": ')
        await sink.until_file("a.jsonl", b'{"a": ')
        await sink.until_at_end("a.jsonl")
        append(path, b"1}\n")
        await sink.until_file("a.jsonl", b'{"a": 1}\n')
        await sink.drain()
    assert len(sink.files) == 1


async def test_a_line_of_many_megabytes_takes_no_more_memory_than_a_chunk_and_loses_no_neighbour(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    path = tmp_path / "a.jsonl"
    content = b"before\n" + b"x" * 5_000_000 + b"\nafter\n"
    async with tailing(tmp_path, chunk_bytes=65_536) as sink:
        append(path, content)
        await sink.until(lambda: sink.text.endswith(b"after\n"))
        await sink.drain()
    assert sink.text == content
    assert max(len(piece.data) for piece in sink.pieces) == 65_536


async def test_bytes_that_are_no_text_are_handed_on_as_they_are(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    content = b"\xef\xbb\xbfbom\r\n" + b"\0" * 4096 + b"\xff\xfe\x80 no utf-8\r\n\n\nafter\n"
    async with tailing(tmp_path) as sink:
        append(tmp_path / "a.jsonl", content)
        await sink.until_file("a.jsonl", content)
        await sink.drain()
    assert sink.text == content


async def test_hundreds_of_new_files_are_found_while_the_consumer_stands_still(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    (tmp_path / "first.jsonl").write_bytes(numbered(0, 10, "first"))
    async with tailing(tmp_path, buffer=0, scan_interval=60) as sink:
        await sink.until_file("first.jsonl", numbered(0, 10, "first"))
        sink.pause()
        for number in range(500):
            folder = tmp_path / f"agent{number % 7}"
            folder.mkdir(exist_ok=True)
            (folder / f"{number}.jsonl").write_bytes(numbered(0, 3, f"file{number}"))
        await sink.until_stats(lambda stats: stats.files == 501)
        sink.resume()
        expected = numbered(0, 10, "first") + b"".join(
            numbered(0, 3, f"file{number}") for number in range(500)
        )
        await sink.until_lines(expected.splitlines())
        await sink.drain()
    assert len(sink.files) == 501


async def test_a_fast_file_lets_slow_ones_have_their_turn(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    fast = tmp_path / "fast.jsonl"
    fast.write_bytes(numbered(0, 100_000, "fast"))
    slow = [tmp_path / f"slow{number}.jsonl" for number in range(5)]
    for path in slow:
        path.write_bytes(numbered(0, 1, path.stem))
    async with tailing(tmp_path, chunk_bytes=1024) as sink:
        await sink.until(lambda: len(sink.files) == 6)
        await sink.until_file("fast.jsonl", numbered(0, 100_000, "fast"))
        await sink.drain()
    places = [index for index, piece in enumerate(sink.pieces) if b"slow" in piece.data]
    assert max(places) < 20


async def test_globs_tilde_and_exclusions_choose_the_files(
    tmp_path: Path, tailing: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("a/x.jsonl", "a/y.log", "b/deep/z.jsonl", "b/skip.jsonl", ".git/wt/s.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() + b"\n")
    patterns = ("~/a/*.jsonl", "~/b/**/*.jsonl", tmp_path / ".git" / "wt")
    async with tailing(*patterns, exclude=("skip.*",)) as sink:
        await sink.until_lines([b"a/x.jsonl", b"b/deep/z.jsonl", b".git/wt/s.jsonl"])
        await sink.drain()
    assert len(sink.files) == 3


async def test_a_folder_that_is_not_there_yet_or_made_anew_is_followed(
    tmp_path: Path, tailing: Any, numbered: Any
) -> None:
    folder = tmp_path / "traces"
    async with tailing(folder, wait_after_rename=0.2) as sink:
        for round_ in range(3):
            folder.mkdir()
            path = folder / "a.jsonl"
            path.write_bytes(numbered(0, 5, f"round{round_}"))
            await sink.until_file("a.jsonl", numbered(0, 5, f"round{round_}"))
            path.unlink()
            folder.rmdir()
            await sink.until(lambda: set(sink.states.values()) == {State.GONE})
        await sink.drain()
    assert len(sink.files) == 3
    assert not sink.troubles


async def test_files_that_are_there_at_startup_can_be_begun_at_their_end(
    tmp_path: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    old = tmp_path / "old.jsonl"
    old.write_bytes(numbered(0, 10, "old"))
    async with tailing(tmp_path, start="end") as sink:
        await sink.until_at_end("old.jsonl")
        assert sink.pieces[0].offset == len(numbered(0, 10, "old"))
        (tmp_path / "new.jsonl").write_bytes(numbered(0, 10, "new"))
        await sink.until_file("new.jsonl", numbered(0, 10, "new"))
        append(old, numbered(10, 12, "old"))
        await sink.until_file("old.jsonl", numbered(10, 12, "old"))
        await sink.drain()
    assert len(sink.files) == 2
