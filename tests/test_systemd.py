"""The units are right, hardened, and say why in each line."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from lastsignal.edges.config import load_config

ROOT = Path(__file__).parents[1]
SYSTEM = ROOT / "systemd" / "lastsignal.service"
USER = ROOT / "systemd" / "user" / "lastsignal.service"
UNITS = (SYSTEM, USER)

MAX_EXPOSURE = 2.0
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
each_unit = pytest.mark.parametrize("unit", UNITS, ids=["system", "user"])


def settings(unit: Path) -> list[tuple[str, str]]:
    """Return the settings of a unit in their order."""
    return re.findall(r"^([A-Za-z]+)=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)


def analyze(*arguments: str, runtime: Path) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze without a running systemd."""
    assert ANALYZE is not None
    return subprocess.run(
        [ANALYZE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C.UTF-8"},
    )


@pytest.fixture
def installed(tmp_path: Path) -> dict[Path, Path]:
    """Return copies of the units whose program is there."""
    copies = {}
    for unit in UNITS:
        text = re.sub(
            r"^ExecStart=\S+", f"ExecStart={sys.executable}", unit.read_text(), flags=re.M
        )
        copies[unit] = tmp_path / unit.parent.name / unit.name
        copies[unit].parent.mkdir()
        copies[unit].write_text(text)
    return copies


@each_unit
def test_every_setting_of_the_service_has_its_reason_above_it(unit: Path) -> None:
    lines = unit.read_text(encoding="utf-8").partition("[Service]")[2].splitlines()
    lines = lines[: lines.index("[Install]")]

    for before, line in pairwise(lines):
        if "=" in line and not line.startswith("#") and not line.startswith("ExecStart="):
            assert before.startswith("# "), line


@each_unit
def test_no_setting_stands_twice_unless_it_adds_up(unit: Path) -> None:
    names = [name for name, _ in settings(unit)]

    assert {name for name in names if names.count(name) > 1} <= {"SystemCallFilter"}


@each_unit
def test_the_service_has_more_time_to_stop_than_the_drain_takes(unit: Path) -> None:
    seconds = float(dict(settings(unit))["TimeoutStopSec"].removesuffix("s"))
    drain = load_config(ROOT / "deploy/lastsignal.toml").config.limits.drain_timeout

    assert seconds >= drain + 15


@needs_systemd
def test_systemd_finds_nothing_wrong(installed: dict[Path, Path], tmp_path: Path) -> None:
    system = analyze("verify", str(installed[SYSTEM]), runtime=tmp_path)
    user = analyze("--user", "verify", str(installed[USER]), runtime=tmp_path)

    assert (system.returncode, system.stderr) == (0, "")
    assert (user.returncode, user.stderr) == (0, "")


@needs_systemd
def test_systemd_finds_little_exposed(tmp_path: Path) -> None:
    said = analyze("security", "--offline=true", "--no-pager", str(SYSTEM), runtime=tmp_path)
    found = re.search(r"exposure level for \S+: ([\d.]+)", said.stdout)
    if found is None and "unrecognized option" in said.stderr:
        pytest.skip("this systemd-analyze judges no units offline")

    assert found is not None, said.stderr
    assert float(found[1]) <= MAX_EXPOSURE


def test_the_program_runs_where_no_memory_may_be_written_and_executed() -> None:
    def forbid() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
            os._exit(77)

    modules = "cli commands.watch edges.http edges.metrics edges.logs edges.store".split()
    imports = ", ".join(f"lastsignal.{name}" for name in modules)
    run = f"import {imports}; lastsignal.cli.main(['diagnose', 'docs/examples/quota.jsonl'])"
    said = subprocess.run(
        [sys.executable, "-c", run],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=forbid,  # nothing else runs in this test
    )
    if said.returncode == 77:
        pytest.skip("this kernel cannot forbid it to a process")

    assert said.returncode == 1, said.stderr
    assert "quota" in said.stdout.lower()
