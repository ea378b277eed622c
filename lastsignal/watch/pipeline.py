"""One file's way from bytes to events, resumable at any commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.events import Event
from lastsignal.core.file_names import family_of, from_text, shown, to_text
from lastsignal.core.framing import Checkpoint, Framer
from lastsignal.core.packing import pack
from lastsignal.edges.tailer import FileCheckpoint, Piece, State
from lastsignal.watch.line_counting import lines_before


class Account(NamedTuple):
    """What came of a file since the last account."""

    format: str | None
    records: int
    skipped: dict[str, int]
    mended: dict[str, int]


class _Saved(msgspec.Struct):
    checkpoint: FileCheckpoint
    name: str
    framing: Checkpoint
    reader: bytes
    is_live: bool = False
    lacks_lines: bool = False


class Pipeline:
    """The framer and the reader of one file.

    Args:
        name: what findings call the file: where it was first seen, whatever rotation makes of it.
        ladder: the dialects to recognise.
        max_record_bytes: longer records are skipped and counted.
        now: epoch seconds; stands for the times of a file that shows none.
    """

    def __init__(
        self, name: str, ladder: tuple[Dialect, ...], max_record_bytes: int, now: float
    ) -> None:
        self.name = shown(name)
        self.reader = Reader(self.name, ladder, ingest_time=now)
        self.checkpoint: FileCheckpoint | None = None
        self.is_live = False
        """Whether it was ever seen to be written while it was read."""
        self.lacks_lines = False
        """Whether it begins within its file, and nobody has counted the lines before that."""
        self._records = 0
        self._max_record_bytes = max_record_bytes
        self._framer = Framer(max_record_bytes)
        self._skipped: Counter[str] = Counter()
        self._mended: Counter[str] = Counter()

    @property
    def is_holding(self) -> bool:
        """Whether something waits that is used when the file stands still."""
        return self.reader.is_holding or self._framer.buffered_bytes > 0

    def begin(self, offset: int, lines: int | None) -> None:
        """Begin within the file: before any of its bytes is taken.

        Args:
            offset: where in the file the first piece stands.
            lines: those before it; None where nobody knows yet.
        """
        resume = Checkpoint(offset=offset, line=(lines or 0) + 1)
        self._framer = Framer(self._max_record_bytes, resume=resume)
        self.lacks_lines = lines is None

    def hand_over(self) -> Checkpoint | None:
        """Give away the parts of lines whose rest stands in the next file of its rotation."""
        return self._framer.hand_over()

    def go_on_with(self, left: Checkpoint) -> None:
        """Begin with what the file before has handed over: before any of its own is taken."""
        self._framer = Framer(self._max_record_bytes, resume=left)

    def take(self, piece: Piece, now: float) -> list[Event]:
        """Return the events that a piece completes.

        Args:
            piece: the next of the file.
            now: epoch seconds, see `Reader.now`.
        """
        self.reader.now = now
        events = self.reader.read(self._framer.feed(piece.data)) if piece.data else []
        if piece.is_last:
            events += self.reader.read(self._framer.finish())
            events += self.reader.finish()
        self.checkpoint = piece.checkpoint
        return events

    def release(self) -> list[Event]:
        """Return the events that were held for their order: the file stands still."""
        return self.reader.finish()

    def take_whole_line(self) -> list[Event]:
        """Return the events of a last line that lacks only its newline."""
        return self.reader.read(self._framer.take_whole_line())

    def account(self) -> Account:
        """Return what was used and what was not since the last call."""
        records = self.reader.records - self._records
        self._records = self.reader.records
        settled = self.reader.settled
        skipped = Counter(self.reader.skipped)
        skipped.update(self._framer.skipped)
        mended = Counter(self.reader.mended)
        account = Account(
            settled.name if settled else None,
            records,
            dict(skipped - self._skipped),
            dict(mended - self._mended),
        )
        self._skipped, self._mended = skipped, mended
        return account

    def save(self) -> bytes:
        """Return all that a restart needs: it reads on from the first byte not used yet."""
        assert self.checkpoint is not None
        framing = self._framer.checkpoint()
        return pack(
            _Saved(
                checkpoint=_with_paths(self.checkpoint.resume_at(framing.offset), to_text),
                name=self.name,
                framing=framing,
                reader=self.reader.save(),
                is_live=self.is_live,
                lacks_lines=self.lacks_lines,
            )
        )

    @classmethod
    def restore(
        cls, data: bytes, ladder: tuple[Dialect, ...], max_record_bytes: int, now: float
    ) -> Pipeline:
        """Return the pipeline that `save` described.

        Raises:
            msgspec.MsgspecError: it is no state of a pipeline.
        """
        saved = msgspec.msgpack.decode(data, type=_Saved)
        pipeline = cls(saved.name, ladder, max_record_bytes, now)
        pipeline.checkpoint = _with_paths(saved.checkpoint, from_text)
        pipeline._framer = Framer(max_record_bytes, resume=saved.framing)
        pipeline.reader.restore(saved.reader)
        pipeline.is_live, pipeline.lacks_lines = saved.is_live, saved.lacks_lines
        pipeline._skipped = Counter(pipeline.reader.skipped)
        pipeline._mended = Counter(pipeline.reader.mended)
        pipeline._records = pipeline.reader.records
        return pipeline


def _with_paths(checkpoint: FileCheckpoint, change: Callable[[str], str]) -> FileCheckpoint:
    return msgspec.structs.replace(
        checkpoint, path=change(checkpoint.path), real_path=change(checkpoint.real_path)
    )


class Pipelines:
    """All files that are being read.

    Args:
        make: makes the pipeline of a file that is seen for the first time.
    """

    def __init__(self, make: Callable[[str], Pipeline]) -> None:
        self._make = make
        self._by_file: dict[str, Pipeline] = {}
        self._changed: set[str] = set()
        self._gone: set[str] = set()
        self._names: Counter[str] = Counter()
        """How many files have borne a name."""
        self._families: dict[str, dict[str, None]] = {}
        """By rotation, its files as they were met."""

    def adopt(self, file_id: str, pipeline: Pipeline) -> None:
        """Take a restored pipeline."""
        self._by_file[file_id] = pipeline
        self._names[pipeline.name] += 1
        if family := family_of(pipeline.name):
            self._families.setdefault(family, {})[file_id] = None

    def named(self, name: str) -> tuple[Sequence[FileCheckpoint], bool]:
        """Return the files that findings call so, and whether no other has ever been called so."""
        found = [one.checkpoint for one in self._by_file.values() if one.name == name]
        return [one for one in found if one is not None], self._names[name] < 2

    def items(self) -> Sequence[tuple[str, Pipeline]]:
        """Return every file id with its pipeline."""
        return list(self._by_file.items())

    def checkpoints(self) -> list[FileCheckpoint]:
        """Return where to read on in each file."""
        return [one.checkpoint for one in self._by_file.values() if one.checkpoint is not None]

    def of(self, piece: Piece) -> Pipeline:
        """Return the pipeline of a piece's file."""
        pipeline = self._by_file.get(piece.file_id)
        if pipeline is None:
            pipeline = self._make(piece.name)
            if piece.offset:
                pipeline.begin(piece.offset, None)
            elif (left := self._left_for(pipeline)) is not None:
                pipeline.go_on_with(left)
            self.adopt(piece.file_id, pipeline)
        self._changed.add(piece.file_id)
        return pipeline

    def _left_for(self, pipeline: Pipeline) -> Checkpoint | None:
        """Take from the files before a new one what goes on in it."""
        for file_id in reversed(self._families.get(family_of(pipeline.name), {})):
            left = self._by_file[file_id].hand_over()
            if left is not None:
                self._changed.add(file_id)
                return left
        return None

    def lacks_lines(self, piece: Piece) -> bool:
        """Whether the lines before this piece are yet to be counted (`count_lines`).

        Nobody needs them of the many files that are only there.
        """
        return bool(piece.offset and piece.data) and self.of(piece).lacks_lines

    def count_lines(self, piece: Piece) -> None:
        """Count the lines before a file's first piece: takes a while, on a thread."""
        lines = lines_before(piece.checkpoint, piece.offset)
        self._by_file[piece.file_id].begin(piece.offset, lines or 0)

    def touch(self, file_id: str) -> None:
        """Note that a file's pipeline has changed without a piece."""
        if file_id in self._by_file:
            self._changed.add(file_id)

    def settle(self, piece: Piece) -> None:
        """Forget a file that has ended."""
        if piece.state in (State.GONE, State.TRUNCATED):
            gone = self._by_file.pop(piece.file_id, None)
            family = family_of(gone.name) if gone is not None else ""
            if family:
                self._families[family].pop(piece.file_id, None)
                if not self._families[family]:
                    del self._families[family]
            self._changed.discard(piece.file_id)
            self._gone.add(piece.file_id)

    def take_changes(self) -> dict[str, bytes | None]:
        """Return what a commit writes, and begin anew."""
        changes: dict[str, bytes | None] = {
            file_id: self._by_file[file_id].save()
            for file_id in self._changed
            if self._by_file[file_id].checkpoint is not None
        }
        changes.update(dict.fromkeys(self._gone - set(changes)))
        self._changed, self._gone = set(), set()
        return changes

    def __len__(self) -> int:
        return len(self._by_file)
