"""Real traces beside the checkout, with a field gone wrong: no alarm comes of it."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.criticals import critical_findings, events_of, mutated
from kit.mutations import FAILURE_WORDS, FAILURES, REMOVED, paths_of
from kit.samples import Sample, folder, samples
from kit.strategies import odd_values
from test_samples import ADVICE, expected_of

from lastsignal.core.framing import Framer

pytestmark = pytest.mark.skipif(not samples(), reason=f"no samples in {folder()}")

ARCHIVE = ".eval"


def healthy() -> list[Sample]:
    """Return the files of records in which nothing is found that is more than information."""
    files = [one for one in samples() if one.path.suffix != ARCHIVE and one.file not in ADVICE]
    return [one for one in files if all(grave == "info" for _, grave, _ in expected_of(one))]


@cache
def records_of(sample: Sample) -> tuple[bytes, ...]:
    """Return the records of a file that are objects or arrays."""
    framer = Framer()
    found = framer.feed(sample.path.read_bytes()) + framer.finish()
    return tuple(record for record, _, _ in found if record.lstrip()[:1] in (b"{", b"["))


def test_many_layouts_have_a_healthy_sample() -> None:
    assert len({sample.layout for sample in healthy()}) > 25
    assert all(records_of(sample) for sample in healthy())


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_one_odd_field_of_a_real_record_never_gives_a_critical_finding(data: st.DataObject) -> None:
    records = records_of(data.draw(st.sampled_from(healthy())))
    index = data.draw(st.integers(0, len(records) - 1))
    paths = paths_of(msgspec.json.decode(records[index]), limit=2000)
    where = data.draw(st.sampled_from(paths))
    new = REMOVED if data.draw(st.integers(0, 4)) == 0 else data.draw(odd_values())

    assert critical_findings(events_of(mutated(records, index, where, new))) == []


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_one_word_for_a_failure_never_makes_a_healthy_real_trace_critical(
    data: st.DataObject,
) -> None:
    sample = data.draw(st.sampled_from(healthy()))
    records = records_of(sample)
    index = data.draw(st.integers(0, len(records) - 1))
    where = data.draw(st.sampled_from(paths_of(msgspec.json.decode(records[index]), limit=2000)))
    new = data.draw(st.sampled_from([*FAILURE_WORDS, *FAILURES]))

    assert critical_findings(events_of(mutated(records, index, where, new))) == []
