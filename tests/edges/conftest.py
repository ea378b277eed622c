"""What the tests of the edges share."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
UPDATE = "LASTSIGNAL_UPDATE_GOLDEN"


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """Return the module that makes small reports."""
    spec = importlib.util.spec_from_file_location("report_samples", HERE / "report_samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def golden() -> Callable[[Path | str, str], None]:
    """Return a comparison with a kept file; `LASTSIGNAL_UPDATE_GOLDEN=1` writes the file anew."""

    def compare(name: Path | str, text: str) -> None:
        path = HERE / "golden" / name
        if os.environ.get(UPDATE):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path}: {UPDATE}=1 pytest writes it anew"

    return compare
