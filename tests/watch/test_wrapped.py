"""The daemon on a folder of Docker's containers: cut lines, rotation by `max-size`, restarts."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

from kit.wrapping import docker, docker_lines
from watch import harness
from watch.kit import Receiver, Watch, failure, wait_for, watching, webhook, write

DEMO = Path(__file__).parents[2] / "docs" / "examples" / "quota.jsonl"
LINES = DEMO.read_bytes().splitlines(keepends=True)
NAME = "c0ffee-json.log"


def test_a_container_s_log_that_is_rotated_tells_what_the_plain_file_does(tmp_path: Path) -> None:
    plain, folder, state = tmp_path / "plain", tmp_path / "c0ffee", tmp_path / "state"
    plain.mkdir()
    folder.mkdir()
    shutil.copy(DEMO, plain)
    (folder / "config.v2.json").write_text('{"ID":"c0ffee"}')
    process = harness.start_watch(folder, state)
    harness.wait_until_it_reads(process, state)
    for number, line in enumerate(LINES):
        if number in (2, 4):
            if (folder / f"{NAME}.1").exists():
                (folder / f"{NAME}.1").rename(folder / f"{NAME}.2")
            (folder / NAME).rename(folder / f"{NAME}.1")
        parts = docker_lines(line, size=70)
        assert len(parts) > 1
        for part in parts:
            write(folder / NAME, part[:40])
            write(folder / NAME, part[40:])
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0, harness.log_of(state).read_text()

    found = harness.found_by_watch(state)
    assert len(found) >= 2
    assert found == harness.found_by_diagnose(plain) == harness.found_by_diagnose(folder)
    cause = next(one for one in harness.incidents(state) if one.rule == "rate_limit_exhausted")
    assert [one.line for one in cause.evidence] == [1, 1]  # each is the first of a new file
    assert all(Path(one.source).name.startswith(NAME) for one in cause.evidence)


def test_a_line_that_rotation_has_parted_is_one_record(tmp_path: Path) -> None:
    plain, folder, state = tmp_path / "plain", tmp_path / "c0ffee", tmp_path / "state"
    plain.mkdir()
    folder.mkdir()
    shutil.copy(DEMO, plain)
    process = harness.start_watch(folder, state)
    harness.wait_until_it_reads(process, state)
    for number, line in enumerate(LINES):
        for place, part in enumerate(docker_lines(line, size=70)):
            if number in (2, 4) and place == 1:
                if (folder / f"{NAME}.1").exists():
                    (folder / f"{NAME}.1").rename(folder / f"{NAME}.2")
                (folder / NAME).rename(folder / f"{NAME}.1")
            write(folder / NAME, part)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0, harness.log_of(state).read_text()

    found = harness.found_by_watch(state)
    assert len(found) >= 2
    assert found == harness.found_by_diagnose(plain) == harness.found_by_diagnose(folder)


def test_a_line_goes_on_over_a_rotation_while_the_daemon_is_down(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    first, *rest = docker_lines(failure("cut in two"), size=60)
    other = docker_lines(failure("whole"), stream="stderr", size=1000)
    write(daemon.traces / NAME, docker([b"starting\n"]), first)
    daemon.once()
    (daemon.traces / NAME).rename(daemon.traces / f"{NAME}.1")
    write(daemon.traces / NAME, *other, rest[0])
    daemon.once()
    write(daemon.traces / NAME, *rest[1:])
    daemon.once()

    found = {one.trace_id: one for one in harness.incidents(daemon.state)}
    assert set(found) == {"cut in two", "whole"}
    (evidence,) = found["cut in two"].evidence
    assert (Path(evidence.source).name, evidence.line) == (NAME, 2)


def test_a_line_goes_on_after_a_restart_in_the_middle_of_it(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    first, *rest = docker_lines(failure("cut in two"), size=60)
    write(daemon.traces / NAME, docker([b"starting\n"]), first)
    daemon.once()
    assert harness.incidents(daemon.state) == []
    write(daemon.traces / NAME, *docker_lines(b"noise\n", stream="stderr"), *rest)
    daemon.once()

    (found,) = harness.incidents(daemon.state)
    assert (found.trace_id, [one.line for one in found.evidence]) == ("cut in two", [2])


def test_a_message_shows_what_the_program_wrote(tmp_path: Path, receiver: Receiver) -> None:
    line = failure("r", more={"text": "x" * 20_000})
    with watching(tmp_path, webhook("hook", receiver)) as daemon:
        write(daemon.traces / NAME, docker([line]))
        wait_for(lambda: receiver.messages, "the message")
        body = receiver.at("/hook")[0].body
    (shown,) = body["incidents"][0]["evidence"]
    assert shown["excerpt"].startswith(line.decode()[:60])
