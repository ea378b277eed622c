"""Whatever writers, rotation and kills do, in any order: every line is delivered exactly once."""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from lastsignal.edges.tailer import FileCheckpoint


class Writer:
    """Writes numbered lines to one file, in pieces, and rotates it in every way there is."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.lines: list[bytes] = []
        self._chance = chance
        self._rest = b""

    def append(self) -> None:
        """Write some lines; the last one perhaps only in part."""
        data = self._rest
        for _ in range(self._chance.choice([1, 3, 30, 300])):
            line = b"%s %d" % (self.path.stem.encode(), len(self.lines))
            line += b"x" * self._chance.choice([0, 5, 200])
            self.lines.append(line)
            data += line + b"\n"
        cut = self._chance.choice([0, 0, 1, 7])
        self._write(data[: len(data) - cut])
        self._rest = data[len(data) - cut :]

    def finish(self) -> None:
        """Write what is left of the last line."""
        self._write(self._rest)
        self._rest = b""

    def rename(self) -> None:
        """Rotate by renaming."""
        self._shift()
        if self.path.exists():
            self.path.rename(self._rotated(1))

    def copy_and_truncate(self) -> None:
        """Rotate by copying."""
        self._shift()
        if self.path.exists():
            shutil.copy(self.path, self._rotated(1))
            os.truncate(self.path, 0)

    def compress(self) -> None:
        """Compress one rotated file as gzip does."""
        plain = [one for one in self._all_rotated() if one.suffix != ".gz"]
        if plain:
            path = self._chance.choice(plain)
            packed = path.with_name(path.name + ".gz")
            packed.write_bytes(gzip.compress(path.read_bytes()))
            times = path.stat()
            os.utime(packed, ns=(times.st_atime_ns, times.st_mtime_ns))
            path.unlink()

    def _write(self, data: bytes) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(data)

    def _shift(self) -> None:
        self.finish()
        for path in sorted(self._all_rotated(), key=self._number, reverse=True):
            shifted = self._rotated(self._number(path) + 1)
            path.rename(shifted.with_name(shifted.name + (".gz" if path.suffix == ".gz" else "")))

    def _all_rotated(self) -> list[Path]:
        return [
            one for one in self.path.parent.iterdir() if one.name.startswith(f"{self.path.name}.")
        ]

    def _number(self, path: Path) -> int:
        found = re.search(r"\.(\d+)(?:\.gz)?$", path.name)
        assert found
        return int(found[1])

    def _rotated(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


class Store:
    """What a consumer has committed: lines, and where to read on, both changed at once."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.known: dict[str, FileCheckpoint] = {}
        self._torn: dict[str, bytes] = {}

    def commit(self, pieces: list[Any]) -> None:
        """Use the whole lines of these pieces, as framing does."""
        for piece in pieces:
            if piece.is_last:
                self.known.pop(piece.file_id, None)
                continue
            *whole, torn = (self._torn.pop(piece.file_id, b"") + piece.data).split(b"\n")
            self.lines += whole
            self._torn[piece.file_id] = torn
            offset = piece.offset + len(piece.data) - len(torn)
            self.known[piece.file_id] = piece.checkpoint.resume_at(offset)

    def restart(self) -> list[FileCheckpoint]:
        """Forget what was not committed."""
        self._torn = {}
        return list(self.known.values())


async def pass_time(sink: Any, clock: Path) -> None:
    """Wait until the tailer has come round to one more line."""
    with clock.open("ab") as file:
        file.write(b"tick\n")
    expected = clock.stat().st_size
    await sink.until(
        lambda: any(
            piece.name == str(clock) and piece.offset + len(piece.data) >= expected
            for piece in reversed(sink.pieces)
        )
    )


@pytest.mark.parametrize("pattern", ["*.jsonl", "."])
@pytest.mark.parametrize("seed", range(int(os.environ.get("LASTSIGNAL_SEEDS", "5"))))
async def test_every_line_is_delivered_exactly_once(
    tmp_path: Path, tailing: Any, seed: int, pattern: str
) -> None:
    chance = random.Random(seed)
    clock = tmp_path / "clock.jsonl"
    writers = [Writer(tmp_path / f"{name}.jsonl", chance) for name in ("a", "b")]
    store = Store()
    for run in range(6):
        options = {"chunk_bytes": chance.choice([100, 4096, 262_144]), "copy_patience": 0.3}
        async with tailing(tmp_path / pattern, checkpoints=store.restart(), **options) as sink:
            if not run:  # what is rotated before it was ever seen is nobody's
                for writer in writers:
                    writer.append()
                await sink.until(lambda: len(sink.contents) == len(writers))
                store.commit(sink.pieces)
                del sink.pieces[:]
            for _ in range(chance.randrange(25)):
                writer = chance.choice(writers)
                deeds = [writer.append] * 6 + [writer.rename, writer.compress]
                chance.choice([*deeds, writer.copy_and_truncate])()
                if chance.random() < 0.3:
                    await pass_time(sink, clock)
        # killed: what was taken after the last commit is forgotten
        store.commit(sink.pieces[: chance.randint(0, len(sink.pieces))])
        for _ in range(chance.randrange(6)):  # while the daemon is down
            writer = chance.choice(writers)
            deeds = [writer.append, writer.append, writer.rename, writer.compress]
            chance.choice([*deeds, writer.copy_and_truncate])()
    for writer in writers:
        writer.finish()
    async with tailing(tmp_path / pattern, checkpoints=store.restart(), copy_patience=0.3) as sink:
        await sink.drain()
    store.commit(sink.pieces)
    expected = sorted(line for writer in writers for line in writer.lines)
    found = sorted(line for line in store.lines if line != b"tick")
    known = set(found)
    assert [line for line in expected if line not in known] == []
    assert found == expected
