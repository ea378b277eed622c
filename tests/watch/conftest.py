"""Fixtures of the tests of the running daemon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from watch.kit import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return a receiver of messages."""
    one = Receiver()
    yield one
    one.close()
