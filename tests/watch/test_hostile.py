"""Folders, files, names and people that mean no good: nothing stops the daemon or is lost in it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import msgspec
import pytest
from watch.harness import incidents
from watch.kit import FAILS, LASTSIGNAL, Watch, failure, record, wait_for, watching, write

MANY = int(os.environ.get("LASTSIGNAL_MANY_FILES", "2000"))


def peak_mb(daemon: Watch) -> float:
    assert daemon.process is not None
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return int(next(one for one in lines if one.startswith("VmHWM")).split()[1]) / 1024


def traces_of(daemon: Watch) -> list[str]:
    return sorted(one.trace_id for one in incidents(daemon.state))


# -- what lies in the folder ---------------------------------------------------------------


def test_names_that_are_no_text_are_read_and_found_again(tmp_path: Path) -> None:
    names = [b"new\nline.jsonl", b"b\xff\xfead.jsonl", "Ünï 🦉.jsonl".encode(), b"-rf.jsonl"]
    with watching(tmp_path) as daemon:
        paths = [Path(os.fsdecode(os.fsencode(daemon.traces) + b"/" + name)) for name in names]
        for number, path in enumerate(paths):
            write(path, failure(f"r{number}"))
        wait_for(lambda: daemon.metric("findings_total") == 4, "all findings")
        assert daemon.stop() == 0
        daemon.start().ready()
        for number, path in enumerate(paths):
            write(path, failure(f"r{number}", "other"))
        wait_for(lambda: daemon.metric("findings_total") == 4, "only what is new")
        assert daemon.stop() == 0
    assert traces_of(daemon) == sorted(2 * [f"r{number}" for number in range(4)])
    assert {one.evidence[0].line for one in incidents(daemon.state)} == {1, 2}
    shown = subprocess.run(
        [*LASTSIGNAL, "normalize", str(daemon.traces)], capture_output=True, check=True
    )
    assert len(shown.stdout.splitlines()) == 8
    assert b"b\\\\xff\\\\xfead.jsonl" in shown.stdout


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    folder = daemon.traces
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "lost.jsonl").symlink_to("/nonexistent/file")
    (folder / "folder.jsonl").mkdir()
    (folder / "below").mkdir()
    (folder / "below" / "again").symlink_to("..")
    if os.geteuid() == 0:
        os.mknod(folder / "zero.jsonl", 0o020600, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "s.jsonl"))
        try:
            daemon.start().ready()
            write(folder / "below" / "a.jsonl", failure("r"))
            wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")
            assert daemon.metric("read_lines_total") == 1
            assert daemon.metric("tail_files") == 1
            assert daemon.stop() == 0
        finally:
            daemon.kill()


def test_a_link_to_what_the_daemon_writes_leads_nowhere(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    daemon.state.mkdir()
    (daemon.traces / "state").symlink_to(daemon.state)
    daemon.log_path.touch()
    (daemon.traces / "log.jsonl").symlink_to(daemon.log_path)
    try:
        daemon.start().ready()
        for number in range(3):
            write(daemon.traces / "a.jsonl", failure(f"r{number}"))
            wait_for(lambda n=number: daemon.metric("findings_total") == n + 1, "a finding")
        assert daemon.metric("read_lines_total") == 3
        assert daemon.stop() == 0
    finally:
        daemon.kill()


@pytest.mark.timeout(180)
def test_thousands_of_files_at_once_are_all_read(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        for number in range(MANY):
            write(daemon.traces / f"{number}.jsonl", failure(f"r{number}"))
        wait_for(lambda: daemon.metric("findings_total") == MANY, "every finding", 120)
        wait_for(lambda: daemon.metric("tail_pending_files") == 0, "nothing left")
        assert daemon.metric("tail_files") == MANY
        assert daemon.metric("tail_open_files") <= 256
        assert daemon.stop() == 0


def test_a_line_without_end_is_skipped_and_takes_no_memory(tmp_path: Path) -> None:
    config = '[limits]\nmax_record_bytes = "1MiB"\n'
    with watching(tmp_path, config) as daemon:
        path = daemon.traces / "a.jsonl"
        write(path, failure("before"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the first finding")
        before = peak_mb(daemon)
        with path.open("ab") as file:
            file.write(b'{"trace_id": "long", "x": "')
            for _ in range(100):
                file.write(b"y" * (1 << 20))
            file.write(b'"}\n')
        write(path, failure("after"))
        wait_for(lambda: daemon.metric("findings_total") == 2, "the finding behind it")
        assert daemon.metric('skipped_total{reason="record_too_long"}') == 1
        assert daemon.lines("skipped")[0]["reason"] == "record_too_long"
        assert peak_mb(daemon) - before < 30


def test_a_number_beyond_any_integer_is_kept_over_a_kill(tmp_path: Path) -> None:
    huge = {"type": "tool_result", "tool": "x", "trace_id": "t", "error": "boom", "size": 10**30}
    rule = FAILS.replace("at line {first.line}", "with {metadata.size}")
    with watching(tmp_path, rules=rule) as daemon:
        write(daemon.traces / "a.jsonl", json.dumps(huge).encode() + b"\n")
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")
        daemon.kill()
        daemon.start().ready()
        write(daemon.traces / "b.jsonl", failure("later"))
        wait_for(lambda: traces_of(daemon) == ["later", "t"], "both incidents")


def test_a_key_that_stands_twice_is_counted_and_told_of_once(tmp_path: Path) -> None:
    twice = b'{"timestamp":1780000000,"trace_id":"t","status":"failed","status":"started",'
    with watching(tmp_path) as daemon:
        for _ in range(3):
            write(daemon.traces / "a.jsonl", twice + b'"event_type":"tool_call","operation":"x"}\n')
        wait_for(
            lambda: daemon.metric('mended_records_total{reason="duplicate_key"}') == 3, "the count"
        )
        (told,) = daemon.lines("mended")
        assert (told["reason"], told["source"]) == ("duplicate_key", str(daemon.traces / "a.jsonl"))
        assert daemon.metric("events_total") == 3


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is missing")
@pytest.mark.parametrize("limit", ["64:64", "64:1024"])
def test_few_open_files_are_enough(tmp_path: Path, limit: str) -> None:
    daemon = Watch(tmp_path)
    try:
        daemon.start(before=("prlimit", f"--nofile={limit}")).ready()
        for number in range(300):
            write(daemon.traces / f"{number}.jsonl", failure(f"r{number}"))
        wait_for(lambda: len(incidents(daemon.state)) == 300, "all findings")
        assert daemon.get("/-/ready")[0] == 200
        assert daemon.says("open_files_limited") == (limit == "64:64")
        assert not daemon.says("commit_failed")
        assert daemon.stop() == 0
    finally:
        daemon.kill()


# -- what stands in the state --------------------------------------------------------------


def test_what_another_version_asked_for_is_left_and_told(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        wait_for(lambda: (daemon.state / "state.sqlite3").exists(), "the state")
        body = msgspec.msgpack.encode({"type": "dance", "how": "slowly"})
        with sqlite3.connect(daemon.state / "state.sqlite3") as database:
            database.execute("INSERT INTO requests (body) VALUES (?)", (body,))
        database.close()
        wait_for(lambda: daemon.says("request_unknown"), "the log")
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: incidents(daemon.state), "it goes on")


def test_an_incident_that_makes_no_sense_is_set_aside_with_the_rest(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"), failure("s"))
        wait_for(lambda: len(incidents(daemon.state)) == 2, "the incidents")
        assert daemon.stop() == 0
        with sqlite3.connect(daemon.state / "state.sqlite3") as database:
            body = msgspec.msgpack.encode({"id": "x", "rule": 7})
            database.execute("UPDATE incidents SET body = ?", (body,))
        database.close()
        daemon.start().ready()
        wait_for(lambda: daemon.metric("store_set_aside_total") == 1, "the metric")
        assert "makes no sense" in daemon.lines("store_set_aside")[0]["detail"]
        wait_for(lambda: traces_of(daemon) == ["r", "s"], "everything is read again")


# -- signals, people -----------------------------------------------------------------------


def test_signals_while_it_starts_spoil_nothing(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    write(daemon.traces / "a.jsonl", *(failure(f"r{number}") for number in range(50)))
    chance = random.Random(1)
    for _ in range(8):
        daemon.start()
        assert daemon.process is not None
        # a moment of the start is meant, not something that happens
        time.sleep(chance.random() * 0.8)
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(30) in (0, -signal.SIGTERM), daemon.log()
        assert "Traceback" not in daemon.log()
    daemon.once()
    assert traces_of(daemon) == sorted(f"r{number}" for number in range(50))


def test_a_reload_that_is_asked_for_while_it_starts_does_not_end_it(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    try:
        daemon.start()
        assert daemon.process is not None
        status = Path(f"/proc/{daemon.process.pid}/status")
        wait_for(lambda: heeds(status.read_text(), signal.SIGHUP), "SIGHUP is no end any more")
        while not daemon.says("watching"):
            daemon.process.send_signal(signal.SIGHUP)
            time.sleep(0.01)
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")
    finally:
        daemon.kill()


def heeds(status: str, number: int) -> bool:
    """Whether a process catches or ignores a signal."""
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    masks = int(lines["SigCgt"], 16) | int(lines["SigIgn"], 16)
    return bool(masks >> (number - 1) & 1)


def test_a_trace_cannot_steer_the_terminal_of_who_looks_at_it(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2Jx"
    daemon = Watch(tmp_path)
    write(daemon.traces / "a.jsonl", failure(f"r{evil}", f"s{evil}"))
    daemon.once()
    one = incidents(daemon.state)[0]
    for command in (["list"], ["show", one.id]):
        said = subprocess.run(
            [*LASTSIGNAL, "incidents", *command, "--state-dir", str(daemon.state)],
            capture_output=True,
            check=True,
        ).stdout
        assert b"\x1b" not in said
        assert b"\\x1b" in said
    told = subprocess.run(
        [*LASTSIGNAL, "incidents", "list", "--json", "--state-dir", str(daemon.state)],
        capture_output=True,
        check=True,
    ).stdout
    assert json.loads(told)[0]["trace_id"] == f"r{evil}"


def test_a_configuration_from_windows_is_read(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    text = daemon.config.read_text()
    daemon.config.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    write(daemon.traces / "a.jsonl", failure("r"))
    daemon.once()
    assert traces_of(daemon) == ["r"]


def test_a_log_that_nobody_reads_any_more_stops_nothing(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    reader, writer = os.pipe()
    command = [*LASTSIGNAL, "watch", "--config", str(daemon.config)]
    daemon.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    try:
        wait_for(lambda: b"watching" in os.read(reader, 65536), "watching")
        os.close(reader)
        write(daemon.traces / "a.jsonl", failure("r"), b"no json\n")
        write(daemon.traces / "a.jsonl", record("s", "agent_end", "x", "failed"), failure("t"))
        wait_for(lambda: daemon.metric("findings_total") == 2, "the findings")
        assert daemon.stop() == 0
    finally:
        daemon.kill()
