"""Files that grow, appear and pause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lastsignal.edges.tailer import State


def numbered(start: int, stop: int, prefix: str = "line") -> bytes:
    """Return lines that are told apart by a number."""
    return b"".join(b"%s %d\n" % (prefix.encode(), number) for number in range(start, stop))


def append(path: Path, data: bytes) -> None:
    """Write at a file's end."""
    with path.open("ab") as file:
        file.write(data)


async def test_what_is_there_is_delivered_and_what_is_appended_follows(
    tmp_path: Path, tailing: Any
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
