"""What the daemon itself writes is never tailed."""

from __future__ import annotations

from pathlib import Path
from typing import Any


async def test_own_files_are_not_tailed_under_any_name(
    tmp_path: Path, tailing: Any, append: Any
) -> None:
    own = tmp_path / "lastsignal.log"
    state = tmp_path / "state"
    state.mkdir()
    append(own, b"own\n")
    append(state / "state.sqlite3", b"own\n")
    (tmp_path / "link.jsonl").symlink_to(own)
    async with tailing(tmp_path, own_paths=(str(own), str(state))) as sink:
        append(tmp_path / "a.jsonl", b"foreign\n")
        await sink.until_file("a.jsonl", b"foreign\n")
        append(own, b"own\n")
        own.rename(tmp_path / "lastsignal.log.1")
        append(own, b"own\n")
        append(tmp_path / "a.jsonl", b"foreign\n")
        await sink.until_file("a.jsonl", b"foreign\nforeign\n")
        await sink.drain()
    assert sink.files == [("a.jsonl", b"foreign\nforeign\n")]
