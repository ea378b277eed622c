"""`diagnose` with files read in other processes: sooner, and nothing else is different."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import samples
from kit.strategies import fixture_files, hostile_files

from lastsignal import app
from lastsignal.app import diagnose, in_order_of_time, read_ahead
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis.report import Report
from lastsignal.core.events import Event, metadata_of
from lastsignal.core.wire import receiver, send
from lastsignal.edges.inputs import open_sources
from lastsignal.edges.rulefiles import load_rules

RULES = load_rules()


@pytest.fixture(autouse=True)
def no_process_remains() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def report_of(root: Path, jobs: int) -> Report:
    """Return what all files below a folder say."""
    sources = in_order_of_time(open_sources([str(root)]), LADDER)
    with read_ahead(sources, LADDER, jobs) as ahead:
        return diagnose(sources, RULES, ahead=ahead)


def written(report: Report) -> bytes:
    """Return a report as bytes: 1 and 1.0 are equal, and not the same."""
    return msgspec.json.encode(report)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


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

    assert written(report_of(tmp_path, 3)) == written(alone)
    assert sum(len(trace.findings()) for trace in alone.traces) > 100


@pytest.mark.usefixtures("small_is_worth_it")
@pytest.mark.skipif(not samples.folder().is_dir(), reason="no real traces beside this checkout")
def test_so_is_that_of_real_traces() -> None:
    alone = written(report_of(samples.folder(), 1))

    assert written(report_of(samples.folder(), 2)) == alone


LINE = b'{"timestamp":%d,"trace_id":"%d","event_type":"agent_start","status":"started"}\n'
LINES = b"".join(LINE % (1_780_000_000 + number, number % 9) for number in range(20_000))


@pytest.mark.usefixtures("small_is_worth_it")
def test_of_a_large_file_many_pieces_are_read_ahead(tmp_path: Path) -> None:
    (tmp_path / "large.jsonl").write_bytes(LINES)

    with read_ahead(open_sources([str(tmp_path)]), LADDER, 2) as ahead:
        assert len(list(ahead.take(0))) > 4

    assert report_of(tmp_path, 2) == report_of(tmp_path, 1)


@pytest.mark.usefixtures("small_is_worth_it")
@pytest.mark.parametrize("reason", ["dies", "refuses"])
def test_what_is_left_unread_ahead_is_read_from_where_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_bytes(LINES.replace(b"1780", b"178%d" % ord(name)))
    alone, sent = report_of(tmp_path, 1), 0

    def send_few(events: list[Event], more: object) -> bytes:
        nonlocal sent
        sent += 1
        if sent % 4 == 0:  # in the middle of a file, each in a process of its own
            if reason == "refuses":
                raise OverflowError
            time.sleep(0.1)
            die()
        return send(events, more)

    monkeypatch.setattr(app, "send", send_few)
    told = Counter[str]()
    sources = in_order_of_time(open_sources([str(tmp_path)]), LADDER)
    with read_ahead(sources, LADDER, 3) as ahead:
        report = diagnose(
            sources, RULES, ahead=ahead, progress=lambda name, count: told.update({name: count})
        )

    assert report == alone
    assert told == {source.name: source.size for source in sources}


@pytest.mark.usefixtures("small_is_worth_it")
@pytest.mark.parametrize("cut", [10, 19_990])
def test_a_file_that_goes_on_with_another_ones_line_waits_for_it(tmp_path: Path, cut: int) -> None:
    written_at = b"2026-05-28T20:26:40.000000000Z stdout"
    lines = [written_at + b" F " + line + b"\n" for line in LINES.splitlines()]
    begun, rest = lines[cut][:80].replace(b" F ", b" P ") + b"\n", lines[cut][80:]
    (tmp_path / "0.log.1").write_bytes(b"".join([*lines[:cut], begun]))
    (tmp_path / "0.log").write_bytes(b"".join([written_at, b" F ", rest, *lines[cut + 1 :]]))
    alone = report_of(tmp_path, 1)

    assert written(report_of(tmp_path, 2)) == written(alone)
    assert [one.skipped for one in alone.inputs] == [{}, {}]
    assert sum(one.events for one in alone.inputs) == 20_000


@given(data=hostile_files(), piece=st.integers(1, 9), dies_at=st.none() | st.integers(0, 9))
@settings(max_examples=60)
def test_no_file_and_no_death_of_a_process_makes_a_difference(
    data: bytes, piece: int, dies_at: int | None
) -> None:
    sent = 0

    def send_or_die(events: list[Event], more: object) -> bytes:
        nonlocal sent
        sent += 1
        if sent - 1 == dies_at:
            die()
        return send(events, more)

    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "WORTH_BYTES", 0)
        patch.setattr(app, "PIECE_EVENTS", piece)
        patch.setattr("lastsignal.edges.inputs.sources.CHUNK_BYTES", 300)
        (Path(name) / "a").write_bytes(data)
        (Path(name) / "b").write_bytes(LINES[:3000] + data)
        alone = report_of(Path(name), 1)
        patch.setattr(app, "send", send_or_die)

        assert written(report_of(Path(name), 2)) == written(alone)


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


@pytest.mark.parametrize("habit", [{}, {"host": "h-1", "tags": ["a", 1.0, None]}])
def test_metadata_come_over_unparsed_and_mean_the_same(habit: dict[str, Any]) -> None:
    record = {"timestamp": 1.78e9, "trace_id": "t", "event_type": "audit", "status": "completed"}
    metadata = {"goes_on": True, "text": "ü", "of": [1, {"a": 2.0}]}
    line = json.dumps({**record, **habit, "metadata": metadata}).encode()
    reader = Reader("x", LADDER, ingest_time=0.0)
    here = [event for _ in range(5) for event in reader.read([(line, 0, 1)])]
    assert isinstance(here[-1].metadata, msgspec.Raw)

    _, there = receiver(None)(send(here, None))

    assert isinstance(there[-1].metadata, bytes)
    assert [metadata_of(event) for event in there] == [{**habit, **metadata}] * 5


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
