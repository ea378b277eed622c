"""What no input may do, whatever it holds: raise, or say what cannot be."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.dialects import decode_safely, restarted
from kit.mutations import REMOVED, changed, encode, paths_of
from kit.strategies import (
    fixture_files,
    hostile_files,
    json_values,
    near_records,
    odd_values,
    records_of_file,
)

from lastsignal.app import diagnoses
from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.reader import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.engine import Engine
from lastsignal.core.framing import Framer
from lastsignal.edges.rulefiles import load_rules

HEALTHY = [path for path in fixture_files() if path.name.startswith("healthy")]
SAY_FAILED = frozenset({"error", "exit_status"})
"""Fields of which any value at all says that something failed."""
RULES = load_rules()


def records_of(dialect: Dialect) -> list[bytes]:
    """Return all records of a dialect's fixtures."""
    paths = [path for path in fixture_files() if path.parent.name == dialect.name]
    return [record for path in paths for record in records_of_file(path)]


@given(value=json_values())
@settings(max_examples=150, deadline=None)
def test_any_json_value_is_recognised_or_not(value: object) -> None:
    said = {dialect.name: dialect.recognise(value) for dialect in LADDER}

    assert {name for name, answer in said.items() if not isinstance(answer, bool)} == set()


@pytest.mark.parametrize("dialect", LADDER, ids=lambda dialect: dialect.name)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_no_run_of_near_records_breaks_a_dialect(dialect: Dialect, data: st.DataObject) -> None:
    decoder = dialect.decoder("fuzz.jsonl")
    for _ in range(data.draw(st.integers(1, 8))):
        record = data.draw(near_records(records_of(dialect)) | json_values().map(encode))
        assert isinstance(dialect.recognise(msgspec.json.decode(record)), bool)

        decode_safely(dialect, decoder, record)
        decoder = restarted(dialect, decoder)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_one_odd_field_never_turns_a_healthy_run_into_a_critical_finding(
    data: st.DataObject,
) -> None:
    path = data.draw(st.sampled_from(HEALTHY))
    records = list(records_of_file(path))
    index = data.draw(st.integers(0, len(records) - 1))
    value = msgspec.json.decode(records[index])
    paths = [path for path in paths_of(value) if path[-1] not in SAY_FAILED]
    new = REMOVED if data.draw(st.integers(0, 4)) == 0 else data.draw(odd_values())
    records[index] = encode(changed(value, data.draw(st.sampled_from(paths)), new))

    reader, engine = Reader("fuzz.jsonl", LADDER, 0.0), Engine(RULES)
    engine.feed(reader.read((one, 0, line) for line, one in enumerate(records, 1)))
    engine.feed(reader.finish())
    engine.finish()

    found = [finding for trace in diagnoses(engine) for finding in trace.findings()]
    assert [one.rule for one in found if one.severity == "critical"] == []


@given(data=hostile_files(), size=st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_to_their_end_and_every_record_is_accounted_for(
    data: bytes, size: int
) -> None:
    framer, reader = Framer(), Reader("fuzz.jsonl", LADDER, 0.0)
    told = 0
    for start in range(0, len(data), size):
        told += len(reader.read(framer.feed(data[start : start + size])))
    told += len(reader.read(framer.finish())) + len(reader.finish())

    assert reader.faults == []
    assert told == reader.events
    assert sum(reader.skipped.values()) <= reader.records
    assert bool(reader.events) or sum(reader.skipped.values()) == reader.records
