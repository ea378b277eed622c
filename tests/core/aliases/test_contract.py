"""The contract of dialects over the whole ladder: with fixtures, and with anything."""

from __future__ import annotations

from functools import cache
from itertools import zip_longest
from pathlib import Path

import msgspec
import pytest
from kit.dialects import ALLOWED, check_dialect, check_event

from lastsignal.app import diagnoses
from lastsignal.core.aliases.contract import Decoder, Dialect
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.framing import Framer
from lastsignal.core.framing.records import Record
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


# Layouts that take any record which says what happened, or what was said.
GENERAL = frozenset({"chat_log", "flat", "native"})
# Records of one shape: whichever comes first in the ladder reads both.
ALIKE = {
    "otel_span_export": {"mlflow_trace"},
    "chat_log": {"strands_session"},
    "mini_swe_agent_messages": {"chat_log"},
}


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
def lines_of(path: Path) -> list[bytes]:
    """Return a fixture's records without their places."""
    return [data for data, _, _ in records_in(path)]


def read_lines(lines: list[bytes]) -> list[Event]:
    """Return what records tell, read through the whole ladder."""
    reader = Reader("fixture", LADDER, 0.0)
    return reader.read((data, 0, line) for line, data in enumerate(lines, 1)) + reader.finish()


def interleaved(one: Path, other: Path) -> list[bytes]:
    """Return the records of two fixtures by turns."""
    turns = zip_longest(lines_of(one), lines_of(other))
    return [line for turn in turns for line in turn if line is not None]


def jsonl_of(case: str) -> list[Path]:
    """Return the fixtures of one case, of the layouts that are told by more than flat words."""
    named = [path for path in FILES if path.name == f"{case}.jsonl"]
    return [path for path in named if path.parent.name not in GENERAL]


def takes(decoder: Decoder, record: bytes) -> bool:
    """Whether a decoder makes something of a record, if only a reason to drop it."""
    try:
        decoder.decode(record)
    except ALLOWED:
        return False
    return True


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


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("attempt", 0, "attempt counts from 1"),
        ("timestamp", -1.0, "timestamp is not between 1990 and 2100"),
        ("cost_usd", -0.5, "cost_usd is less than 0"),
        ("operation", "", "operation is empty: write None"),
        ("error_message", " ", "error_message is empty"),
        ("error_message", "x" * 501, "error_message is over 500 characters"),
        ("offset", -1, "offset is outside its record"),
    ],
)
def test_what_cannot_be_is_told_by_the_rule_that_it_breaks(
    field: str, value: object, rule: str
) -> None:
    event = Event(
        timestamp=1_780_000_000.0, trace_id="t", event_type="tool_result", status="failed"
    )
    check_event(event, b"{}")

    with pytest.raises(AssertionError, match=rule):
        check_event(msgspec.structs.replace(event, **{field: value}), b"{}")


@pytest.mark.parametrize(
    "dialect",
    [one for one in LADDER if one.name not in GENERAL],
    ids=lambda dialect: dialect.name,
)
def test_a_settled_dialect_leaves_to_the_others_what_is_theirs(dialect: Dialect) -> None:
    own = [data for path in FILES if path.parent.name == dialect.name for data in lines_of(path)]
    others = [path for path in FILES if path.parent.name != dialect.name]
    taken = set()
    for path in others:
        decoder = dialect.decoder("mixed.jsonl")
        assert all(takes(decoder, data) for data in own)
        if any(takes(decoder, data) for data in lines_of(path)):
            taken.add(path.parent.name)

    assert taken <= ALIKE.get(dialect.name, set())


@pytest.mark.parametrize("case", ["healthy", "failing"])
def test_two_frameworks_in_one_file_tell_what_each_would_tell_alone(case: str) -> None:
    specific = jsonl_of(case)
    counts = {path: len(read_lines(lines_of(path))) for path in specific}
    wrong = [
        (name_of(one), name_of(other))
        for number, one in enumerate(specific)
        for other in specific[number + 1 :: 7]  # a seventh of all pairs: all take too long
        if len(read_lines(interleaved(one, other))) != counts[one] + counts[other]
    ]

    assert wrong == []


@pytest.mark.parametrize("case", ["healthy", "failing"])
@pytest.mark.parametrize("general", sorted(GENERAL))
def test_a_general_layout_yields_to_the_framework_that_shares_its_file(
    general: str, case: str
) -> None:
    plain = FIXTURES / general / f"{case}.jsonl"
    alone = len(read_lines(lines_of(plain)))
    wrong = []
    for path in jsonl_of(case):
        if path.parent.name in ALIKE.get(general, ()):
            continue
        expected = alone + len(read_lines(lines_of(path)))
        found = [len(read_lines(interleaved(*pair))) for pair in ((plain, path), (path, plain))]
        if found != [expected, expected]:
            wrong.append((name_of(path), expected, found))

    assert wrong == []


@pytest.mark.parametrize("case", ["healthy", "failing"])
def test_a_flat_line_before_a_frameworks_records_does_not_decide_how_they_are_read(
    case: str,
) -> None:
    banner = b'{"event": "run_start", "agent": "launcher", "time": 1779999000}'
    wrong = [
        name_of(path)
        for path in jsonl_of(case)
        if len(read_lines([banner, *lines_of(path)])) != 1 + len(read_lines(lines_of(path)))
    ]

    assert wrong == []


def test_a_mixed_source_is_read_the_same_over_a_restart_at_any_record() -> None:
    lines = interleaved(
        FIXTURES / "flat" / "failing.jsonl", FIXTURES / "openclaw_telemetry" / "failing.jsonl"
    )
    records = [(data, 0, line) for line, data in enumerate(lines, 1)]
    straight = Reader("fixture", LADDER, 0.0)
    expected = straight.read(records) + straight.finish()
    for at in range(len(records)):
        before, after = Reader("fixture", LADDER, 0.0), Reader("fixture", LADDER, 0.0)
        events = before.read(records[:at])
        after.restore(before.save())
        assert events + after.read(records[at:]) + after.finish() == expected, at
