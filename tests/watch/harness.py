"""The real process under ill treatment: written to, rotated, killed, held against `diagnose`."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from kit.wrapping import docker

from lastsignal.core.incidents import Incident

LASTSIGNAL = [sys.executable, "-m", "lastsignal"]
TOOLS = ("search", "fetch", "read_file")
ERRORS = ("HTTP 429 Too Many Requests", "TimeoutError: timed out", "HTTP 401 Unauthorized", "boom")


class Found(NamedTuple):
    """What is the same of a finding however it was found."""

    rule: str
    trace_id: str
    count: int
    first_seen: float
    last_seen: float


def trace_lines(count: int, seed: int, runs: int = 40) -> Iterator[bytes]:
    """Yield the lines of interleaved runs in which a good deal goes wrong."""
    chance = random.Random(seed)
    now = 1_760_000_000.0
    waiting: dict[str, tuple[str, int]] = {}
    for number in range(count):
        now += chance.random() * 0.4
        run = f"run-{(number // 4000) * runs + chance.randrange(runs):05d}"
        record: dict[str, Any] = {"timestamp": round(now, 3), "trace_id": run}
        open_call = waiting.pop(run, None)
        if open_call is None:
            tool = chance.choice(TOOLS)
            arguments = chance.randrange(4)
            waiting[run] = (tool, arguments)
            record |= {"event_type": "tool_call", "operation": tool, "status": "started"}
            record["metadata"] = {"arguments": {"q": arguments}}
        elif chance.random() < 0.4:
            error = chance.choice(ERRORS)
            record |= {"event_type": "tool_result", "operation": open_call[0], "status": "failed"}
            record["error_message"] = error
        else:
            record |= {"event_type": "tool_result", "operation": open_call[0]}
            record["status"] = "completed"
        yield json.dumps(record).encode() + b"\n"


class Writer:
    """Writes lines to a file in torn pieces, and rotates it now and then.

    Rotation renames it, compresses what was renamed before (`gzip`), copies and truncates it, or
    counts on what was renamed before and makes it `.1` (`docker`, whose lines are wrapped). The
    writer is who rotates: what another would write between the copy and the cut, nobody has.
    """

    def __init__(
        self, folder: Path, lines: list[bytes], seed: int, rotate_every: int, how: str = "rename"
    ) -> None:
        self._how = how
        self.path = folder / ("c0ffee-json.log" if how == "docker" else "trace.jsonl")
        self.folder = folder
        self.written = 0
        self._lines = lines
        self._chance = random.Random(seed)
        self._rotate_every = rotate_every
        self._rotations = 0
        self._file = self.path.open("ab", buffering=0)

    @property
    def is_done(self) -> bool:
        """Whether every line is written."""
        return self.written >= len(self._lines)

    def write(self, lines: int) -> None:
        """Write so many lines, cut at places where no line ends."""
        for line in self._lines[self.written : self.written + lines]:
            cut = self._chance.randrange(len(line))
            self._file.write(line[:cut])
            self._file.write(line[cut:])
            self.written += 1
            if self.written % self._rotate_every == 0 and not self.is_done:
                self._rotate()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _rotate(self) -> None:
        former = self._rotated(self._rotations)
        self._rotations += 1
        if self._how == "copytruncate":
            shutil.copyfile(self.path, self._rotated(self._rotations))
            self._file.truncate(0)
            return
        self._file.close()
        if self._how == "docker":
            for number in range(self._rotations - 1, 0, -1):
                self._counted(number).rename(self._counted(number + 1))
            self.path.rename(self._counted(1))
            self._file = self.path.open("ab", buffering=0)
            return
        self.path.rename(self._rotated(self._rotations))
        self._file = self.path.open("ab", buffering=0)
        if self._how == "gzip" and former.exists():
            packed = former.with_name(f"{former.name}.gz")
            packed.write_bytes(gzip.compress(former.read_bytes()))
            former.unlink()

    def _counted(self, number: int) -> Path:
        return self.folder / f"{self.path.name}.{number}"

    def _rotated(self, number: int) -> Path:
        return self.folder / f"trace.jsonl-{20260101 + number}"


def start_watch(folder: Path, state: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start the daemon."""
    config = state.with_suffix(".toml")
    config.write_text("[http]\nenabled = false\n")
    command = [*LASTSIGNAL, "watch", str(folder), "--state-dir", str(state), *options]
    command += ["--config", str(config)]
    with log_of(state).open("wb") as log:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)


