"""After `kill -9` at any instant: nothing lost, nothing twice, nothing out of order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from watch import harness

LINES = int(os.environ.get("LASTSIGNAL_KILL_LINES", "3600"))
KILLS = int(os.environ.get("LASTSIGNAL_KILLS", "3"))
SEED = int(os.environ.get("LASTSIGNAL_KILL_SEED", "5"))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("how", ["rename", "gzip", "copytruncate", "docker"])
def test_kills_at_random_points_change_no_finding(tmp_path: Path, how: str) -> None:
    folder, state = tmp_path / "traces", tmp_path / "state"
    folder.mkdir()

    killed = harness.treat_badly(folder, state, harness.Treatment(LINES, KILLS, SEED, how))
    harness.watch_once(folder, state)

    found = harness.found_by_watch(state)
    assert killed == KILLS
    assert len(found) > 100
    assert found == harness.found_by_diagnose(folder)
