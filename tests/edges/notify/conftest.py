"""An outbox in memory, clocks that nobody waits for, and a receiver that answers as told."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
import pytest

from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.incidents import Incident, Notice
from lastsignal.edges.notify import Observer, Secret, Surroundings, Target
from lastsignal.edges.notify.letter import Letter
from lastsignal.edges.notify.outcome import SENT, Outcome
from lastsignal.errors import LastSignalError

T0 = 1_700_000_000.0
TURNS = 25  # of the event loop: more than anything takes that waits for no I/O
PATIENCE = 20.0  # seconds: as long as a broken notifier takes to fail a test


@dataclass
class MemoryRow:
    """One notice on its way."""

    id: int
    target: str
    payload: bytes
    attempts: int = 0
    next_attempt_at: float = 0.0
    error: str = ""


class MemoryOutbox:
    """What a store does, without the store."""

    def __init__(self) -> None:
        self.rows: list[MemoryRow] = []
        self.dead_letters: list[MemoryRow] = []
        self.broken: set[str] = set()
        """Methods that fail as a full disk makes them."""
        self._last_id = 0

    def put(self, target: str, *notices: Notice, payload: bytes | None = None) -> None:
        for notice in notices or [None]:
            self._last_id += 1
            body = msgspec.msgpack.encode(notice) if payload is None else payload
            self.rows.append(MemoryRow(self._last_id, target, body))

    def pending(self, target: str, limit: int) -> Sequence[MemoryRow]:
        self._check("pending")
        return [row for row in self.rows if row.target == target][:limit]

    def backlog(self, target: str) -> int:
        return sum(row.target == target for row in self.rows)

    def sent(self, row_id: int) -> None:
        self._check("sent")
        self.rows.remove(self._row(row_id))

    def retry(self, row_id: int, attempts: int, next_attempt_at: float, error: str) -> None:
        row = self._row(row_id)
        row.attempts, row.next_attempt_at, row.error = attempts, next_attempt_at, error

    def dead(self, row_id: int, error: str) -> None:
        row = self._row(row_id)
        row.error = error
        self.rows.remove(row)
        self.dead_letters.append(row)

    def fold(self, row_ids: Sequence[int], payload: bytes) -> None:
        first = self._row(row_ids[0])
        first.payload, first.attempts, first.next_attempt_at = payload, 0, 0.0
        self.rows = [row for row in self.rows if row.id not in row_ids[1:]]

    def _row(self, row_id: int) -> MemoryRow:
        return next(row for row in self.rows if row.id == row_id)

    def _check(self, method: str) -> None:
        if method in self.broken:
            raise LastSignalError("the disk is full")


class FakeClock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.wall = T0
        self.passed = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.passed

    async def wait(self, event: anyio.Event, seconds: float | None) -> None:
        if seconds is None:
            await event.wait()
            return
        due = anyio.Event()
        self._sleepers.append((self.passed + seconds, due))
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await event.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await due.wait()
            tasks.cancel_scope.cancel()

    async def advance(self, seconds: float) -> None:
        """Let so much time pass, and everything happen that happens meanwhile."""
        end = self.passed + seconds
        while True:
            for _ in range(TURNS):
                await anyio.lowlevel.checkpoint()
            next_at = min((at for at, due in self._sleepers if not due.is_set()), default=end + 1)
            if next_at > end:
                break
            self._pass(next_at)
            for at, due in self._sleepers:
                if at <= next_at:
                    due.set()
            self._sleepers = [(at, due) for at, due in self._sleepers if not due.is_set()]
        self._pass(end)

    def _pass(self, to: float) -> None:
        self.wall += to - self.passed
        self.passed = to


class JumpClock:
    """Time that jumps ahead whenever somebody waits for it: for tests with a real receiver."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return T0 + self.passed

    def monotonic(self) -> float:
        return self.passed

    async def wait(self, event: anyio.Event, seconds: float | None) -> None:
        if seconds is None:
            await event.wait()
            return
        await anyio.lowlevel.checkpoint()
        if not event.is_set():
            self.waits.append(seconds)
            self.passed += seconds


class Record(Observer):
    """Everything that a notifier told of itself."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.errors: list[str] = []
        self.delays: list[float] = []
        self.folded = 0
        self.queues: dict[str, tuple[int, float | None]] = {}
        self.deepest = 0

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """How often what happened, by target."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for target, what in self.events:
            found[target][what] += 1
        return dict(found)

    def sent(self, target: str, seconds: float) -> None:
        self.events.append((target, "sent"))

    def failed(self, target: str, error: str) -> None:
        self.events.append((target, "failed"))
        self.errors.append(error)

    def retried(self, target: str, seconds: float) -> None:
        self.events.append((target, "retried"))
        self.delays.append(seconds)

    def suppressed(self, target: str, messages: int) -> None:
        self.folded += messages

    def dead(self, target: str, error: str) -> None:
        self.events.append((target, "dead"))

    def queue(self, target: str, depth: int, oldest_at: float | None) -> None:
        self.queues[target] = (depth, oldest_at)
        self.deepest = max(self.deepest, depth)


