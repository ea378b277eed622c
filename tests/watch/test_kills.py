"""After `kill -9` at any instant: nothing lost, nothing twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import harness


@pytest.mark.timeout(240)
def test_kills_at_random_points_change_no_finding(tmp_path: Path) -> None:
    folder, state = tmp_path / "traces", tmp_path / "state"
    folder.mkdir()

    killed = harness.treat_badly(folder, state, lines=6_000, kills=12, seed=5)
    harness.watch_once(folder, state)

    found = harness.found_by_watch(state)
    assert killed == 12
    assert len(found) > 100
    assert found == harness.found_by_diagnose(folder)