def log_of(state: Path) -> Path:
    """Return where the daemon that was started last writes its log."""
    return state.with_suffix(".log")


def watch_once(folder: Path, state: Path) -> None:
    """Let the daemon read what is left, and stop."""
    process = start_watch(folder, state, "--once")
    assert process.wait(120) == 0, log_of(state).read_text()


def incidents(state: Path) -> list[Incident]:
    """Return what the daemon's store holds."""
    database = sqlite3.connect(state / "state.sqlite3")
    try:
        rows = database.execute("SELECT body FROM incidents").fetchall()
    finally:
        database.close()
    return [msgspec.msgpack.decode(body, type=Incident) for (body,) in rows]


def found_by_watch(state: Path) -> list[Found]:
    """Return the findings behind the daemon's incidents."""
    return sorted(
        Found(one.rule, one.trace_id, one.count, one.first_seen, one.last_seen)
        for one in incidents(state)
    )


def found_by_diagnose(folder: Path) -> list[Found]:
    """Return what `diagnose` finds in the same files, undisturbed; what healed is no incident."""
    command = [*LASTSIGNAL, "diagnose", str(folder), "--format", "json", "--fail-on", "never"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return sorted(
        Found(one["rule"], trace["trace_id"], one["count"], one["first_seen"], one["last_seen"])
        for trace in report["traces"]
        for one in [trace["cause"], *trace["symptoms"], *trace["other"]]
        if one is not None
    )


class Treatment(NamedTuple):
    """How a daemon is treated."""

    lines: int
    kills: int
    seed: int
    how: str = "rename"
    rotations: int = 6

    @property
    def rotate_every(self) -> int:
        """Return how many lines a file gets."""
        return self.lines // (self.rotations + 1) + 1


def treat_badly(
    folder: Path,
    state: Path,
    treatment: Treatment,
    on_kill: Callable[[int], None] = lambda number: None,
) -> int:
    """Write while the daemon runs and is killed again and again; return how often it was."""
    lines, kills, seed, how, _ = treatment
    chance = random.Random(seed)
    written = list(trace_lines(lines, seed))
    if how == "docker":
        written = [docker([line], chance.choice([60, 16_384])) for line in written]
    writer = Writer(folder, written, seed, treatment.rotate_every, how)
    share = max(1, lines // (kills + 1))
    for number in range(kills):
        on_kill(number)
        process = start_watch(folder, state)
        aim = writer.written + share
        if chance.random() < 0.9:  # else it is killed while it starts
            wait_until_it_reads(process, state)
        deadline = time.monotonic() + chance.random() * 0.6
        while time.monotonic() < deadline and writer.written < aim:
            writer.write(max(1, share // 20))
            time.sleep(chance.random() * 0.02)
        process.kill()
        process.wait(60)
        writer.write(max(0, aim - writer.written) if chance.random() < 0.5 else 0)
    process = start_watch(folder, state)
    wait_until_it_reads(process, state)
    while not writer.is_done:
        writer.write(max(1, share // 5))
    writer.close()
    process.terminate()
    assert process.wait(60) == 0, log_of(state).read_text()
    return kills


def wait_until_it_reads(process: subprocess.Popen[bytes], state: Path) -> None:
    """Wait until the daemon has begun."""
    deadline = time.monotonic() + 60
    while b'"watching"' not in log_of(state).read_bytes():
        assert process.poll() is None, log_of(state).read_text()
        assert time.monotonic() < deadline
        time.sleep(0.01)
