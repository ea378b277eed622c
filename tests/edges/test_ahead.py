"""Reading in other processes: sooner, and nothing else is different."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import samples
from kit.strategies import fixture_files

from lastsignal import app
from lastsignal.app import diagnose, in_order_of_time, read_ahead
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis.report import Report
from lastsignal.core.events import Event
from lastsignal.core.wire import receiver, send
from lastsignal.edges.inputs import Ahead, open_sources
from lastsignal.edges.rulefiles import load_rules

RULES = load_rules()


@pytest.fixture(autouse=True)
def no_process_remains() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def doubled(number: int) -> bytes:
    """Be sooner done with what comes later."""
    time.sleep((7 - number % 8) / 200)
    return str(2 * number).encode()


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_order_in_which_they_are_taken(jobs: int) -> None:
    with Ahead(doubled, range(40), jobs) as ahead:
        taken = [ahead.take(number) for number in range(40)]

    assert taken == [str(2 * number).encode() for number in range(40)]


def test_what_is_not_offered_or_refused_or_fails_is_left_to_who_takes_it() -> None:
    def work(number: int) -> bytes | None:
        if number == 4:
            raise OSError("gone")
        return None if number == 3 else b"done"

    with Ahead(work, [1, 3, 4, 5], 2) as ahead:
        assert [ahead.take(number) for number in range(6)] == [
            None, b"done", None, None, None, b"done",
        ]  # fmt: skip


@pytest.mark.parametrize(("numbers", "jobs"), [([], 2), ([7], 2), ([1, 2, 3], 0)])
def test_where_it_is_not_worth_it_there_is_no_process(numbers: list[int], jobs: int) -> None:
    with Ahead(doubled, numbers, jobs) as ahead:
        assert multiprocessing.active_children() == []
        assert [ahead.take(number) for number in numbers] == [None] * len(numbers)


def test_no_more_is_done_ahead_than_may_wait(tmp_path: Path) -> None:
    def work(number: int) -> bytes:
        (tmp_path / str(number)).touch()
        return b"done"

    with Ahead(work, range(100), 2) as ahead:
        assert ahead.take(0) == b"done"
        time.sleep(0.5)
        assert 2 <= len(list(tmp_path.iterdir())) <= 7
        assert [ahead.take(number) for number in range(1, 100)] == [b"done"] * 99


def test_a_process_that_dies_takes_nothing_with_it() -> None:
    def work(number: int) -> bytes:
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"done"

    with Ahead(work, range(20), 2) as ahead:
        taken = [ahead.take(number) for number in range(20)]

    assert taken[5] is None
    assert taken.count(b"done") >= 17  # with it went what else it had been given


def test_all_processes_may_die() -> None:
    def work(number: int) -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b"never"

    with Ahead(work, range(9), 3) as ahead:
        assert [ahead.take(number) for number in range(9)] == [None] * 9


def test_a_process_in_the_middle_of_its_work_is_ended_at_once() -> None:
    def work(number: int) -> bytes:
        time.sleep(60)
        return b"late"

    began = time.monotonic()
    with Ahead(work, range(4), 2):
        pass

    assert time.monotonic() - began < 10


def report_of(root: Path, jobs: int) -> Report:
    """Return what all files below a folder say."""
    sources = in_order_of_time(open_sources([str(root)]), LADDER)
    with read_ahead(sources, LADDER, jobs) as ahead:
        return diagnose(sources, RULES, ahead=ahead)


@pytest.fixture
def small_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "WORTH_BYTES", 0)


@pytest.mark.usefixtures("small_is_worth_it")
def test_a_report_is_the_same_however_many_processes_have_read(tmp_path: Path) -> None:
    for number, path in enumerate(sorted(fixture_files())):
        shutil.copy(path, tmp_path / f"{number:03}-{path.name}")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "odd.jsonl").write_bytes(b'{"event_type": "tool_call", "a": 1, "a": 2}\nno json\n')
    huge = {"type": "tool_result", "tool": "x", "trace_id": "huge", "error": "no", "n": 10**40}
    (tmp_path / "huge.jsonl").write_text(json.dumps(huge) + "\n")

    alone = report_of(tmp_path, 1)

    assert report_of(tmp_path, 3) == alone
    assert sum(len(trace.findings()) for trace in alone.traces) > 100


@pytest.mark.usefixtures("small_is_worth_it")
@pytest.mark.skipif(not samples.folder().is_dir(), reason="no real traces beside this checkout")
def test_so_is_that_of_real_traces() -> None:
    assert report_of(samples.folder(), 2) == report_of(samples.folder(), 1)


@pytest.mark.usefixtures("small_is_worth_it")
def test_a_file_of_many_events_is_left_for_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = (
        b'{"timestamp":1780000000,"trace_id":"%d","event_type":"agent_start","status":"started"}\n'
    )
    (tmp_path / "many.jsonl").write_bytes(line % 1 * 50)
    (tmp_path / "few.jsonl").write_bytes(line % 2)
    monkeypatch.setattr(app, "AHEAD_EVENTS", 10)

    with read_ahead(open_sources([str(tmp_path)]), LADDER, 2) as ahead:
        taken = {ahead.take(number) is None for number in range(2)}

    assert taken == {True, False}
    assert report_of(tmp_path, 2) == report_of(tmp_path, 1)


def test_an_event_comes_over_as_it_was_sent() -> None:
    event = Event(
        timestamp=1.5, trace_id="t", event_type="tool_result", status="failed", operation="x",
        error_message="boom", error_class="timeout", attempt=2, line=3, offset=40, source="a",
        metadata={"a": {"b": [1, 2.5, None, "ü", True]}},
    )  # fmt: skip
    bare = Event(event_type="audit")
    bare.timestamp = 0.0

    more, events = receiver(list[str])(send([event, bare], ["told"]))

    assert more == ["told"]
    assert [{name: getattr(one, name) for name in Event.__struct_fields__} for one in events] == [
        {name: getattr(one, name) for name in Event.__struct_fields__} for one in (event, bare)
    ]


def test_ctrl_c_ends_all_of_them_without_a_word(tmp_path: Path) -> None:
    line = (
        b'{"timestamp":1780000000,"trace_id":"%d","event_type":"agent_start","status":"started"}\n'
    )
    for number in range(60):
        (tmp_path / f"{number}.jsonl").write_bytes(line % number * 20_000)
    command = [sys.executable, "-m", "lastsignal", "diagnose", str(tmp_path), "--jobs", "3"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    time.sleep(2.5)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert (out, b"Traceback" in err) == (b"", False)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_none_outlives_the_process_that_started_them(tmp_path: Path) -> None:
    written = b'{"timestamp":1780000000,"trace_id":"a","event_type":"audit","status":"completed"}\n'
    for number in range(60):
        (tmp_path / f"{number}.jsonl").write_bytes(written * 20_000)
    command = [sys.executable, "-m", "lastsignal", "diagnose", str(tmp_path), "--jobs", "3"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while len(children.read_text().split()) < 3:
        time.sleep(0.02)
    process.kill()
    out, err = process.communicate(timeout=30)  # ends when the last one has let go of its output

    assert (out, err) == (b"", b"")
    assert process.returncode == -signal.SIGKILL
