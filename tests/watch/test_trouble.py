"""Disks, directories, files and clocks that are not as they should be."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watch.harness import incidents
from watch.kit import (
    LASTSIGNAL,
    Receiver,
    Watch,
    failure,
    wait_for,
    watching,
    webhook,
    write,
)


def refused(daemon: Watch) -> str:
    """Start a daemon that must not start; return what it says."""
    daemon.start()
    wait_for(daemon.ended, "the end")
    assert daemon.process is not None
    assert daemon.process.returncode == 3
    assert "Traceback" not in daemon.log()
    return daemon.log()


# -- the state directory -------------------------------------------------------------------


def test_a_file_instead_of_the_state_directory_is_refused(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    daemon.state.write_text("no directory")
    assert f"{daemon.state}: the state directory cannot be used" in refused(daemon)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that other users may come to: pytest closes its own ones again and again."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(not hasattr(os, "setuid") or os.geteuid() != 0, reason="needs another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is missing")
def test_a_state_directory_that_cannot_be_written_is_refused(open_folder: Path) -> None:
    daemon = Watch(open_folder)
    daemon.state.mkdir()
    daemon.state.chmod(0o555)
    other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    command = [*other, *LASTSIGNAL, "--version"]
    asked = subprocess.run(command, capture_output=True, check=False, cwd=open_folder)
    if asked.returncode:
        pytest.skip("another user cannot run this Python")
    daemon.start(before=other)
    wait_for(daemon.ended, "the end")
    assert daemon.process is not None
    assert daemon.process.returncode == 3
    assert f"{daemon.state}: the state directory cannot be used: Permission denied" in daemon.log()


def test_a_second_instance_is_refused(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        assert daemon.process is not None
        first = daemon.process
        assert "another lastsignal uses this state directory" in refused(daemon)
        daemon.process = first
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the first goes on")


def nothing_but_nul(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def half_of_it(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 - 100])


def garbage_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 100] = os.urandom(100)
    path.write_bytes(data)


def from_the_future(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


@pytest.mark.parametrize("spoil", [nothing_but_nul, half_of_it, garbage_inside, from_the_future])
def test_state_that_cannot_be_used_is_set_aside(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    with watching(tmp_path) as daemon:
        write(daemon.traces / "a.jsonl", *(failure(f"r{number}") for number in range(300)))
        wait_for(lambda: daemon.metric("findings_total") == 300, "the findings")
        assert daemon.stop() == 0
        spoil(daemon.state / "state.sqlite3")
        daemon.start().ready()
        wait_for(lambda: daemon.metric("store_set_aside_total") == 1, "the metric")
        assert "it was set aside as state.damaged-1" in daemon.lines("store_set_aside")[0]["detail"]
        wait_for(lambda: len(incidents(daemon.state)) == 300, "everything is read again")
        assert (daemon.state / "state.damaged-1").exists()
        assert daemon.stop() == 0
        daemon.start().ready()
        wait_for(lambda: daemon.get("/-/ready")[0] == 200, "ready")
        assert daemon.metric("store_set_aside_total") == 0


def test_a_kill_while_the_state_is_made_spoils_nothing(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    daemon.state.mkdir()
    database = sqlite3.connect(daemon.state / "state.sqlite3")
    database.execute("PRAGMA journal_mode = WAL")
    database.close()
    write(daemon.traces / "a.jsonl", failure("r"))
    assert "set_aside" not in daemon.once()
    assert len(incidents(daemon.state)) == 1


@pytest.mark.parametrize("replaced", [False, True])
def test_state_that_is_taken_away_is_told_and_nobody_is_told_of_what_cannot_be_kept(
    tmp_path: Path, receiver: Receiver, replaced: bool
) -> None:
    with watching(tmp_path, webhook("hook", receiver)) as daemon:
        write(daemon.traces / "a.jsonl", failure("one"))
        wait_for(lambda: receiver.told("/hook") == [("opened", "one")], "the first message")
        shutil.rmtree(daemon.state)
        if replaced:
            daemon.state.mkdir()
            (daemon.state / "state.sqlite3").touch()
        write(daemon.traces / "a.jsonl", failure("two"))
        wait_for(lambda: daemon.metric("commit_failures_total") > 0, "a failed commit")
        status, text = daemon.get("/-/ready")
        assert status == 503
        assert ("it was replaced" if replaced else "somebody has removed it") in text
        shutil.rmtree(daemon.state, ignore_errors=True)
        daemon.stop()
        daemon.start().ready()
        wait_for(lambda: ("opened", "two") in receiver.told("/hook"), "the second message")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def full_until_the_test_says(
    daemon: Watch, receiver: Receiver, fill: Callable[[], None], free: Callable[[], None]
) -> None:
    daemon.start().ready()
    write(daemon.traces / "a.jsonl", failure("before"))
    wait_for(lambda: receiver.told("/hook") == [("opened", "before")], "the first message")
    fill()
    for number in range(400):
        write(daemon.traces / "a.jsonl", failure(f"during-{number}", "x" * 500))
    wait_for(lambda: daemon.metric("commit_failures_total") > 0, "a failed commit")
    status, text = daemon.get("/-/ready")
    assert status == 503
    assert "the state cannot be written" in text
    assert daemon.lines("commit_failed")
    free()
    wait_for(lambda: daemon.get("/-/ready")[0] == 200, "ready again")
    wait_for(lambda: len(incidents(daemon.state)) == 401, "every incident")
    assert daemon.stop() == 0


def test_a_full_disk_delays_and_loses_nothing(
    tmp_path: Path, small_disk: Path, receiver: Receiver
) -> None:
    daemon = Watch(tmp_path)
    daemon.state = small_disk / "state"
    daemon.configure(webhook("hook", receiver))
    ballast = small_disk / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    try:
        # 401 incidents need about as much as the disk has
        full_until_the_test_says(
            daemon,
            receiver,
            fill,
            lambda: subprocess.run(
                ["mount", "-o", "remount,size=50m", str(small_disk)], check=True
            ),
        )
    finally:
        if not daemon.ended():
            daemon.kill()


def test_a_disk_that_is_full_at_the_start_spoils_no_state(tmp_path: Path, small_disk: Path) -> None:
    daemon = Watch(tmp_path)
    daemon.state = small_disk / "state"
    daemon.configure("")
    write(daemon.traces / "a.jsonl", failure("r"))
    daemon.once()
    with (small_disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            pass
    log = refused(daemon)
    assert "state" in log
    (small_disk / "ballast").unlink()
    assert "set_aside" not in daemon.once()
    assert len(incidents(daemon.state)) == 1


# -- everything else -----------------------------------------------------------------------


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", daemon.port))
        taken.listen()
        assert f"127.0.0.1:{daemon.port}: the port is in use" in refused(daemon)


def test_a_broken_rule_at_the_start_is_refused(tmp_path: Path) -> None:
    daemon = Watch(tmp_path, rules="id: broken\n")
    daemon.start()
    wait_for(daemon.ended, "the end")
    assert daemon.process is not None
    assert daemon.process.returncode == 2
    assert "broken.yaml" in daemon.log()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is missing")
def test_a_trace_that_may_not_be_read_is_read_when_it_may(tmp_path: Path) -> None:
    config = '[inputs]\npaths = ["{traces}"]\nscan_interval = "500ms"\n'
    daemon = Watch(tmp_path)
    daemon.configure(config.format(traces=daemon.traces))
    path = daemon.traces / "a.jsonl"
    write(path, failure("one"))
    # root reads everything, unless it has given that up
    without = "-dac_override,-dac_read_search"
    before = ("setpriv", f"--inh-caps={without}", f"--bounding-set={without}")
    before = before if os.geteuid() == 0 else ()
    try:
        daemon.start(before=before).ready()
        wait_for(lambda: daemon.metric("findings_total") == 1, "the first")
        path.chmod(0o000)
        write_as_owner(path, failure("two"))
        rotated = daemon.traces / "b.jsonl"
        rotated.touch(mode=0o000)
        rotated.chmod(0o000)
        write_as_owner(rotated, failure("three"))
        wait_for(lambda: daemon.metric('tail_troubles_total{kind="unreadable"}') > 0, "trouble")
        assert str(rotated) in str(daemon.lines("tail_trouble"))
        path.chmod(0o644)
        rotated.chmod(0o644)
        wait_for(lambda: daemon.metric("findings_total") == 3, "all of them")
    finally:
        daemon.kill()


def write_as_owner(path: Path, line: bytes) -> None:
    """Add a line to a file that forbids it, as a process does that opened it before."""
    mode = path.stat().st_mode
    path.chmod(0o644)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    path.chmod(mode)
    os.write(descriptor, line)
    os.close(descriptor)


@pytest.mark.external
@pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is missing")
def test_a_clock_set_back_an_hour_changes_nothing(tmp_path: Path, receiver: Receiver) -> None:
    daemon = Watch(tmp_path, webhook("hook", receiver) + "[incidents]\nresolve_after = 4\n")
    clock = tmp_path / "clock"
    clock.write_text("+0")
    library = next(Path("/usr/lib").rglob("libfaketimeMT.so.1"))
    environment = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    try:
        daemon.start(**environment).ready()
        write(daemon.traces / "a.jsonl", failure("before"))
        wait_for(lambda: len(receiver.told("/hook")) == 1, "the first message")
        clock.write_text("-3600")
        write(daemon.traces / "a.jsonl", failure("after"))
        wait_for(lambda: ("opened", "after") in receiver.told("/hook"), "the second message")
        wait_for(lambda: len(receiver.told("/hook")) == 4, "the end of both")
    finally:
        daemon.kill()
    assert sorted(receiver.told("/hook")) == [
        ("opened", "after"),
        ("opened", "before"),
        ("resolved", "after"),
        ("resolved", "before"),
    ]


def test_requests_of_people_reach_a_running_daemon(tmp_path: Path, receiver: Receiver) -> None:
    with watching(tmp_path, webhook("hook", receiver)) as daemon:
        run = [*LASTSIGNAL, "incidents"]
        options = ["--state-dir", str(daemon.state)]
        wait_for(lambda: (daemon.state / "state.sqlite3").exists(), "the state")
        subprocess.run([*run, "silence", "trace_id=quiet", *options], check=True)
        wait_for(lambda: not rows(daemon.state, "SELECT id FROM requests"), "the silence is taken")
        write(daemon.traces / "a.jsonl", failure("quiet"), failure("loud"))
        wait_for(lambda: len(incidents(daemon.state)) == 2, "both incidents")
        wait_for(lambda: receiver.told("/hook") == [("opened", "loud")], "the one message")
        loud = next(one.id for one in incidents(daemon.state) if one.trace_id == "loud")
        subprocess.run([*run, "ack", loud, *options], check=True)
        wait_for(
            lambda: any(one.acknowledged_at for one in incidents(daemon.state)), "acknowledged"
        )


def rows(state: Path, query: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(state / "state.sqlite3")
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()
