"""Files and folders that cannot be read, for a while."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lastsignal.edges.tailer import TroubleKind

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder of a user whom permissions bind: they do not bind root."""
    path = Path(tempfile.mkdtemp(prefix="lastsignal-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(path, NOBODY, -1)
        os.seteuid(NOBODY)
    yield path
    if is_root:
        os.seteuid(0)
    for each in path.rglob("*"):
        each.chmod(0o700)
    shutil.rmtree(path)


async def test_permission_that_comes_late_after_a_rotation_loses_nothing(
    folder: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = folder / "app.jsonl"
    append(path, numbered(0, 10))
    async with tailing(folder) as sink:
        await sink.until_file("app.jsonl", numbered(0, 10))
        path.rename(folder / "app.jsonl.1")
        with path.open("wb", buffering=0) as writer:
            path.chmod(0o000)
            writer.write(numbered(10, 20))
            await sink.until(lambda: sink.kinds() == [TroubleKind.UNREADABLE])
            assert sink.troubles[0].path == str(path)
            path.chmod(0o600)
            await sink.until_file("app.jsonl", numbered(10, 20))
        await sink.drain()
    assert sink.text == numbered(0, 20)


async def test_permission_that_is_lost_and_regained_loses_nothing(
    folder: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    path = folder / "app.jsonl"
    append(path, numbered(0, 10))
    async with tailing(folder, max_open_files=1) as sink:
        await sink.until_file("app.jsonl", numbered(0, 10))
        append(folder / "other.jsonl", b"takes the only descriptor\n")
        await sink.until_at_end("other.jsonl")
        path.chmod(0o200)
        append(path, numbered(10, 20))
        await sink.until(lambda: sink.kinds() == [TroubleKind.UNREADABLE])
        path.chmod(0o600)
        await sink.until_file("app.jsonl", numbered(0, 20))
        await sink.drain()


async def test_a_folder_that_cannot_be_listed_for_a_while_loses_no_file(
    folder: Path, tailing: Any, numbered: Any, append: Any
) -> None:
    below = folder / "below"
    below.mkdir()
    append(below / "a.jsonl", numbered(0, 10))
    async with tailing(folder, max_open_files=1) as sink:
        await sink.until_file("a.jsonl", numbered(0, 10))
        append(folder / "other.jsonl", b"takes the only descriptor\n")
        await sink.until_at_end("other.jsonl")
        below.chmod(0o000)
        await sink.until(lambda: sink.kinds() == [TroubleKind.UNREADABLE])
        append(folder / "other.jsonl", b"some time passes\n")
        await sink.until(lambda: b"some time" in sink.text)
        below.chmod(0o700)
        append(below / "a.jsonl", numbered(10, 20))
        await sink.until_file("a.jsonl", numbered(0, 20))
        await sink.drain()
    assert len(sink.files) == 2
