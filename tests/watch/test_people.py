"""What people ask of the daemon on the command line, and what they are shown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from watch.harness import incidents
from watch.kit import LASTSIGNAL, Watch, failure, wait_for, watching, write


def run(daemon: Watch, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command on the daemon's state."""
    return subprocess.run(
        [*LASTSIGNAL, *arguments, "--state-dir", str(daemon.state)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_worst_incident_is_listed_first(tmp_path: Path) -> None:
    daemon = Watch(tmp_path, rules="")
    daemon.configure("", builtin=True)
    text = (Path(__file__).parents[2] / "docs" / "examples" / "quota.jsonl").read_bytes()
    write(daemon.traces / "a.jsonl", text)
    daemon.once()
    listed = json.loads(run(daemon, "incidents", "list", "--json").stdout)
    severities = [one["severity"] for one in listed]

    assert severities == sorted(severities, key=["critical", "warning", "info"].index)
    assert "critical" in severities


def test_a_silence_is_shown_at_once_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    write(daemon.traces / "a.jsonl", failure("r"), failure("s"))
    daemon.once()
    said = run(daemon, "incidents", "silence", "trace_id=r", "--comment", "known").stdout
    name = said.split()[1]

    assert "matches 1 of 2 open incidents" in said
    for _ in range(2):
        shown = run(daemon, "incidents", "silences").stdout
        assert shown.startswith(name)
        assert "trace_id=r" in shown
        daemon.once()
    assert run(daemon, "incidents", "unsilence", "other").returncode == 3
    assert run(daemon, "incidents", "unsilence", name).returncode == 0
    assert run(daemon, "incidents", "silences").stdout == "no silences\n"
    daemon.once()
    assert run(daemon, "incidents", "silences").stdout == "no silences\n"


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    daemon.start(str(tmp_path / "trcaes"), "--once")
    wait_for(daemon.ended, "the end")
    assert daemon.process is not None
    assert daemon.process.returncode == 3
    assert f"{tmp_path}/trcaes: no such file or folder" in daemon.log()
    with watching(tmp_path, "", str(tmp_path / "later"), str(tmp_path / "*.none")) as daemon:
        assert [one["path"] for one in daemon.lines("nothing_there_yet")] == [
            str(tmp_path / "later")
        ]
        (tmp_path / "later").mkdir()
        write(tmp_path / "later" / "a.jsonl", failure("late"))
        wait_for(lambda: incidents(daemon.state), "what came later")
