"""What the tests of the configuration share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _away_from_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration of this machine is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lastsignal.edges.config.search.SYSTEM_FILE", tmp_path / "system.toml")
