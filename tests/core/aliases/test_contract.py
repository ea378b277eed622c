"""The contract of dialects over the whole ladder: with fixtures, and with anything."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from kit.dialects import check_dialect

from lastsignal.app import diagnoses
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.reader import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.engine import Engine
from lastsignal.core.framing import Framer
from lastsignal.core.framing.cutter import Record
from lastsignal.core.rules import SEVERITIES, Rule
from lastsignal.edges.rulefiles import load_rules

FIXTURES = Path(__file__).parent / "fixtures"
FILES = sorted(FIXTURES.glob("*/*"))
HEALTHY = [path for path in FILES if path.name.startswith("healthy")]
FAILING = [path for path in FILES if path.name.startswith("failing")]
DIALECTS = {dialect.name: dialect for dialect in LADDER}

# Layouts that tell of calls only once they have ended.
WITHOUT_STARTS: frozenset[str] = frozenset()
# Layouts in which what the user says is the output of tools.
READ_USERS: frozenset[str] = frozenset()


def name_of(path: Path) -> str:
    """Return `dialect/case`."""
    return f"{path.parent.name}/{path.stem}"


def records_in(path: Path) -> list[Record]:
    """Return a fixture's records with their places."""
    framer = Framer()
    records = framer.feed(path.read_bytes()) + framer.finish()
    assert not framer.skipped, path
    return records


@cache
def rules() -> list[Rule]:
    """Return the built-in rules."""
    return load_rules()


def diagnosed(records: list[Record]) -> list[Diagnosis]:
    """Return what the whole way says of records."""
    reader, engine = Reader("fixture", LADDER, 0.0), Engine(rules())
    engine.feed(reader.read(records) + reader.finish())
    engine.finish()
    return diagnoses(engine)


@pytest.mark.parametrize("dialect", LADDER, ids=lambda dialect: dialect.name)
def test_every_dialect_has_a_healthy_and_a_failing_fixture(dialect: Dialect) -> None:
    cases = {path.stem.split("-")[0] for path in FILES if path.parent.name == dialect.name}

    assert cases == {"healthy", "failing"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_fixture_keeps_the_contract(path: Path) -> None:
    name = path.parent.name

    check_dialect(
        DIALECTS[name],
        [data for data, _, _ in records_in(path)],
        has_starts=name not in WITHOUT_STARTS,
        reads_users=name in READ_USERS,
    )


@pytest.mark.parametrize("path", HEALTHY, ids=name_of)
def test_a_healthy_fixture_gives_no_finding_that_counts(path: Path) -> None:
    found = [
        (finding.rule, finding.severity)
        for trace in diagnosed(records_in(path))
        for finding in trace.findings()
        if SEVERITIES.index(finding.severity) >= SEVERITIES.index("warning")
    ]

    assert found == []


@pytest.mark.parametrize("path", FAILING, ids=name_of)
def test_a_failing_fixture_shows_what_failed(path: Path) -> None:
    traces = diagnosed(records_in(path))

    assert any(trace.outcome not in ("succeeded",) for trace in traces)
