"""A tailer at work, and a sink that waits for what it should hand on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import ObjectReceiveStream

from lastsignal.edges.tailer import (
    FileCheckpoint,
    Piece,
    State,
    Tailer,
    TailerConfig,
    TailerStats,
    Trouble,
    TroubleKind,
)

PATIENCE = 10.0  # seconds: as long as a broken tailer takes to fail a test


class Sink:
    """Takes pieces, holds them to the contract, and waits for what a test expects."""

    def __init__(self, tailer: Tailer, incoming: ObjectReceiveStream[Piece]) -> None:
        self.tailer = tailer
        self.pieces: list[Piece] = []
        self.troubles: list[Trouble] = []
        self.contents: dict[str, bytearray] = {}
        self.names: dict[str, str] = {}
        self.states: dict[str, State] = {}
        self.checkpoints: dict[str, FileCheckpoint] = {}
        self._incoming = incoming
        self._offsets: dict[str, int] = {}
        self._is_open = anyio.Event()
        self._is_open.set()
        self._news = anyio.Event()

    async def take(self) -> None:
        """Take pieces until the stream ends."""
        async for piece in self._incoming:
            self._check(piece)
            self.pieces.append(piece)
            self.contents.setdefault(piece.file_id, bytearray()).extend(piece.data)
            self.names[piece.file_id] = Path(piece.name).name
            self.states[piece.file_id] = piece.state
            self.checkpoints[piece.file_id] = piece.checkpoint
            if piece.is_last:
                del self.checkpoints[piece.file_id]
            self._tell()
            await self._is_open.wait()

    def _check(self, piece: Piece) -> None:
        state = self.states.get(piece.file_id)
        assert state not in (State.TRUNCATED, State.GONE), f"a piece after the last one: {piece}"
        expected = self._offsets.setdefault(piece.file_id, piece.offset)
        assert piece.offset == expected, f"offset {expected} expected: {piece}"
        self._offsets[piece.file_id] += len(piece.data)
        assert piece.checkpoint.read == self._offsets[piece.file_id]

    def note_trouble(self, trouble: Trouble) -> None:
        """Keep what went wrong."""
        self.troubles.append(trouble)
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    def pause(self) -> None:
        """Take no more than one further piece: the tailer's sends wait."""
        self._is_open = anyio.Event()

    def resume(self) -> None:
        """Take pieces again."""
        self._is_open.set()

    @property
    def text(self) -> bytes:
        """Everything in the order in which it came."""
        return b"".join(piece.data for piece in self.pieces)

    @property
    def lines(self) -> list[bytes]:
        """The whole lines of all files, file by file."""
        return [
            line for content in self.contents.values() for line in bytes(content).split(b"\n")[:-1]
        ]

    @property
    def files(self) -> list[tuple[str, bytes]]:
        """The last name and the content of every file, in the order of their first pieces."""
        return [(self.names[one], bytes(content)) for one, content in self.contents.items()]

    def kinds(self) -> list[TroubleKind]:
        """What went wrong, in order."""
        return [trouble.kind for trouble in self.troubles]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that pieces or troubles bring about."""
        with anyio.move_on_after(PATIENCE):
            while not holds():
                news = self._news
                await news.wait()
        assert holds(), f"waited in vain; files: {self.files}; troubles: {self.troubles}"

    async def until_file(self, name: str, content: bytes) -> None:
        """Wait until a file has delivered just this."""
        await self.until(lambda: (name, content) in self.files)

    async def until_lines(self, lines: Iterable[bytes]) -> None:
        """Wait until these lines have come, each as often as it is there, in any order of files."""
        expected = sorted(lines)
        with anyio.move_on_after(PATIENCE):
            while len(self.lines) < len(expected):
                news = self._news
                await news.wait()
        found = sorted(self.lines)
        missing = sorted(set(expected) - set(found))
        detail = f"{len(found)} of {len(expected)}; missing {missing[:5]}; {self.troubles}"
        assert found == expected, detail

    async def until_at_end(self, name: str) -> None:
        """Wait until a file stands at its end."""
        await self.until(
            lambda: any(
                self.names[one] == name and state is State.AT_END
                for one, state in self.states.items()
            )
        )

    async def until_stats(self, holds: Callable[[TailerStats], bool]) -> None:
        """Wait until the tailer's own figures say something: nothing else tells of them."""
        with anyio.move_on_after(PATIENCE):
            while not holds(self.tailer.stats()):
                await anyio.sleep(0.01)
        assert holds(self.tailer.stats()), self.tailer.stats()

    async def drain(self) -> None:
        """End the tailer; whatever comes until then is kept."""
        assert await self.tailer.drain(PATIENCE)


Tailing = Callable[..., AbstractAsyncContextManager[Sink]]


@asynccontextmanager
async def start_tailing(
    *patterns: Path | str,
    checkpoints: Iterable[FileCheckpoint] = (),
    watch: Any = None,
    buffer: float = 16,
    **options: Any,
) -> AsyncIterator[Sink]:
    """Run a tailer over these patterns; at the end it is drained, and nothing more may come."""
    config = TailerConfig(
        patterns=tuple(str(one) for one in patterns), **{"scan_interval": 0.3, **options}
    )
    outgoing, incoming = anyio.create_memory_object_stream[Piece](buffer)
    troubles: list[Trouble] = []
    tailer = Tailer(
        config,
        checkpoints,
        on_trouble=lambda trouble: sink.note_trouble(trouble),
        **({"watch": watch} if watch else {}),
    )
    sink = Sink(tailer, incoming)
    sink.troubles = troubles
    async with incoming, anyio.create_task_group() as tasks:
        tasks.start_soon(sink.take)
        tasks.start_soon(tailer.run, outgoing)
        yield sink
        tasks.cancel_scope.cancel()


@pytest.fixture
def anyio_backend() -> str:
    """The only backend that is supported."""
    return "asyncio"


@pytest.fixture
def tailing() -> Tailing:
    """Return what runs a tailer: `async with tailing(pattern, …) as sink`."""
    return start_tailing


@pytest.fixture
def numbered() -> Callable[..., bytes]:
    """Return what makes lines that are told apart by a number."""

    def make(start: int, stop: int, prefix: str = "line") -> bytes:
        return b"".join(b"%s %d\n" % (prefix.encode(), number) for number in range(start, stop))

    return make


@pytest.fixture
def append() -> Callable[[Path, bytes], None]:
    """Return what writes at a file's end."""

    def write(path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    return write