class ScriptedSender:
    """A target that answers as a test says, and notes when it was asked."""

    def __init__(self, clock: FakeClock, answers: Sequence[Outcome] = ()) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.asked: list[tuple[float, str]] = []
        self.letters: list[Letter] = []
        self.hangs = False
        self.takes = 0.0
        """Seconds of the clock that a message is on its way."""
        self.closed = False

    async def send(self, letter: Letter, key: str) -> Outcome:
        self.asked.append((round(self.clock.monotonic(), 6), key))
        self.letters.append(letter)
        if self.hangs:
            await anyio.sleep_forever()
        if self.takes:
            await self.clock.wait(anyio.Event(), self.takes)
        return self.answers.pop(0) if self.answers else SENT

    async def close(self) -> None:
        self.closed = True


@dataclass
class Request:
    """What arrived."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """What is answered: `hang` and `close` answer nothing."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    way: str = "answer"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up: tests cut them off."""


class Receiver:
    """An HTTP server on loopback that answers by path, in the order given; after that with 200."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: dict[str, list[Answer]] = defaultdict(list)
        self.now: Callable[[], float] = lambda: 0.0
        self._arrived = threading.Condition()
        self._released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def release(self) -> None:
        """Let requests go on that hang."""
        self._released.set()

    def at(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]

    async def expect(self, path: str, number: int) -> list[Request]:
        """Return when so many requests have arrived at a path."""

        def arrived() -> bool:
            with self._arrived:
                return self._arrived.wait_for(lambda: len(self.at(path)) >= number, PATIENCE)

        assert await anyio.to_thread.run_sync(arrived), f"{len(self.at(path))} of {number}: {path}"
        return self.at(path)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(self.path, dict(self.headers.items()), body, receiver.now())
                answers = receiver.answers[self.path]
                answer = answers.pop(0) if answers else Answer()
                with receiver._arrived:
                    receiver.requests.append(request)
                    receiver._arrived.notify_all()
                if answer.way == "hang":
                    receiver._released.wait()
                if answer.way == "close":
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def make_incident(name: str = "a", **changes: Any) -> Incident:
    """Return an open incident."""
    values: dict[str, Any] = {
        "id": f"id{name}",
        "rule": "rate_limit_exhausted",
        "severity": "critical",
        "category": "execution-error-rate-limiting",
        "trace_id": f"trace-{name}",
        "framework": "crewai",
        "agents": ["planner"],
        "title": "Provider quota exhausted",
        "summary": f"search of {name} was refused twice",
        "cause": "The account has used up its quota.",
        "remedy": "1. Raise the limit. 2. Wait until tomorrow.",
        "group": {"trace_id": f"trace-{name}", "operation": "search"},
        "count": 2,
        "first_seen": T0 - 20,
        "last_seen": T0 - 10,
        "evidence": [
            Evidence("/traces/run.jsonl", 3, 120, "tool_result", T0 - 10, '{"error": "429"}', "429")
        ],
        "opened_at": T0,
        "updated_at": T0,
        "openings": [T0],
        "told": "open",
        "told_severity": "critical",
    }
    return Incident(**{**values, **changes})


def make_notice(name: str = "a", kind: str = "opened", **changes: Any) -> Notice:
    """Return a notice of one incident."""
    one = make_incident(name, **changes)
    return Notice(kind=kind, created_at=T0, incidents=[one], total=1)  # type: ignore[arg-type]


def make_target(name: str, url: str = "http://127.0.0.1:1/x", **changes: Any) -> Target:
    """Return a target that is as fast as its configuration lets it be."""
    values: dict[str, Any] = {"kind": "webhook", **changes}
    return Target(name=name, url=Secret(url), **values)


@pytest.fixture
def kit() -> SimpleNamespace:
    """Return what makes things."""
    return SimpleNamespace(
        T0=T0,
        Answer=Answer,
        JumpClock=JumpClock,
        Sender=ScriptedSender,
        incident=make_incident,
        notice=make_notice,
        target=make_target,
    )


@pytest.fixture
def clock() -> FakeClock:
    """Return time that passes only when a test says so."""
    return FakeClock()


@pytest.fixture
def outbox() -> MemoryOutbox:
    """Return an empty outbox."""
    return MemoryOutbox()


@pytest.fixture
def record() -> Record:
    """Return a record of what happens."""
    return Record()


@pytest.fixture
def around(clock: FakeClock, record: Record) -> Surroundings:
    """Return surroundings in which nothing is left to chance."""
    return Surroundings(observer=record, clock=clock, jitter=lambda: 1.0)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return a receiver."""
    one = Receiver()
    yield one
    one.close()
