"""What no input may do, whatever it holds: raise, or say what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.criticals import alarms_of, critical_findings, events_of, mutated
from kit.dialects import decode_safely, restarted
from kit.failures import failures_in, reshaped
from kit.mutations import ODD_VALUES, REMOVED, changed, encode, objects_of, paths_of
from kit.mutations import Path as Way
from kit.strategies import (
    fixture_files,
    hostile_files,
    json_values,
    near_records,
    odd_values,
    records_of_file,
)

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.framing import Framer

HEALTHY = [path for path in fixture_files() if path.name.startswith("healthy")]
SAY_FAILED = frozenset({"error", "exit_status"})
"""Fields which tell of a failure by what they hold, and in many layouts by being there."""


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


@pytest.mark.parametrize("dialect", LADDER, ids=lambda dialect: dialect.name)
def test_no_number_is_too_large_for_a_dialect(dialect: Dialect) -> None:
    for record in records_of(dialect):
        value = msgspec.json.decode(record)
        for way in paths_of(value):
            for huge in (10**400, -(10**400)):
                written = json.dumps(changed(value, way, huge)).encode()
                decode_safely(dialect, dialect.decoder("huge.jsonl"), written)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_one_odd_field_never_turns_a_healthy_run_into_a_critical_finding(
    data: st.DataObject,
) -> None:
    path = data.draw(st.sampled_from(HEALTHY))
    records = records_of_file(path)
    index = data.draw(st.integers(0, len(records) - 1))
    value = msgspec.json.decode(records[index])
    where = data.draw(st.sampled_from(paths_of(value)))
    new = REMOVED if data.draw(st.integers(0, 4)) == 0 else data.draw(odd_values())

    assert critical_findings(events_of(mutated(records, index, where, new))) == []


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_odd_value_where_a_failure_is_told_makes_a_healthy_run_critical(path: Path) -> None:
    records = records_of_file(path)
    mutations: list[tuple[int, Way, Any]] = []
    for index, record in enumerate(records):
        value = msgspec.json.decode(record)
        there = [way for way in paths_of(value) if way[-1] in SAY_FAILED]
        added = {(*way, name) for way in objects_of(value) for name in SAY_FAILED} - {*there}
        mutations += [(index, way, new) for way in there for new in (REMOVED, *ODD_VALUES)]
        mutations += [(index, way, new) for way in added for new in (True, "x", {"": ""})]

    assert critical_findings(events_of(records)) == []
    assert list(alarms_of(records, mutations)) == []


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_word_for_a_failure_in_one_field_makes_a_healthy_run_critical(path: Path) -> None:
    records = records_of_file(path)

    assert list(alarms_of(records, failures_in(records))) == []


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_field_that_is_lost_renamed_or_in_anothers_place_makes_a_healthy_run_critical(
    path: Path,
) -> None:
    records = records_of_file(path)
    mutations = ((at, (), new) for at, one in enumerate(records) for new in reshaped(one))

    assert list(alarms_of(records, mutations)) == []


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_record_that_is_written_twice_makes_no_healthy_run_critical(path: Path) -> None:
    records = records_of_file(path)
    doubled = [[*records[: at + 1], *records[at:]] for at in range(len(records))]

    assert [critical_findings(events_of(one)) for one in doubled] == [[]] * len(records)


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
