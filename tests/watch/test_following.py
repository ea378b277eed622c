"""`lastsignal normalize --follow`, as the real process: events as they come, until it is ended."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from watch.harness import LASTSIGNAL
from watch.kit import failure, record, wait_for, write

# CrewAI's bus: order is told by a sequence and events are held for it until the file stands still
HELD = {"type": "crew_kickoff_started", "event_id": "e-1", "emission_sequence": 1, "crew_name": "c"}


class Following:
    """A running `normalize --follow`, what it prints, and how it ends."""

    def __init__(self, root: Path, *arguments: str) -> None:
        self._out, self._err = root / "out.ndjson", root / "err.txt"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            command = [*LASTSIGNAL, "normalize", "--follow", *arguments]
            self.process = subprocess.Popen(command, stdout=out, stderr=err)

    def events(self) -> list[dict[str, Any]]:
        """Return what is printed by now; a line that is half printed is none yet."""
        printed = self._out.read_bytes()
        return [json.loads(line) for line in printed[: printed.rfind(b"\n") + 1].splitlines()]

    def wait_for_events(self, count: int) -> list[dict[str, Any]]:
        """Return the events when there are so many."""
        wait_for(lambda: len(self.events()) >= count, f"{count} events; {self.said()}")
        return self.events()

    def said(self) -> str:
        """Return what is on standard error."""
        return self._err.read_text()

    def interrupt(self) -> int:
        """Send what Ctrl-C sends; return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@contextmanager
def following(root: Path, *arguments: str) -> Iterator[Following]:
    """Follow until the block ends."""
    one = Following(root, *arguments)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait(30)


def test_events_are_printed_as_they_come_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, record("r", "tool_call", "search", "started"))
    with following(tmp_path, str(path)) as one:
        one.wait_for_events(1)
        whole = failure("r")
        write(path, whole[:20])
        write(path, whole[20:])
        events = one.wait_for_events(2)

        assert one.interrupt() == 130
        assert [(event["event_type"], event["status"]) for event in events] == [
            ("tool_call", "started"),
            ("tool_result", "failed"),
        ]
        assert [(event["line"], event["error_class"]) for event in events[1:]] == [
            (2, "tool_error")
        ]
        assert one.events() == events
        assert f"{path}: native, 2 records, 2 events" in one.said()
        assert "interrupted" in one.said()
        assert "Traceback" not in one.said()


def test_a_file_is_waited_for_and_followed_through_its_rotations(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with following(tmp_path, str(path)) as one:
        wait_for(lambda: "not there yet; waiting" in one.said())
        write(path, failure("r", "one"))
        one.wait_for_events(1)
        former = path.rename(tmp_path / "a.jsonl.1")
        write(former, failure("r", "two"))
        write(path, failure("r", "three"))
        events = one.wait_for_events(3)
        former.with_name("a.jsonl.1.gz").write_bytes(gzip.compress(former.read_bytes()))
        former.unlink()
        write(path, failure("r", "four"))
        events = one.wait_for_events(4)

        assert one.interrupt() == 130
        assert sorted(event["operation"] for event in events) == ["four", "one", "three", "two"]
        assert one.events() == events


def test_what_is_held_comes_when_the_file_stands_still_and_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "bus.jsonl"
    with following(tmp_path, str(tmp_path), "--quiet") as one:
        write(path, json.dumps(HELD | {"timestamp": "2026-05-01T10:00:00Z"}).encode())  # no newline
        assert one.wait_for_events(1)[0]["event_type"] == "agent_start"
        ended = HELD | {"type": "crew_kickoff_completed", "event_id": "e-2", "emission_sequence": 2}
        ended |= {"started_event_id": "e-1", "timestamp": "2026-05-01T10:00:09Z"}
        write(path, b"\n", json.dumps(ended).encode() + b"\n", failure("other"))
        wait_for(lambda: one.events()[-1]["trace_id"] == "other" or len(one.events()) > 1)

        assert one.interrupt() == 130
        assert [event["event_type"] for event in one.events()].count("agent_end") == 1
        assert "bus.jsonl" not in one.said()


def test_nobody_who_reads_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, failure("r"))
    process = subprocess.Popen(
        [*LASTSIGNAL, "normalize", "--follow", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert json.loads(process.stdout.readline())["error_message"] == "boom"
        process.stdout.close()
        write(path, failure("r"))
        assert process.wait(30) == 0
        assert b"Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait(30)
        process.stderr.close()


def test_what_cannot_be_followed_says_what_to_do(tmp_path: Path) -> None:
    for arguments, advice in (
        (["-"], "standard input is read as it comes, without --follow"),
        (["a.jsonl", "--explain"], "leave one of them out"),
    ):
        command = [*LASTSIGNAL, "normalize", "--follow", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

        assert done.returncode == 3
        assert advice in done.stderr


def test_standard_input_is_printed_as_it_comes(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*LASTSIGNAL, "normalize", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(failure("r"))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["error_message"] == "boom"
        process.stdin.close()
        assert process.wait(30) == 0
